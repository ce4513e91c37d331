// SPDX-License-Identifier: MIT
// The check of one operand that the losses share.
#pragma once

#include <string_view>

#include "engine/tensor.h"

namespace weft::layers {

// Throws usage, with both shapes or both devices, when `view` is not what `loss` needs.
template <class T>
void check_operand(std::string_view loss, std::string_view role, const TensorView<T>& view,
                   const Shape& expected, Device device) {
  if (view.shape != expected) {
    throw Error(ErrorKind::usage,
                str(loss, " expects ", role, " ", expected, ", found ", view.shape));
  }
  if (view.device != device) {
    throw Error(ErrorKind::usage, str(loss, ": ", role, " ", view.shape, " is on ", view.device,
                                      ", the stream on ", device));
  }
}

}  // namespace weft::layers

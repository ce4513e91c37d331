// SPDX-License-Identifier: MIT
// Numbers of things in messages.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "engine/error.h"

namespace weft::data {

// "1 picture", "2 pictures"
template <std::integral Number>
std::string counted(Number count, std::string_view what) {
  return str(count, ' ', what, count == 1 ? "" : "s");
}

}  // namespace weft::data

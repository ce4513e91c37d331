// SPDX-License-Identifier: MIT
// Tanh: y = tanh(x).
#pragma once

#include "layers/activation.h"

namespace weft::layers {

class Tanh final : public ActivationLayer {
 public:
  explicit Tanh(std::string name) : ActivationLayer(std::move(name), kernels::Activation::tanh) {}
  std::string_view type() const override { return "Tanh"; }
};

}  // namespace weft::layers

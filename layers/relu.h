// SPDX-License-Identifier: MIT
// ReLU: y = max(x, 0). Behind Linear and Conv2d a Plan folds it into their epilogue.
#pragma once

#include "layers/activation.h"

namespace weft::layers {

class ReLU : public ActivationLayer {
 public:
  explicit ReLU(std::string name) : ActivationLayer(std::move(name), kernels::Activation::relu) {}
  std::string_view type() const override { return "ReLU"; }
  bool is_relu() const override { return true; }
};

}  // namespace weft::layers

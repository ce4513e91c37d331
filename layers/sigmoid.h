// SPDX-License-Identifier: MIT
// Sigmoid: y = 1 / (1 + exp(-x)).
#pragma once

#include "layers/activation.h"

namespace weft::layers {

class Sigmoid final : public ActivationLayer {
 public:
  explicit Sigmoid(std::string name)
      : ActivationLayer(std::move(name), kernels::Activation::sigmoid) {}
  std::string_view type() const override { return "Sigmoid"; }
};

}  // namespace weft::layers

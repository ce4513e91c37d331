// SPDX-License-Identifier: MIT
// A trained network in inference with 8-bit integers on the CPU: post-training quantization.
//
// Convolutions and linear layers multiply bytes (kernels/int8/int8.h), with the batch
// normalisation, ReLU and max pooling behind them. Every other layer computes in fp32, between
// conversions. An image has the same logits to the bit in a batch of any size and on any number of
// threads. Where all layers are products with what is folded into them, it has them with every
// instruction set, too.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/sets/dataset.h"
#include "models/answers/evaluate.h"
#include "models/model.h"

namespace weft::models {

class Int8Network {
 public:
  // Copies what it needs of the model. Throws usage for a model without ranges
  // (models/int8/ranges.h) or with those of another network, and data for weights that are not
  // numbers.
  explicit Int8Network(const Model& model);
  Int8Network(Int8Network&&) noexcept;
  ~Int8Network();

  // The logits (images, classes) of images (images, channels, height, width). Threads may share a
  // network.
  std::vector<float> logits(std::span<const std::uint8_t> pixels) const;

  std::int64_t products() const;                    // convolutions and linear layers in bytes
  const std::vector<std::string>& in_fp32() const;  // the names of the layers that are not

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

// evaluate() with these logits.
Evaluation evaluate(const Model& model, const Int8Network& network, const data::ImageSet& set);

}  // namespace weft::models

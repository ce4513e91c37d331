// SPDX-License-Identifier: MIT
// What a trained model says of one image at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layers/sequential.h"
#include "models/model.h"

namespace weft::models {

struct Answer {
  std::vector<float> logits;
  std::vector<double> probabilities;  // their softmax at the model's temperature
  std::vector<std::size_t> ranking;   // the classes, the most probable first
  double familiarity = 0;             // of the picture; models/calibration.h
  bool unsure = false;                // it is below the model's threshold
};

// What a network reads of an image (channels, height, width): (pixel / 255 - mean) / stddev with
// the numbers of the channel.
std::vector<float> normalized(std::span<const std::uint8_t> pixels, const ModelInfo& info);

class Classifier {
 public:
  // Copies the model's weights to the stream's device. `model` must outlive the classifier.
  Classifier(const Model& model, const Stream& stream, const layers::KernelChoice& kernels = {});

  // `pixels` is one image (channels, height, width) of the network's input size.
  // Throws data when the answer is not a number, as damaged weights make it.
  Answer classify(std::span<const std::uint8_t> pixels);

  // What a layer of model.net made of that image. Only for a classifier with `fuse` off.
  std::vector<float> activation(std::size_t layer) const {
    return to_host(plan_->activation(layer), stream_);
  }

 private:
  const ModelInfo& info_;
  Stream stream_;
  layers::Weights weights_;
  std::optional<layers::Plan> plan_;  // for a batch of one
};

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// What a trained model says of one image at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "data/ink/preprocess.h"
#include "layers/network/sequential.h"
#include "models/model.h"

namespace weft::models {

struct Answer {
  std::vector<float> logits;
  std::vector<double> probabilities;  // probabilities_of() them
  std::vector<std::size_t> ranking;   // the classes, the most probable first
  double familiarity = 0;             // of the picture; models/answers/calibration.h
  bool unsure = false;                // is_unsure()
};

// (classes,): the softmax of an image's logits at the model's temperature, or the sigmoid of each.
std::vector<double> probabilities_of(std::span<const float> logits, const ModelInfo& info);

// What a network reads of an image (channels, height, width): (pixel / 255 - mean) / stddev with
// the numbers of the channel, the bits that kernels::gather_batch() makes of it.
std::vector<float> normalized(std::span<const std::uint8_t> pixels, const ModelInfo& info);

// Threads may share a classifier: their calls take turns, and each gets the answer to its own
// picture. A classifier for each thread, on a stream of its own, computes at the same time.
class Classifier {
 public:
  // Copies what it needs of the model, whose weights go to the stream's device.
  Classifier(const Model& model, const Stream& stream, const layers::KernelChoice& kernels = {});

  // `logits` takes the place of a plan, such as that of a network in 8-bit integers.
  using LogitsOf = std::function<std::vector<float>(std::span<const std::uint8_t> pixels)>;
  Classifier(const ModelInfo& info, LogitsOf logits);

  // `pixels` is one image (channels, height, width) of the network's input size.
  // Throws data when the answer is not a number, as damaged weights make it.
  Answer classify(std::span<const std::uint8_t> pixels);

  // What a layer of model.net made of the image of the last call, by whatever thread. Only for a
  // classifier with `fuse` off.
  std::vector<float> activation(std::size_t layer) const;

 private:
  std::vector<float> logits_of(std::span<const std::uint8_t> pixels);

  ModelInfo info_;
  Stream stream_;
  LogitsOf own_logits_;  // then there are no weights and no plan
  // The plan has room for one picture.
  std::unique_ptr<std::mutex> one_at_a_time_ = std::make_unique<std::mutex>();
  std::optional<layers::Weights> weights_;
  std::optional<layers::Plan> plan_;  // for a batch of one
};

// For the choices that preparing a picture leaves open. The classifier must outlive it.
data::Judge judge_by(Classifier& classifier);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// A trained network, as Python holds it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/int8/int8_network.h"
#include "models/model.h"
#include "python/bindings/arrays.h"

namespace weft::python {

// Threads may call it at once; they take turns.
class Network {
 public:
  // notices: sentences on the file that the model was made of, for people to read.
  Network(models::Model model, const Stream& stream, std::vector<std::string> notices = {});

  const models::Model& model() const { return model_; }
  const std::vector<std::string>& notices() const { return notices_; }
  Device device() const { return stream_.device(); }
  std::int64_t sample_elements() const { return model_.net->sample_shape().elements(); }

  // x: (n, sample...), normalised. Returns the logits, (n, classes).
  std::vector<float> logits(const float* x, std::int64_t n);
  // The same in 8-bit integers on the CPU, of pixels (n, sample...). Throws usage for a model
  // without ranges.
  std::vector<float> int8_logits(std::span<const std::uint8_t> pixels);
  // Keeps the range of each layer over the first images of (n, sample...), which int8 needs.
  // Returns the names of the layers that int8 leaves in fp32.
  std::vector<std::string> measure_ranges(std::vector<std::uint8_t> pixels, std::int64_t n);
  // The output of every layer for the same input, (n, ...) each.
  std::vector<std::vector<float>> activations(const float* x, std::int64_t n);
  // Other weights: the flat parameters and buffers, as Model has them. The ranges are forgotten.
  void load(std::vector<float> parameters, std::vector<float> buffers);

 private:
  void upload();

  models::Model model_;
  std::vector<std::string> notices_;
  Stream stream_;
  layers::Weights weights_;
  std::mutex mutex_;
  std::map<std::int64_t, layers::Plan> plans_;  // by batch size
  std::optional<models::Int8Network> int8_;     // once somebody asked for it
};

}  // namespace weft::python

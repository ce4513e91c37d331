// SPDX-License-Identifier: MIT
// What the page asks of a model: what it is, and what each of its layers makes of a picture.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "data/picture/image.h"
#include "models/answers/classifier.h"

namespace weft::cli {

class Reader {
 public:
  // Computes on the CPU, where one image takes about a millisecond. `model` must outlive the
  // reader. `notice` is what people should know of it, or empty.
  explicit Reader(const models::Model& model, std::string notice = {});

  // The model as a line of JSON: its name, its classes, and its layers with their shapes.
  std::string describe() const;

  // Reads the digit in a picture file. One line of JSON holds the probability of each class, the
  // `scale` of each layer, and in `reduced` how a large JPEG was read. Bytes follow: the pixels
  // that the network saw (0 background, 255 ink), then the output of each layer of describe(), as
  // 128 + 127 * value / scale.
  // Throws data when the bytes are no picture, or no ink is found. May be called by many threads.
  std::string read(std::span<const std::uint8_t> picture);

 private:
  const models::Model& model_;
  std::string notice_;
  std::mutex one_at_a_time_;
  models::Classifier classifier_;     // layer by layer, so that every output exists
  std::vector<std::size_t> visible_;  // the layers that compute something in inference
};

}  // namespace weft::cli

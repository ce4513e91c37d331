// SPDX-License-Identifier: MIT
// A tiny data set that networks learn in seconds: the class is where a bright block stands.
#pragma once

#include <cstdint>
#include <string>

#include "data/sets/dataset.h"
#include "engine/random.h"

namespace weft::test {

inline data::ImageSet block_images(std::int64_t count, std::uint64_t seed) {
  constexpr std::int64_t kSide = 28, kBlock = 8;
  data::ImageSet set{.count = count, .height = kSide, .width = kSide};
  for (std::int64_t image = 0; image < count; ++image) {
    const std::uint32_t draw =
        philox(seed, RandomStream::data, 1, static_cast<std::uint64_t>(image)).value[0];
    const std::int64_t label = draw % 10;
    const std::int64_t top = label / 4 * 9 + (draw >> 8) % 2,
                       left = label % 4 * 6 + (draw >> 9) % 3;
    for (std::int64_t y = 0; y < kSide; ++y) {
      for (std::int64_t x = 0; x < kSide; ++x) {
        const bool inside = y >= top && y < top + kBlock && x >= left && x < left + kBlock;
        const auto index = static_cast<std::uint64_t>((image * kSide + y) * kSide + x);
        const std::uint32_t noise = philox(seed, RandomStream::data, 2, index).value[0] % 120;
        set.images.push_back(static_cast<std::uint8_t>(inside ? 255 - noise : noise));
      }
    }
    set.labels.push_back(static_cast<std::int32_t>(label));
  }
  return set;
}

inline data::Dataset block_dataset(std::int64_t train, std::int64_t test) {
  data::Dataset dataset;
  dataset.name = "blocks";
  for (int label = 0; label < 10; ++label) dataset.class_names.push_back(std::to_string(label));
  dataset.mean = {0.27f};
  dataset.stddev = {0.21f};
  dataset.train = block_images(train, 1);
  dataset.test = block_images(test, 2);
  dataset.source = "generated";
  return dataset;
}

}  // namespace weft::test

// SPDX-License-Identifier: MIT
// What data sets that the program draws have in common: random numbers, and drawing on all cores.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>

#include "data/sets/dataset.h"
#include "engine/random.h"

namespace weft::data {

// Random numbers for one image, drawn one after the other.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t index) : seed_(seed), index_(index) {}

  float uniform(float low, float high) { return low + (high - low) * uniform01(next()); }
  bool chance(float probability) { return uniform01(next()) < probability; }
  // Bell-shaped with the given standard deviation and no tails: the sum of four uniforms, +-3.5
  // deviations at most.
  float bell(float deviation) {
    float sum = -2.0f;
    for (int i = 0; i < 4; ++i) sum += uniform01(next());
    return sum * 1.7320508f * deviation;
  }

 private:
  std::uint32_t next() {
    if (used_ == 4) {
      block_ = philox(seed_, RandomStream::data, block_number_++, index_);
      used_ = 0;
    }
    return block_.value[used_++];
  }

  std::uint64_t seed_, index_;
  std::uint32_t block_number_ = 0;
  Random4 block_{};
  int used_ = 4;
};

// Calls work(i) once for each i below `count`, on all cores. It must not throw.
void on_all_cores(std::int64_t count, const std::function<void(std::int64_t)>& work);

// Draws an image of class `label` into `pixels`, which are those of one image; `index` picks which.
using DrawImage = void(int label, std::uint64_t seed, std::uint64_t index, std::uint8_t* pixels);

// Fills train and test, which never share an image, their statistics and the source. The classes
// are those of dataset.class_names, each as likely; `empty` has the size of the images.
void draw_sets(Dataset& dataset, const ImageSet& empty, std::int64_t train, std::int64_t test,
               std::uint64_t seed, DrawImage* draw_image);

}  // namespace weft::data

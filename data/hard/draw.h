// SPDX-License-Identifier: MIT
// Random numbers for what the program draws.
#pragma once

#include <cstdint>

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

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Dropout as tests and benchmarks ask for it.
#pragma once

#include "engine/random.h"
#include "kernels/dropout/dropout.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Dropout {
  static constexpr float kP = 0.5f;
  static constexpr std::uint32_t kLayer = 3;
  static constexpr std::int64_t kStep = 5;

  std::int64_t n;

  std::string text() const { return str(n, " floats, p = ", kP); }
  double bytes() const { return 8.0 * static_cast<double>(n); }
  double flops() const { return static_cast<double>(n); }  // the scaling; random bits are integers
  bool keeps(std::int64_t i, std::uint64_t seed) const {
    const Random4 bits = philox(seed, RandomStream::dropout, kLayer,
                                (std::uint64_t{kStep} << 32) + static_cast<std::uint64_t>(i / 4));
    return uniform01(bits.value[i % 4]) >= kP;
  }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// Words that are squared or cubed in every round. Integers, so no FLOPs are counted.
#pragma once

#include "kernels/divergence/divergence.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Divergence {
  std::int64_t n;
  int rounds;

  std::string text() const {
    return str(n, " words, ", rounds, rounds == 1 ? " round" : " rounds");
  }
  double bytes() const { return 8.0 * static_cast<double>(n); }
  std::int32_t expected(std::int64_t i, std::int32_t word) const {
    auto v = static_cast<std::uint32_t>(word);
    for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(rounds); ++r) {
      v = i % 2 == 0 ? v * v + r : v * v * v + r;
    }
    return static_cast<std::int32_t>(v);
  }
};

}  // namespace weft::problems

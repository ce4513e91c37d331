// SPDX-License-Identifier: MIT
// The sum over two ranks on one device, in one kernel: what is left of a call without the link.
#pragma once

#include "kernels/all_reduce/all_reduce.h"
#include "kernels/problem.h"

namespace weft::problems {

struct AllReduce {
  static constexpr int kRanks = 2;

  std::int64_t n;

  std::string text() const { return str(n, " floats, ", kRanks, " ranks on one device"); }
  double bytes() const {
    return 8.0 * kRanks * static_cast<double>(n);
  }  // values read, sums written
  double flops() const { return static_cast<double>((kRanks - 1) * n); }
  // A rank has so much memory, a multiple of 256 bytes.
  std::int64_t peer_floats() const {
    return static_cast<std::int64_t>(kernels::peer_memory_bytes(n) / 256 + 1) * 64;
  }
};

}  // namespace weft::problems

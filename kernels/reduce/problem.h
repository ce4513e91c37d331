// SPDX-License-Identifier: MIT
// The sum of floats as tests and benchmarks ask for it.
#pragma once

#include "kernels/problem.h"
#include "kernels/reduce/reduce.h"

namespace weft::problems {

struct Reduce {
  std::int64_t n;
  int threads = 0;          // of one block; 0 for the contract's own choice
  bool one_by_one = false;  // the host queues each call

  std::string table() const {
    return threads > 0 ? str("sum of ", n, " floats, GB/s by threads per block") : "";
  }
  std::string column() const { return threads > 0 ? str(threads) : ""; }
  std::string text() const {
    return str("sum of ", n, " floats", threads > 0 ? str(", ", threads, " threads per block") : "",
               one_by_one ? ", queued one by one" : "");
  }
  double bytes() const { return kernels::reduce_bytes(n, sizeof(float)); }
  double flops() const { return kernels::reduce_flops(n); }
};

}  // namespace weft::problems

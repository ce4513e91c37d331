// SPDX-License-Identifier: MIT
// What the courses have their students compute by hand: loads from global memory, warps that
// diverge, bank conflicts, additions, atomics on one address, the share of a halo. From the shapes
// of problem, block and tile alone; nothing is measured here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/gemm/gemm.h"
#include "kernels/signal/signal.h"

namespace weft::bench {

struct Fact {
  std::string name;  // "global loads"
  double value = 0;
  std::string text;  // the value with what it means
};

std::vector<Fact> gemm_facts(const kernels::GemmDims& dims, std::string_view variant);
std::vector<Fact> reduce_facts(std::int64_t n, int threads, std::string_view variant);
std::vector<Fact> scan_facts(std::string_view variant);
// `fullest` is the number of values in the fullest bin.
std::vector<Fact> histogram_facts(std::int64_t n, std::int64_t bins, std::int64_t fullest,
                                  int multiprocessors, std::string_view variant);
std::vector<Fact> signal_facts(const kernels::SignalDims& dims, std::string_view variant);
std::vector<Fact> nbody_facts(std::int64_t n, std::string_view variant);

// For the tree of a reduction in a block, one number for each step: warps of which some threads
// work and some do not; and the largest number of threads of a warp that want one of the 32 banks.
struct TreeSteps {
  std::vector<int> divergent_warps, bank_ways;
};
TreeSteps reduction_tree(int threads, std::string_view variant);  // empty for other variants

}  // namespace weft::bench

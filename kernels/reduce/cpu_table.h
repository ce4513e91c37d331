// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/reduce/reduce.h"

namespace weft::kernels {

// Elements that one thread reduces to one double of workspace.
constexpr std::int64_t kReduceChunk = 1 << 15;

struct ReduceCpu {
  void (*reduce)(float* result, const float* x, std::int64_t n, Reduction kind, double* partials);
};

WEFT_DECLARE_CPU_TABLE(ReduceCpu, reduce_cpu)

}  // namespace weft::kernels

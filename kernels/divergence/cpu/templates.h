// SPDX-License-Identifier: MIT
// Squares or cubes on the CPU. Everything is integer arithmetic, so there is one version for all
// types.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/divergence/cpu/table.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// Without a branch, so that neighbours share a vector register.
inline void sq_or_cube(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) {
    const bool odd = i % 2 != 0;
    std::uint32_t v = static_cast<std::uint32_t>(x[i]);
    for (int r = 0; r < rounds; ++r) v = v * v * (odd ? v : 1u) + static_cast<std::uint32_t>(r);
    y[i] = static_cast<std::int32_t>(v);
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

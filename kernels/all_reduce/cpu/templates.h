// SPDX-License-Identifier: MIT
// All-reduce of ranks in one process: each element is summed once and written to every rank.
#pragma once

#include <span>

#include "kernels/cpu_math.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void all_reduce(std::span<T* const> values, std::int64_t n) {
#pragma omp parallel for simd schedule(static) if (n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) {
    T sum = values[0][i];
    for (std::size_t r = 1; r < values.size(); ++r) sum += values[r][i];
    for (T* const of_rank : values) of_rank[i] = sum;
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

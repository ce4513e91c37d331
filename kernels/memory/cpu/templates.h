// SPDX-License-Identifier: MIT
// Moving memory on the CPU.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/memory/cpu/table.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void vector_add(T* c, const T* a, const T* b, std::int64_t n) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

template <class T>
void copy_strided(T* y, const T* x, std::int64_t n, const Access& access) {
  const std::int64_t stride = access.stride;
  const T* from = x + access.offset;
#pragma omp parallel for schedule(static) if (n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) y[i] = from[i * stride];
}

inline void read_strided(std::int64_t* sum, const std::int32_t* x, std::int64_t n,
                         const Access& access) {
  const std::int64_t stride = access.stride;
  const std::int32_t* from = x + access.offset;
  std::int64_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total) if (n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) total += from[i * stride];
  *sum = total;
}

// The sums that the GPU computes; the CPU has no shared memory to measure.
inline void shared_strided(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds) {
#pragma omp parallel for schedule(static) if (blocks * rounds >= 64)
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (int t = 0; t < kSharedThreads; ++t) {
      std::uint32_t sum = 0,
                    word = static_cast<std::uint32_t>(t) * static_cast<std::uint32_t>(stride);
      for (int round = 0; round < rounds; ++round) {
        const std::uint32_t first = word % kSharedWords;
        for (std::uint32_t k = 0; k < kSharedReads; ++k) sum += first + k;
        word += kSharedReads;
      }
      sums[block * kSharedThreads + t] = sum;
    }
  }
}

template <class T>
void copy_rows(T* y, const T* x, std::int64_t rows, std::int64_t cols, std::int64_t y_pitch,
               std::int64_t x_pitch) {
#pragma omp parallel for schedule(static) if (rows * cols >= kParallelElements)
  for (std::int64_t row = 0; row < rows; ++row) {
#pragma omp simd
    for (std::int64_t c = 0; c < cols; ++c) y[row * y_pitch + c] = x[row * x_pitch + c];
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

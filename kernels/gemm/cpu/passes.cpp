// SPDX-License-Identifier: MIT
#include "kernels/gemm/cpu/passes.h"

#include <algorithm>

namespace weft::kernels {
namespace {

constexpr std::int64_t kParallelElements = 1 << 16;  // less is done before threads have started

}  // namespace

void gemm_apply_mask(float* c, const float* mask, const GemmDims& dims) {
#pragma omp parallel for schedule(static) if (dims.m * dims.n >= kParallelElements)
  for (std::int64_t i = 0; i < dims.m; ++i) {
    float* row = c + i * dims.ldc;
    const float* passes = mask + i * dims.ldc;
#pragma omp simd
    for (std::int64_t j = 0; j < dims.n; ++j) row[j] = passes[j] > 0 ? row[j] : 0.0f;
  }
}

void gemm_add_rows(float* row_sums, const float* a, const GemmDims& dims, float alpha, float beta) {
  const auto finish = [&](std::int64_t i, float sum) {
    sum *= alpha;
    row_sums[i] = beta != 0 ? sum + beta * row_sums[i] : sum;
  };
  constexpr std::int64_t kBlock = 64;  // columns of a transposed A that are added up together
  const std::int64_t width = dims.transpose_a ? kBlock : 1;
#pragma omp parallel for schedule(static) if (dims.m * dims.k >= kParallelElements)
  for (std::int64_t first = 0; first < dims.m; first += width) {
    float sums[kBlock] = {};
    const std::int64_t count = std::min(width, dims.m - first);
    if (dims.transpose_a) {
      for (std::int64_t p = 0; p < dims.k; ++p) {
        const float* from = a + p * dims.lda + first;
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) sums[j] += from[j];
      }
    } else {
      const float* from = a + first * dims.lda;
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t p = 0; p < dims.k; ++p) sum += from[p];
      sums[0] = sum;
    }
    for (std::int64_t j = 0; j < count; ++j) finish(first + j, sums[j]);
  }
}

}  // namespace weft::kernels

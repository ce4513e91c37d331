// SPDX-License-Identifier: MIT
// What the GEMM kernels share: how a finished sum reaches C, and the choice of transposes.
#pragma once

#include <type_traits>

#include "kernels/gemm/cuda.h"

namespace weft::kernels::cuda {

// Where and how a kernel stores: C = epilogue(alpha * sum + beta * C + bias).
struct GemmOutput {
  float* c;           // (m, n), ldc
  const float* bias;  // (n,), (m,) when bias_per_row, or null
  std::int64_t m, n, ldc;
  float alpha, beta;
  bool relu, bias_per_row;
  bool vector;  // rows start on 16-byte boundaries
};

inline GemmOutput gemm_output(float* c, const float* bias, const GemmDims& dims,
                              const GemmOptions& options, const GemmBatch& batch = {}) {
  const bool vector =
      reinterpret_cast<std::uintptr_t>(c) % 16 == 0 && dims.ldc % 4 == 0 && batch.stride_c % 4 == 0;
  return {c,
          bias,
          dims.m,
          dims.n,
          dims.ldc,
          options.alpha,
          options.beta,
          options.epilogue == Epilogue::relu,
          batch.bias_per_row,
          vector};
}

// The value for (row, column), which must lie inside C.
__device__ __forceinline__ float finished(const GemmOutput& out, std::int64_t row,
                                          std::int64_t column, float sum) {
  float value = out.alpha * sum;
  if (out.beta != 0) value += out.beta * out.c[row * out.ldc + column];
  if (out.bias != nullptr) value += out.bias[out.bias_per_row ? row : column];
  return out.relu && value < 0 ? 0.0f : value;  // keeps NaN
}

__device__ __forceinline__ void store_one(const GemmOutput& out, std::int64_t row,
                                          std::int64_t column, float sum) {
  if (row < out.m && column < out.n) {
    out.c[row * out.ldc + column] = finished(out, row, column, sum);
  }
}

// Four neighbours in a row, from a column that is a multiple of 4.
__device__ __forceinline__ void store_quad(const GemmOutput& out, std::int64_t row,
                                           std::int64_t column, float4 sum) {
  if (row >= out.m) return;
  if (out.vector && column + 3 < out.n) {
    const float4 value = {finished(out, row, column, sum.x), finished(out, row, column + 1, sum.y),
                          finished(out, row, column + 2, sum.z),
                          finished(out, row, column + 3, sum.w)};
    *reinterpret_cast<float4*>(out.c + row * out.ldc + column) = value;
  } else {
    store_one(out, row, column, sum.x);
    store_one(out, row, column + 1, sum.y);
    store_one(out, row, column + 2, sum.z);
    store_one(out, row, column + 3, sum.w);
  }
}

// Calls run(transpose_a, transpose_b) with the flags as std::bool_constant.
template <class Run>
void with_transposes(const GemmDims& dims, const Run& run) {
  const auto with_b = [&](auto transpose_a) {
    if (dims.transpose_b) {
      run(transpose_a, std::true_type{});
    } else {
      run(transpose_a, std::false_type{});
    }
  };
  if (dims.transpose_a) {
    with_b(std::true_type{});
  } else {
    with_b(std::false_type{});
  }
}

}  // namespace weft::kernels::cuda

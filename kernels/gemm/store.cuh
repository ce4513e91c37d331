// SPDX-License-Identifier: MIT
// What the GEMM kernels share: how a finished sum reaches C, and the choice of transposes.
#pragma once

#include <type_traits>

#include "kernels/gemm/cuda.h"

namespace weft::kernels::cuda {

// Where and how a kernel stores: C = epilogue(alpha * sum + beta * C + bias).
template <class Element>
struct MatrixOutput {
  Element* c;         // (m, n), ldc
  const float* bias;  // (n,), (m,) when bias_per_row, or null
  std::int64_t m, n, ldc;
  float alpha, beta;
  bool relu, bias_per_row;
  bool vector;  // rows start on 16-byte boundaries
};
using GemmOutput = MatrixOutput<float>;

template <class Element>
bool rows_aligned(const Element* matrix, std::int64_t ld, std::int64_t stride = 0) {
  constexpr std::int64_t kQuantum = 16 / sizeof(Element);
  return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && ld % kQuantum == 0 &&
         stride % kQuantum == 0;
}

template <class Element>
MatrixOutput<Element> gemm_output(Element* c, const float* bias, const GemmDims& dims,
                                  const GemmOptions& options, const GemmBatch& batch = {}) {
  return {c,
          bias,
          dims.m,
          dims.n,
          dims.ldc,
          options.alpha,
          options.beta,
          options.epilogue == Epilogue::relu,
          batch.bias_per_row,
          rows_aligned(c, dims.ldc, batch.stride_c)};
}

__device__ __forceinline__ float as_float(float value) {
  return value;
}
__device__ __forceinline__ float as_float(Bfloat16 value) {
  return __uint_as_float(static_cast<std::uint32_t>(value.bits) << 16);
}

// The value for (row, column), which must lie inside C.
template <class Element>
__device__ __forceinline__ float finished(const MatrixOutput<Element>& out, std::int64_t row,
                                          std::int64_t column, float sum) {
  float value = out.alpha * sum;
  if (out.beta != 0) value += out.beta * as_float(out.c[row * out.ldc + column]);
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

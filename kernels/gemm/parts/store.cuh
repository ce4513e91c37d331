// SPDX-License-Identifier: MIT
// What the GEMM kernels share: how a finished sum reaches C, and the choice of transposes.
#pragma once

#include <type_traits>

#include "engine/launch.h"
#include "kernels/gemm/launchers.h"

namespace weft::kernels::cuda {

// Where and how a kernel stores: C = mask(epilogue(alpha * sum + beta * C + bias)).
template <class Element>
struct MatrixOutput {
  Element* c;         // (m, n), ldc
  const float* bias;  // (n,), (m,) when bias_per_row, or null
  const float* mask;  // (m, n), ldc, or null; of a single product of floats
  std::int64_t m, n, ldc;
  float alpha, beta;
  bool relu, bias_per_row;
  bool vector;  // rows of C and of the mask start on 16-byte boundaries
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
          options.relu_mask,
          dims.m,
          dims.n,
          dims.ldc,
          options.alpha,
          options.beta,
          options.epilogue == Epilogue::relu,
          batch.bias_per_row,
          rows_aligned(c, dims.ldc, batch.stride_c) && rows_aligned(options.relu_mask, dims.ldc)};
}

__device__ __forceinline__ float as_float(float value) {
  return value;
}
__device__ __forceinline__ float as_float(Bfloat16 value) {
  return __uint_as_float(static_cast<std::uint32_t>(value.bits) << 16);
}

// The value for one element, where C holds `before` (read only when beta is not 0).
template <class Element>
__device__ __forceinline__ float finished(const MatrixOutput<Element>& out, std::int64_t row,
                                          std::int64_t column, float sum, float before,
                                          float mask) {
  float value = out.alpha * sum;
  if (out.beta != 0) value += out.beta * before;
  if (out.bias != nullptr) value += __ldg(out.bias + (out.bias_per_row ? row : column));
  if (out.relu && value < 0) value = 0;  // keeps NaN
  return mask > 0 ? value : 0.0f;
}

// The value for (row, column), which must lie inside C.
template <class Element>
__device__ __forceinline__ float finished(const MatrixOutput<Element>& out, std::int64_t row,
                                          std::int64_t column, float sum) {
  const std::int64_t at = row * out.ldc + column;
  return finished(out, row, column, sum, out.beta != 0 ? as_float(out.c[at]) : 0.0f,
                  out.mask != nullptr ? __ldg(out.mask + at) : 1.0f);
}

__device__ __forceinline__ void store_one(const GemmOutput& out, std::int64_t row,
                                          std::int64_t column, float sum) {
  if (row < out.m && column < out.n) {
    out.c[row * out.ldc + column] = finished(out, row, column, sum);
  }
}

// Four neighbours in a row, from a column that is a multiple of 4. With `kShort` the code is short,
// for kernels that have many quads.
template <bool kShort = true>
__device__ __forceinline__ void store_quad(const GemmOutput& out, std::int64_t row,
                                           std::int64_t column, float4 sum) {
  if (row >= out.m) return;
  if (out.vector && column + 3 < out.n) {
    const std::int64_t at = row * out.ldc + column;
    float4 before = {0, 0, 0, 0}, mask = {1, 1, 1, 1};
    if (out.beta != 0) before = *reinterpret_cast<const float4*>(out.c + at);
    if (out.mask != nullptr) mask = __ldg(reinterpret_cast<const float4*>(out.mask + at));
    *reinterpret_cast<float4*>(out.c + at) = {
        finished(out, row, column, sum.x, before.x, mask.x),
        finished(out, row, column + 1, sum.y, before.y, mask.y),
        finished(out, row, column + 2, sum.z, before.z, mask.z),
        finished(out, row, column + 3, sum.w, before.w, mask.w)};
  } else if constexpr (kShort) {
    const std::int64_t end = min(out.n, column + 4);
#pragma unroll 1
    for (; column < end; ++column) {
      out.c[row * out.ldc + column] = finished(out, row, column, sum.x);
      sum.x = sum.y, sum.y = sum.z, sum.z = sum.w;
    }
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

// How a rung that gives a tile of C to each block is launched.
struct TileLaunch {
  std::int64_t rows, columns;  // of the tile
  dim3 threads;
  std::size_t shared_bytes = 0;
};

// Launches kernel_of(transpose_a, transpose_b), which takes (out, a, b, k, lda, ldb, column_tiles).
template <class KernelOf>
void launch_tiles(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                  const GemmOptions& options, const TileLaunch& tile, const Stream& stream,
                  const KernelOf& kernel_of) {
  const std::int64_t column_tiles = divide_up(dims.n, tile.columns);
  const Launch config{blocks_for(divide_up(dims.m, tile.rows) * column_tiles, 1), tile.threads,
                      tile.shared_bytes, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(kernel_of(transpose_a, transpose_b), config, gemm_output(c, bias, dims, options), a, b,
           dims.k, dims.lda, dims.ldb, column_tiles);
  });
}

}  // namespace weft::kernels::cuda

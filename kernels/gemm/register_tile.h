// SPDX-License-Identifier: MIT
// The innermost loop of GEMM and of the implicit-GEMM convolution: a tile of sums in registers.
//
//   tile[i][v] (+)= sum over p of A(i, p) * B(p, v)
//
// B(p, .) is kVectors vectors and A(i, p) one float, broadcast against them; with kTileRows rows
// every vector of B is used kTileRows times and every float of A for kVectors vectors, and the
// sums fill the register file. Where A and B lie is left to the caller, so that one kernel serves
// packed panels, unpacked matrices and images:
//
//   A(i, p) = a[i / kSpan][(i % kSpan) * a_stride + a_step(p)]     rows in spans of one stride
//   B(p, v) = b[b_step(p) + v * b_step.vector() ...]
//
// Included by kernels/*/cpu.cpp only: see kernels/isa.h.
#pragma once

#include <cstdint>

#include "kernels/simd.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// kTileRows * kTileVectors sums, kTileVectors of B and a broadcast must fit in the registers.
#if defined(__AVX512F__)
constexpr int kTileRows = 12;  // 24 of 32 registers
#else
constexpr int kTileRows = 6;  // 12 of 16 registers
#endif
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;

// How an operand advances with p and, for B, from one vector to the next.
struct Linear {
  std::int64_t step;
  std::int64_t operator()(std::int64_t p) const { return p * step; }
  constexpr std::int64_t vector() const { return kLanes; }
};
struct Table {
  const std::int64_t* offsets;
  std::int64_t vector_step = kLanes;
  std::int64_t operator()(std::int64_t p) const { return offsets[p]; }
  std::int64_t vector() const { return vector_step; }
};
struct Unit {  // as the stride of rows: adjacent floats, folded into the addressing mode
  constexpr operator std::int64_t() const { return 1; }
};
using Stride = std::int64_t;

// Adds to `tile` (kRows, kVectors * kLanes) when `add`, else overwrites it.
template <int kRows, int kSpan, int kVectors, class AStride, class AStep, class BStep>
void multiply_tile(float* __restrict tile, bool add, const float* const* a, AStride a_stride,
                   AStep a_step, const float* b, BStep b_step, std::int64_t k) {
  constexpr int kSpans = (kRows + kSpan - 1) / kSpan;
  FloatVector sum[kRows][kVectors];
  const float* row[kSpans];
#pragma GCC unroll 16
  for (int g = 0; g < kSpans; ++g) row[g] = a[g];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      sum[i][v] = add ? simd::load(tile + (i * kVectors + v) * kLanes) : FloatVector{};
    }
  }
#pragma GCC unroll 1
  for (std::int64_t p = 0; p < k; ++p) {
    const std::int64_t a_offset = a_step(p);
    const float* b_row = b + b_step(p);
    FloatVector value[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) value[v] = simd::load(b_row + v * b_step.vector());
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const float factor = row[i / kSpan][a_offset + (i % kSpan) * a_stride];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[i][v] += factor * value[v];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      simd::store(tile + (i * kVectors + v) * kLanes, sum[i][v]);
    }
  }
}

template <class AStride, class AStep, class BStep>
using TileKernel = void (*)(float*, bool, const float* const*, AStride, AStep, const float*, BStep,
                            std::int64_t);

// The kernels for 1..kMaxRows rows and 1..kTileVectors vectors, picked at run time. kSpan == 0
// stands for one span as long as the tile. Rows advance by kRowsPerEntry.
template <int kMaxRows, int kSpan, int kRowsPerEntry, class AStride, class AStep, class BStep>
struct TileKernels {
  using Kernel = TileKernel<AStride, AStep, BStep>;
  static constexpr int kEntries = kMaxRows / kRowsPerEntry;
  Kernel of[kTileVectors][kEntries];

  template <int... kIndex>
  static constexpr TileKernels make(std::integer_sequence<int, kIndex...>) {
    return {{{multiply_tile < (kIndex + 1) * kRowsPerEntry,
              kSpan == 0 ? (kIndex + 1) * kRowsPerEntry : kSpan, 1, AStride, AStep, BStep > ...},
             {multiply_tile < (kIndex + 1) * kRowsPerEntry,
              kSpan == 0 ? (kIndex + 1) * kRowsPerEntry : kSpan, 2, AStride, AStep, BStep > ...}}};
  }
  static constexpr TileKernels make() { return make(std::make_integer_sequence<int, kEntries>{}); }
  Kernel operator()(std::int64_t rows, std::int64_t vectors) const {
    return of[vectors - 1][rows / kRowsPerEntry - 1];
  }
};

// `total` split into pieces of at most `most` that differ by at most one.
struct Split {
  std::int64_t total, pieces;
  Split(std::int64_t total_, std::int64_t most)
      : total(total_), pieces((total_ + most - 1) / most) {}
  std::int64_t begin(std::int64_t piece) const { return piece * total / pieces; }
};

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

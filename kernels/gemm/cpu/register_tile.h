// SPDX-License-Identifier: MIT
// The innermost loop of GEMM and of the implicit-GEMM convolution: a tile of sums in registers.
//
//   tile[i][v] = start(i, v) + sum over p of A(i, p) * B(p, v)
//
// B(p, .) is kVectors vectors and A(i, p) one float, broadcast against them; with tile_rows() rows
// every vector of B is used so many times and every float of A for kVectors vectors, and the sums
// fill the register file. Where A and B lie and where the tile comes from and goes to is left to
// the caller, so that one kernel serves packed panels, unpacked matrices and images:
//
//   A(i, p) = a[i / kSpan][(i % kSpan) * a_stride + a_step(p)]     rows in spans of one stride
//   B(p, v) = b[b_step(p) + v * b_step.vector() ...]
//
// Included by kernels/*/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/simd.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// The most rows of a tile of so many vectors: the sums, the vectors of B and a broadcast must fit
// in the registers, 32 with AVX-512 and 16 without.
constexpr int tile_rows(int vectors) {
#if defined(__AVX512F__)
  return vectors == 3 ? 8 : 12;
#else
  return 12 / vectors;
#endif
}
constexpr int kTileVectors = 2;  // of packed panels
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = tile_rows(kTileVectors);

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

// Calls visit(i, v) for every sum of a tile, without a loop, so that sums stay in registers.
template <int kRows, int kVectors, class Visit>
[[gnu::always_inline]] inline void for_each_sum(Visit visit) {
  const auto unrolled = [&]<int... kIndex>(std::integer_sequence<int, kIndex...>)
      __attribute__((always_inline)) {
    (visit(kIndex / kVectors, kIndex % kVectors), ...);
  };
  unrolled(std::make_integer_sequence<int, kRows * kVectors>{});
}

// A tile that lies in memory by itself: (rows, vectors * kLanes).
struct Tile {
  enum class Start { zero, there, row_bias, vectors };

  float* at;
  Start start_kind;             // 0, what is there, or of the bias:
  const float* bias = nullptr;  // a float for each row, or the vectors of each row

  template <int kRows, int kVectors>
  [[gnu::always_inline]] void start(FloatVector (&sum)[kRows][kVectors]) const {
    const auto each = [&](auto value) __attribute__((always_inline)) {
      for_each_sum<kRows, kVectors>([&](int i, int v) __attribute__((always_inline)) {
        sum[i][v] = value(i, v);
      });
    };
    if (start_kind == Start::there) {
      each([&](int i, int v) { return simd::load(at + (i * kVectors + v) * kLanes); });
    } else if (start_kind == Start::row_bias) {
      each([&](int i, int) { return simd::broadcast(bias[i]); });
    } else if (start_kind == Start::vectors) {
      each([&](int, int v) { return simd::load(bias + v * kLanes); });
    } else {
      each([](int, int) { return FloatVector{}; });
    }
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] void finish(const FloatVector (&sum)[kRows][kVectors]) const {
    for_each_sum<kRows, kVectors>(
        [&](int i, int v) { simd::store(at + (i * kVectors + v) * kLanes, sum[i][v]); });
  }
};

// A tile in its final place: vector v of row i at at + i * row + v * vector. Of its floats `lanes`
// count, of the last vector `last_lanes`.
struct Place {
  enum class Start { zero, row_bias, vectors };

  float* at = nullptr;
  std::int64_t row = 0, vector = kLanes, lanes = kLanes, last_lanes = kLanes;
  bool relu = false;
  Start start_kind = Start::zero;  // or bias[i], or the vectors at bias + i * bias_row + v * vector
  const float* bias = nullptr;
  std::int64_t bias_row = 0;

  bool whole() const { return lanes == kLanes && last_lanes == kLanes; }
  std::int64_t lanes_of(int v, int vectors) const { return v + 1 < vectors ? lanes : last_lanes; }

  template <int kRows, int kVectors>
  [[gnu::always_inline]] void start(FloatVector (&sum)[kRows][kVectors]) const {
    if (start_kind == Start::zero) {
      for_each_sum<kRows, kVectors>([&](int i, int v) { sum[i][v] = FloatVector{}; });
    } else if (start_kind == Start::row_bias) {
      for_each_sum<kRows, kVectors>([&](int i, int v) { sum[i][v] = simd::broadcast(bias[i]); });
    } else {
      FloatVector there[kRows][kVectors];
      for (int i = 0; i < kRows; ++i) {
        for (int v = 0; v < kVectors; ++v) {
          const float* from = bias + i * bias_row + v * vector;
          there[i][v] = simd::load_first(from, lanes_of(v, kVectors));
        }
      }
      for_each_sum<kRows, kVectors>([&](int i, int v) { sum[i][v] = there[i][v]; });
    }
  }
  template <int kRows, int kVectors>
  [[gnu::always_inline]] void finish(FloatVector (&sum)[kRows][kVectors]) const {
    if (relu) {
      for_each_sum<kRows, kVectors>([&](int i, int v) { sum[i][v] = simd::relu(sum[i][v]); });
    }
    if (whole()) {
      for_each_sum<kRows, kVectors>(
          [&](int i, int v) { simd::store(at + i * row + v * vector, sum[i][v]); });
    } else {
      FloatVector kept[kRows][kVectors];
      for_each_sum<kRows, kVectors>([&](int i, int v) { kept[i][v] = sum[i][v]; });
      for (int i = 0; i < kRows; ++i) {
        for (int v = 0; v < kVectors; ++v) {
          simd::store_first(at + i * row + v * vector, kept[i][v], lanes_of(v, kVectors));
        }
      }
    }
  }
};

template <int kRows, int kSpan, int kVectors, class AStride, class AStep, class BStep, class Result>
void multiply_tile(const Result& tile, const float* const* a, AStride a_stride, AStep a_step,
                   const float* b, BStep b_step, std::int64_t k) {
  constexpr int kSpans = divide_up(kRows, kSpan);
  FloatVector sum[kRows][kVectors];
  const float* row[kSpans];
#pragma GCC unroll 16
  for (int g = 0; g < kSpans; ++g) row[g] = a[g];
  tile.start(sum);
#pragma GCC unroll 1
  for (std::int64_t p = 0; p < k; ++p) {
    const std::int64_t a_offset = a_step(p);
    const float* b_row = b + b_step(p);
    FloatVector value[kVectors];
#pragma GCC unroll 3
    for (int v = 0; v < kVectors; ++v) value[v] = simd::load(b_row + v * b_step.vector());
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      const float factor = row[i / kSpan][a_offset + (i % kSpan) * a_stride];
#pragma GCC unroll 3
      for (int v = 0; v < kVectors; ++v) {
        sum[i][v] = simd::multiply_add(factor, value[v], sum[i][v]);
      }
    }
  }
  tile.finish(sum);
}

// The kernels for 1..kMostVectors vectors and 1..tile_rows() rows, in steps of kRowsPerEntry,
// picked at run time. kSpan == 0 stands for one span as long as the tile.
template <int kMostVectors, int kSpan, int kRowsPerEntry, class AStride, class AStep, class BStep,
          class Result>
struct TileKernels {
  using Kernel = void (*)(const Result&, const float* const*, AStride, AStep, const float*, BStep,
                          std::int64_t);
  static constexpr int kEntries = tile_rows(1) / kRowsPerEntry;
  Kernel of[kMostVectors][kEntries] = {};

  constexpr TileKernels() { fill(std::make_integer_sequence<int, kMostVectors * kEntries>{}); }
  Kernel operator()(std::int64_t rows, std::int64_t vectors) const {
    return of[vectors - 1][rows / kRowsPerEntry - 1];
  }

 private:
  template <int... kIndex>
  constexpr void fill(std::integer_sequence<int, kIndex...>) {
    (fill_one<kIndex / kEntries, kIndex % kEntries>(), ...);
  }
  template <int kVector, int kEntry>
  constexpr void fill_one() {
    constexpr int kRows = (kEntry + 1) * kRowsPerEntry;
    if constexpr (kRows <= tile_rows(kVector + 1)) {
      of[kVector][kEntry] = multiply_tile < kRows, kSpan == 0 ? kRows : kSpan, kVector + 1, AStride,
      AStep, BStep, Result > ;
    }
  }
};

// `total` split into pieces of at most `most` that differ by at most one.
struct Split {
  std::int64_t total, pieces, least_size = 0, larger = 0;  // so many are larger by one
  Split(std::int64_t total_, std::int64_t most) : total(total_), pieces(divide_up(total_, most)) {
    if (pieces == 0) return;
    least_size = total / pieces;
    larger = total % pieces;
  }
  std::int64_t begin(std::int64_t piece) const {
    return piece * least_size + (piece < larger ? piece : larger);
  }
};

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// The register tile of a convolution of stride 1 whose filters fill one vector: adjacent pixels of
// an output row, and at each step a whole row of a filter's taps.
//
// multiply_tile() broadcasts a pixel for each product, so that it reads memory as often as it
// multiplies. Here a pixel is broadcast once and meets all taps of the row, which wait in
// registers: pixel j of the image is tap s of output j - s. A sum takes its taps in the same order
// as there, and has the same bits.
//
// Included by kernels/conv/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include "kernels/gemm/cpu/register_tile.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace correlation {

// Adds `rows` rows of taps to a tile of kPixels: row r begins at a + offsets[r * kTaps] of the
// image and at b + r * kTaps * kLanes of the packed filters.
template <int kTaps, int kPixels>
void multiply_rows(const Tile& tile, const float* a, const std::int64_t* offsets, const float* b,
                   std::int64_t rows) {
  FloatVector sum[kPixels][1];
  tile.start(sum);
#pragma GCC unroll 1
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* from = a + offsets[r * kTaps];
    FloatVector pixel[kPixels + kTaps - 1];
#pragma GCC unroll 16
    for (int j = 0; j < kPixels + kTaps - 1; ++j) pixel[j] = simd::broadcast(from[j]);
#pragma GCC unroll 8
    for (int s = 0; s < kTaps; ++s) {
      const FloatVector tap = simd::load(b + (r * kTaps + s) * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kPixels; ++i) {
        sum[i][0] = simd::multiply_add(pixel[i + s], tap, sum[i][0]);
      }
    }
  }
  tile.finish(sum);
}

using RowKernel = void (*)(const Tile&, const float*, const std::int64_t*, const float*,
                           std::int64_t);

// multiply_rows() for filters of kTaps columns and 1..tile_rows(1) pixels, picked at run time.
template <int kTaps>
struct RowKernels {
  RowKernel of[tile_rows(1)];

  constexpr RowKernels() { fill(std::make_integer_sequence<int, tile_rows(1)>{}); }

 private:
  template <int... kIndex>
  constexpr void fill(std::integer_sequence<int, kIndex...>) {
    ((of[kIndex] = multiply_rows<kTaps, kIndex + 1>), ...);
  }
};

// The kernel for so many columns of taps, pixels and vectors of filters, or null. It needs
// registers for the broadcast pixels beside the sums, which AVX-512 has.
inline RowKernel row_kernel(std::int64_t taps, std::int64_t pixels, std::int64_t vectors) {
#if defined(__AVX512F__)
  static constexpr RowKernels<3> kThree;
  static constexpr RowKernels<5> kFive;
  if (vectors == 1 && taps == 3) return kThree.of[pixels - 1];
  if (vectors == 1 && taps == 5) return kFive.of[pixels - 1];
#else
  static_cast<void>(taps), static_cast<void>(pixels), static_cast<void>(vectors);
#endif
  return nullptr;
}

}  // namespace correlation

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

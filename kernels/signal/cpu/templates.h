// SPDX-License-Identifier: MIT
// Signal convolution on the CPU, on any scalar type. In double it is the tests' oracle.
//
// Threads share pieces of rows. A piece stays in the first-level cache while one tap after the
// other adds its shifted, scaled row to it, which vectorises and needs no test for the borders.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/isa.h"
#include "kernels/signal/signal.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

template <class T>
void signal_convolve(T* y, const T* x, const T* filter, const SignalDims& d) {
  constexpr std::int64_t kPiece = 4096;
  const std::int64_t pieces = divide_up(d.width, kPiece);
  const std::int64_t rows = d.depth * d.height;
#pragma omp parallel for schedule(static) if (d.elements() * d.taps() > 100000)
  for (std::int64_t task = 0; task < rows * pieces; ++task) {
    const std::int64_t row = task / pieces, first = task % pieces * kPiece;
    const std::int64_t end = d.width - first < kPiece ? d.width : first + kPiece;
    T* out = y + row * d.width;
    for (std::int64_t w = first; w < end; ++w) out[w] = 0;
    for (std::int64_t a = 0; a < d.filter_depth; ++a) {
      const std::int64_t z = row / d.height + a - d.filter_depth / 2;
      if (z < 0 || z >= d.depth) continue;
      for (std::int64_t b = 0; b < d.filter_height; ++b) {
        const std::int64_t h = row % d.height + b - d.filter_height / 2;
        if (h < 0 || h >= d.height) continue;
        const T* in = x + (z * d.height + h) * d.width;
        for (std::int64_t c = 0; c < d.filter_width; ++c) {
          const T tap = filter[(a * d.filter_height + b) * d.filter_width + c];
          const std::int64_t shift = c - d.filter_width / 2;
          const std::int64_t low = first + shift < 0 ? -shift : first;
          const std::int64_t high = end + shift > d.width ? d.width - shift : end;
#pragma omp simd
          for (std::int64_t w = low; w < high; ++w) out[w] += tap * in[w + shift];
        }
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// A product of windows of packed pixels with filters, as implicit_gemm_wgmma.cu computes it.
#pragma once

#include "kernels/conv/parts/channels_last.cuh"

namespace weft::kernels::cuda {

// The result at (a, b) of an image reads pixels (a + r - pad_h, b + s - pad_w) at taps (r, s).
struct WindowProduct {
  const void* pixels;   // (images, source_height, source_width, quads)
  const void* filters;  // (taps_h, taps_w, rows, filter_quads)
  std::int64_t images, source_height, source_width, quads, filter_quads;
  HalfLargest largest;                              // in fp32
  std::int64_t rows, taps_h, taps_w, pad_h, pad_w;  // pads may be negative
  ComputeMode mode;                                 // fp32: operands in halves, for three products

  float* to;  // (images, rows, height, width)
  std::int64_t height, width;
  const float* bias;  // (rows,) or null
  const float* mask;  // where `to` is 0 unless it is above 0, or null
  bool relu, accumulate;
};

// On the tensor cores of sm_90a, right behind pack_pixels() on the stream.
void run_window_product(const WindowProduct& product, const Stream& stream);

}  // namespace weft::kernels::cuda

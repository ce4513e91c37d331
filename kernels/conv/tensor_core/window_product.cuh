// SPDX-License-Identifier: MIT
// A product of windows of cells with filters, as implicit_gemm_tensor_core.cu computes it.
#pragma once

#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {

// Where results go: pixel (a, b) of an image to row a row_step + row0, column b column_step +
// column0 of its planes.
struct Lattice {
  float* to;  // (images, planes, height, width)
  int planes, width;
  int row0, column0, row_step, column_step;
  std::int64_t plane;            // height width
  device::FastDivide by_pixels;  // pixels of the lattice in an image
  device::FastDivide by_width;   // and in a row
  int columns;                   // pixels of all images
  const float* bias;             // (planes,) or null
  const float* mask;             // where `to` is 0 unless it is above 0, or null
  bool relu, accumulate;
  bool pairs;  // the lattice is the whole plane, and two neighbours lie in 8 aligned bytes

  __device__ __forceinline__ float* at(int column) const {
    int pixel = 0, b = 0;
    const std::int64_t image = by_pixels.divide(column, pixel);
    const int a = by_width.divide(pixel, b);
    return to + image * planes * plane + std::int64_t{a * row_step + row0} * width +
           b * column_step + column0;
  }
  // What to store at `at` for a sum.
  __device__ __forceinline__ float finished(float value, float offset, const float* at) const {
    value += offset;
    if (accumulate) value += *at;
    if (mask != nullptr && !(mask[at - to] > 0)) value = 0;
    return relu && value < 0 ? 0.0f : value;
  }
};

// Columns are windows of taps_h x taps_w cells; their sums with the filters are the results.
struct Stencil {
  const uint4* source;   // (images, groups, plane) cells
  const uint4* filters;  // (groups, taps_h, taps_w, padded_rows) cells
  int groups, taps_h, taps_w;
  int row_pitch, plane;               // cells
  int row_step, column_step, origin;  // cells of the window of pixel (a, b)
  int rows, padded_rows, row_tiles;
  Lattice lattice;
};

// On the tensor cores of sm_80 and later; the filters have padded_rows, a multiple of 128. Cells
// are of the type that the mode is named after.
void run_stencil(const Stencil& p, ComputeMode mode, const Stream& stream);

}  // namespace weft::kernels::cuda

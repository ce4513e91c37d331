// SPDX-License-Identifier: MIT
// The plan of the forward pass of conv_relu_pool on wgmma, and how the sums of a strip become
// windows of y. sm_90a.
#pragma once

#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/conv_relu_pool/parts/window_max.cuh"
#include "kernels/device/quad.cuh"

namespace weft::kernels::cuda::pool_forward {

using device::FastDivide;

struct ForwardPlan {
  int channels, pad_h, pad_w;
  const float* w;     // (filters, channels, 3, 3)
  const float* bias;  // (filters,) or null
  float* y;           // (n, filters, rows, columns)
  std::uint8_t* argmax;
  const std::uint32_t* largest;  // of x, in parts (largest.cuh); for halves
  int filters, filter_blocks, rows, columns;
  int groups, slots;
  bool quads;  // four windows lie in 16 aligned bytes of y and in 4 of argmax
  FastDivide by_tile_columns, by_tile_rows;
  int items;  // tiles of all images
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Window u of the column of windows that a thread has of a filter: half 0 is row group of the
// fragment, half 1 row group + 8.
__device__ __forceinline__ WindowMax window_of(const float* sum, int u, int half, float bias) {
  const float* upper = sum + 8 * u + 2 * half;  // of row 2 u; 4 sums further is row 2 u + 1
  WindowMax window(upper[0] + bias);
  window.offer(upper[1] + bias, 1);
  window.offer(upper[4] + bias, 2);
  window.offer(upper[5] + bias, 3);
  return window;
}

// Stores the windows of a strip, rows from row0 on and columns from column0 on. The four lanes of a
// row of the fragment trade windows, so that each stores four neighbours.
template <int kSums>
__device__ __forceinline__ void store_quads(const ForwardPlan& p, const float (&sum)[kSums],
                                            std::int64_t image, int row0, int column0,
                                            int filter0) {
  constexpr int kWindows = kSums / 8;  // in a column
  const int lane = threadIdx.x % 32, member = lane % 4;
  if (column0 >= p.columns) return;
  const std::int64_t first = (image * p.filters + filter0) * p.rows * p.columns + column0;
  float* y = device::opaque(p.y + first);
  std::uint8_t* indices = device::opaque(p.argmax + first);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int filter = filter0 + lane / 4 + 8 * half;
    const bool there = filter < p.filters;
    const float bias = p.bias != nullptr && there ? __ldg(p.bias + filter) : 0.0f;
    const unsigned plane = static_cast<unsigned>((lane / 4 + 8 * half) * p.rows * p.columns);
#pragma unroll
    for (int u = 0; u < kWindows; u += 4) {
      std::uint32_t value[4] = {}, packed = 0, argmax = 0;
#pragma unroll
      for (int i = 0; i < 4 && u + i < kWindows; ++i) {
        const WindowMax window = window_of(sum, u + i, half, bias);
        value[i] = __float_as_uint(window.relu());
        packed |= std::uint32_t{window.argmax()} << 8 * i;
      }
      device::transpose_quad(value, member);  // four neighbours of row u + member
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::uint32_t word = __shfl_sync(0xffffffff, packed, lane - member + i);
        argmax |= (word >> 8 * member & 0xff) << 8 * i;
      }
      const int row = row0 + u + member;
      if (!there || u + member >= kWindows || row >= p.rows) continue;
      const unsigned at = plane + static_cast<unsigned>(row * p.columns);
      *reinterpret_cast<uint4*>(y + at) = {value[0], value[1], value[2], value[3]};
      if (p.argmax != nullptr) *reinterpret_cast<std::uint32_t*>(indices + at) = argmax;
    }
  }
}

// The same for maps of any width and alignment.
template <int kSums>
__device__ __forceinline__ void store_singly(const ForwardPlan& p, const float (&sum)[kSums],
                                             std::int64_t image, int row0, int column0,
                                             int filter0) {
  const int lane = threadIdx.x % 32, column = column0 + lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int filter = filter0 + lane / 4 + 8 * half;
    if (filter >= p.filters || column >= p.columns) return;
    const float bias = p.bias != nullptr ? __ldg(p.bias + filter) : 0.0f;
    const std::int64_t plane = (image * p.filters + filter) * p.rows * p.columns + column;
#pragma unroll
    for (int u = 0; u < kSums / 8; ++u) {
      if (row0 + u >= p.rows) break;
      const WindowMax window = window_of(sum, u, half, bias);
      const std::int64_t at = plane + (row0 + u) * p.columns;
      p.y[at] = window.relu();
      if (p.argmax != nullptr) p.argmax[at] = window.argmax();
    }
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_forward

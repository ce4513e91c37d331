// SPDX-License-Identifier: MIT
// How sums of wgmma, a row for each filter and a column for each pixel of a box, reach images in
// NCHW (implicit_gemm_wgmma.cu).
#pragma once

#include "kernels/conv/hopper/tile_choice.h"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {

// What a block computes: from this filter, image and result on.
struct TilePlace {
  int filter, image, row, column;
};

// The destination (images, rows, plane). A box of whole rows of an image is one run of its plane,
// which then counts as one line; any other box is one run for each of its rows.
struct PixelStore {
  float* to;
  const float* bias;  // (rows,) or null
  const float* mask;  // where `to` is 0 unless it is above 0, or null
  bool relu, accumulate;
  bool quads;  // four pixels of a run are 16 aligned bytes
  bool flat;   // a run is a box
  int box_images, box_width;
  int images, rows;
  int lines, line;  // of a plane, and the pixels of one
  std::int64_t plane;
  device::FastDivide by_run;    // pixels of a run
  device::FastDivide by_lines;  // runs of an image

  // Offset of a pixel of the tile in plane 0 of its image, -1 outside of the images.
  __device__ __forceinline__ std::int64_t offset(int pixel, const TilePlace& place) const {
    const int line0 = flat ? 0 : place.row;
    const int first = flat ? place.row * box_width : place.column;
    int along = 0, below = 0;
    const int image = by_lines.divide(by_run.divide(pixel, along), below);
    const bool inside = image < box_images && place.image + image < images &&
                        line0 + below < lines && first + along < line;
    const std::int64_t planes = (place.image + image) * std::int64_t{rows};
    return inside ? planes * plane + std::int64_t{line0 + below} * line + first + along : -1;
  }
};

__device__ __forceinline__ float finished(const PixelStore& p, float value, float before,
                                          float mask) {
  value += before;
  if (!(mask > 0)) value = 0;
  return p.relu && value < 0 ? 0.0f : value;  // keeps NaN
}

// Four neighbours of a plane in 16 aligned bytes.
__device__ __forceinline__ void store_quad(const PixelStore& p, std::int64_t at, const float4& sum,
                                           float bias) {
  float4 before = {0, 0, 0, 0}, mask = {1, 1, 1, 1};
  if (p.accumulate) before = *reinterpret_cast<const float4*>(p.to + at);
  if (p.mask != nullptr) mask = __ldg(reinterpret_cast<const float4*>(p.mask + at));
  *reinterpret_cast<float4*>(p.to + at) = {
      finished(p, sum.x + bias, before.x, mask.x), finished(p, sum.y + bias, before.y, mask.y),
      finished(p, sum.z + bias, before.z, mask.z), finished(p, sum.w + bias, before.w, mask.w)};
}

// Any four pixels: offset_of(k) is where the k-th one goes, negative for nowhere.
template <class OffsetOf>
__device__ __forceinline__ void store_singly(const PixelStore& p, std::int64_t plane_at,
                                             const float4& sum, float bias,
                                             const OffsetOf& offset_of) {
#pragma unroll 1  // it is inlined many times
  for (int k = 0; k < 4; ++k) {
    const std::int64_t offset = offset_of(k);
    if (offset < 0) continue;
    const float value = k == 0 ? sum.x : k == 1 ? sum.y : k == 2 ? sum.z : sum.w;
    const std::int64_t at = plane_at + offset;
    p.to[at] = finished(p, value + bias, p.accumulate ? p.to[at] : 0.0f,
                        p.mask != nullptr ? __ldg(p.mask + at) : 1.0f);
  }
}

// Stores a warpgroup's sums: 64 filters from filter0 on, columns that are pixels from pixel0 on.
__device__ __forceinline__ void store_sums(const PixelStore& p,
                                           const float (&sum)[kWgmmaPixels / 2], int filter0,
                                           int pixel0, const TilePlace& place) {
  constexpr int kBlocks = kWgmmaPixels / 8;  // of eight columns
  const int thread = threadIdx.x % 128, member = thread % 4;
  const bool odd = member % 2 == 1;
  const int row = filter0 + thread / 32 * 16 + thread % 32 / 4;  // and row + 8
  float bias[2] = {0, 0};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    if (p.bias != nullptr && row + 8 * half < p.rows) bias[half] = __ldg(p.bias + row + 8 * half);
  }
#pragma unroll
  for (int j = 0; j < kBlocks; j += 2) {
    // A lane has a pair in each of two blocks and stores four neighbours in one of them: an even
    // one in the first, an odd one in the second. Each sends the pair that its neighbour stores.
    const bool two = j + 1 < kBlocks, stores = two || !odd;
    const int pixel = pixel0 + 8 * (j + member % 2) + 4 * (member / 2);
    const std::int64_t offset = p.quads ? p.offset(pixel, place) : 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = 4 * j + 2 * half;
      const float2 one = {sum[i], sum[i + 1]};
      const float2 next = two ? float2{sum[i + 4], sum[i + 5]} : float2{0, 0};
      float2 other = odd ? one : next;
      other.x = __shfl_xor_sync(0xffffffff, other.x, 1);
      other.y = __shfl_xor_sync(0xffffffff, other.y, 1);
      const float4 quad =
          odd ? float4{other.x, other.y, next.x, next.y} : float4{one.x, one.y, other.x, other.y};
      if (!stores || offset < 0 || row + 8 * half >= p.rows) continue;
      const std::int64_t at = (row + 8 * half) * p.plane + offset;
      if (p.quads) {
        store_quad(p, at, quad, bias[half]);
      } else {
        store_singly(p, at, quad, bias[half], [&](int k) { return p.offset(pixel + k, place); });
      }
    }
  }
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The kernel behind forward and backward data of the rung "direct_tensor_core", which tells what it
// computes (direct_tensor_core.cu). sm_80 and later.
//
// A block keeps the filters and brings in a few images at a time. Its eight warps share the tiles
// of their product evenly, up to kMostTiles at a time. Shared memory holds the table of offsets,
// the bias, the filters as A, the images, and the parts of backward data. The block makes the table
// and the zeros, and prefetches the image into L2, before the kernel ahead is over. Pointers are
// not __restrict__, see reduce/rungs/vectorized.cu.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/tensor_core/direct_operands.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"

namespace weft::kernels::cuda {

constexpr int kMostTiles = 4;  // of a warp at a time

// The product, and where its operands lie. Strides and offsets are in floats of shared memory.
struct Correlation {
  int rows, row_tiles, depth, a_stride;
  int columns;                    // of an image
  int line_step, column_step;     // from a column of the product to the next, in the image
  int image_stride, part_stride;  // part_stride: of rows of the sums of backward data
  int table_floats, bias_floats, a_floats, staged_floats;
  int images_of_block, runs_of_image, image_floats;  // image_floats: of x or dy in memory
  device::FastDivide by_columns, by_line;
  StagedRuns image, filters;
  int plane_stride, row_stride;  // of the image
  device::FastDivide by_kernel_width, by_kernel_height, by_channels, by_filters;
  device::FastDivide by_width, by_height;  // of dx
  int pad_h, pad_w, out_height, out_width;
  std::int64_t images;
  bool relu, accumulate, pairs;  // pairs: neighbours of y are 8 aligned bytes
};

struct CorrelationPointers {
  float* to;           // y or dx
  const float* image;  // x or dy
  const float *w, *bias, *mask;
};

// Row (c, s) and k = (r, o) of backward data, from w (o, c, r, s).
__device__ __forceinline__ void stage_turned(float* a, const float* w, const Correlation& p) {
  const int filters = p.by_filters.divisor();
  for (int i = threadIdx.x; i < p.rows * p.depth; i += kDirectMmaThreads) {
    int s = 0, r = 0, c = 0;
    const int o =
        p.by_channels.divide(p.by_kernel_height.divide(p.by_kernel_width.divide(i, s), r), c);
    device::async_copy_float(
        a + (c * p.by_kernel_width.divisor() + s) * p.a_stride + r * filters + o, w + i, true);
  }
}

template <bool kBackward>
__device__ __forceinline__ void make_correlation_table(int2* table, const Correlation& p) {
  make_table(table, p.depth, [&](int k) {
    if constexpr (kBackward) {
      int o = 0;
      const int r = p.by_filters.divide(k, o);
      return o * p.plane_stride + (p.by_kernel_height.divisor() - 1 - r) * p.out_width;
    } else {
      int s = 0, r = 0;
      const int c = p.by_kernel_height.divide(p.by_kernel_width.divide(k, s), r);
      return c * p.plane_stride + r * p.row_stride + s;
    }
  });
}

// The steps whose taps meet rows of dy from these columns of the product, of one or more images.
struct Steps {
  int begin, end;
};
__device__ __forceinline__ Steps steps_within_image(int first, int last, const Correlation& p) {
  const int all = divide_up(p.depth, 8);
  int from = 0, to = 0;
  if (p.by_columns.divide(first, from) != p.by_columns.divide(last, to)) return {0, all};
  const int filters = p.by_filters.divisor();
  const int r0 = max(0, p.by_line.divide(from) + p.pad_h - p.out_height + 1);
  const int r1 = min(p.by_kernel_height.divisor(), p.by_line.divide(to) + p.pad_h + 1);
  return {r0 * filters / 8, divide_up(r1 * filters, 8)};
}

// Shared memory, as far as a warp's products need it.
struct CorrelationShared {
  const int2* table;
  const float *bias, *a, *staged;
  float* parts;
};

__device__ __forceinline__ float finished(float value, const Correlation& p) {
  return p.relu && value < 0 ? 0.0f : value;
}

// A warp's sums of kTiles tiles from (row_tile, tile) on, to y of the block's images or to parts.
template <bool kSplit, bool kBackward, int kTiles>
__device__ __forceinline__ void compute_tiles(float* y, const CorrelationShared& shared,
                                              int row_tile, int tile, int columns,
                                              const Correlation& p) {
  const int lane = threadIdx.x % 32, group = lane / 4, member = lane % 4;
  const int row0 = 16 * row_tile + group;
  MmaOperands<kTiles> from;
  const int above = min(row0, p.rows - 1), below = min(row0 + 8, p.rows - 1);
  from.a = shared.a + above * p.a_stride + member;
  from.a_below = (below - above) * p.a_stride;
  from.table = shared.table + member;
#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    int pixel = 0, along = 0;
    const int image = p.by_columns.divide(min(8 * (tile + j) + group, columns - 1), pixel);
    const int line = p.by_line.divide(pixel, along);
    from.b[j] = reinterpret_cast<const char*>(shared.staged + image * p.image_stride +
                                              line * p.line_step + along * p.column_step);
  }
  Steps steps{0, divide_up(p.depth, 8)};
  if constexpr (kBackward) {
    steps = steps_within_image(8 * tile, min(8 * (tile + kTiles), columns) - 1, p);
  }
  float sum[kTiles][4] = {};
  multiply_steps<kSplit>(sum, from, steps.begin, steps.end);

#pragma unroll
  for (int j = 0; j < kTiles; ++j) {
    const int column = 8 * (tile + j) + 2 * member;
    if constexpr (kBackward) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = row0 + 8 * half;
        if (row >= p.rows) continue;
        *reinterpret_cast<float2*>(shared.parts + row * p.part_stride + column) = {
            sum[j][2 * half], sum[j][2 * half + 1]};
      }
    } else {
      int pixel[2];
      const int image[2] = {p.by_columns.divide(column, pixel[0]),
                            p.by_columns.divide(column + 1, pixel[1])};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = row0 + 8 * half;
        if (row >= p.rows) continue;
        const float2 value = {finished(sum[j][2 * half] + shared.bias[row], p),
                              finished(sum[j][2 * half + 1] + shared.bias[row], p)};
        float* to[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) to[i] = y + (image[i] * p.rows + row) * p.columns + pixel[i];
        if (p.pairs) {
          if (column < columns) *reinterpret_cast<float2*>(to[0]) = value;
        } else {
          if (column < columns) *to[0] = value.x;
          if (column + 1 < columns) *to[1] = value.y;
        }
      }
    }
  }
}

// dx of the block's images from the parts; dx and mask point at the first of them.
__device__ __forceinline__ void add_parts(float* dx, const float* mask, const float* parts,
                                          int images, const Correlation& p) {
  constexpr int kBatch = 4;
  const int kernel = p.by_kernel_width.divisor();
  const int count = images * p.by_channels.divisor() * p.by_height.divisor() * p.by_width.divisor();
  for (int first = threadIdx.x; first < count; first += kBatch * kDirectMmaThreads) {
    float sum[kBatch] = {}, sign[kBatch];
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int at = first + b * kDirectMmaThreads;
      if (at >= count) break;
      sign[b] = mask != nullptr ? mask[at] : 1.0f;
      if (p.accumulate) sum[b] = dx[at];
    }
#pragma unroll
    for (int b = 0; b < kBatch; ++b) {
      const int at = first + b * kDirectMmaThreads;
      if (at >= count) break;
      int j = 0, i = 0, c = 0;
      const int image = p.by_channels.divide(p.by_height.divide(p.by_width.divide(at, j), i), c);
      const int q = j + p.pad_w;  // of tap 0
      const float* part =
          parts + c * kernel * p.part_stride + image * p.columns + i * p.out_width + q;
      float total = 0;
      for (int s = 0; s < kernel; ++s, part += p.part_stride - 1) {
        if (static_cast<unsigned>(q - s) < static_cast<unsigned>(p.out_width)) total += *part;
      }
      total += sum[b];
      dx[at] = sign[b] > 0 ? total : 0.0f;
    }
  }
}

// Shared memory: the table, the bias, A (rows, a_stride), the images, the parts.
template <bool kSplit, bool kBackward>
__global__ void __launch_bounds__(kDirectMmaThreads, kDirectMmaBlocks)
    correlate_mma_kernel(CorrelationPointers from, Correlation p) {
  device::overlap_allow();
  float4* shared4 = device::dynamic_shared<float4>();
  float* shared = reinterpret_cast<float*>(shared4);
  int2* table = reinterpret_cast<int2*>(shared);
  float* bias = shared + p.table_floats;
  float* a = bias + p.bias_floats;
  float* staged = a + p.a_floats;
  const CorrelationShared parts_of{table, bias, a, staged, staged + p.staged_floats};

  const auto images_from = [&](std::int64_t first) {
    return static_cast<int>(min(std::int64_t{p.images_of_block}, p.images - first));
  };
  std::int64_t first = std::int64_t{blockIdx.x} * p.images_of_block;
  if (threadIdx.x == 0) {
    device::prefetch(from.image + first * p.image_floats, images_from(first) * p.image_floats);
    if (blockIdx.x == 0) device::prefetch(from.w, p.rows * p.depth);
  }
  make_correlation_table<kBackward>(table, p);
  for (int i = threadIdx.x; i < (p.a_floats + p.staged_floats) / 4; i += kDirectMmaThreads) {
    reinterpret_cast<float4*>(a)[i] = {0, 0, 0, 0};
  }
  __syncthreads();  // zeros before filters and pixels
  device::overlap_wait();
  p.image.copy(staged, from.image + first * p.image_floats, images_from(first) * p.runs_of_image,
               images_from(first) * p.runs_of_image);
  if constexpr (kBackward) {
    stage_turned(a, from.w, p);
  } else {
    p.filters.copy(a, from.w, p.rows, p.rows);
    for (int i = threadIdx.x; i < p.rows; i += kDirectMmaThreads) {
      bias[i] = from.bias != nullptr ? from.bias[i] : 0.0f;
    }
  }

  for (;;) {
    const int images = images_from(first);
    const int columns = images * p.columns, tiles = divide_up(columns, 8);
    const std::int64_t next = first + std::int64_t{gridDim.x} * p.images_of_block;
    if (threadIdx.x == 0 && next < p.images) {
      device::prefetch(from.image + next * p.image_floats, images_from(next) * p.image_floats);
    }
    device::async_commit();
    device::async_wait<0>();
    __syncthreads();

    // A warp has its share of the tiles, row by row, in parts that are as even as can be.
    float* y = from.to + first * p.rows * p.columns;
    const int warp = threadIdx.x / 32, all = p.row_tiles * tiles;
    const int end = (warp + 1) * all / kDirectMmaWarps;
    for (int at = warp * all / kDirectMmaWarps; at < end;) {
      const int row_tile = at / tiles, tile = at % tiles;
      const int left = min(end - at, tiles - tile), turns = divide_up(left, kMostTiles);
      const int now = divide_up(left, turns);
      if (now == 4) compute_tiles<kSplit, kBackward, 4>(y, parts_of, row_tile, tile, columns, p);
      if (now == 3) compute_tiles<kSplit, kBackward, 3>(y, parts_of, row_tile, tile, columns, p);
      if (now == 2) compute_tiles<kSplit, kBackward, 2>(y, parts_of, row_tile, tile, columns, p);
      if (now == 1) compute_tiles<kSplit, kBackward, 1>(y, parts_of, row_tile, tile, columns, p);
      at += now;
    }
    if constexpr (kBackward) {
      __syncthreads();  // all parts are there
      const std::int64_t floats =
          std::int64_t{p.by_channels.divisor()} * p.by_height.divisor() * p.by_width.divisor();
      add_parts(from.to + first * floats,
                from.mask != nullptr ? from.mask + first * floats : nullptr, parts_of.parts, images,
                p);
    }
    first = next;
    if (first >= p.images) return;
    __syncthreads();  // images and parts are read before the next ones overwrite them
    p.image.copy(staged, from.image + first * p.image_floats, images_from(first) * p.runs_of_image,
                 images_from(first) * p.runs_of_image);
  }
}

}  // namespace weft::kernels::cuda

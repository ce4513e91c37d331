// SPDX-License-Identifier: MIT
// Image and volume convolution, rung "tiled": a tile and its halo in shared memory.
//
//   image    32 x 32 outputs of a block       from 36 x 36 elements for 5 x 5 taps (5.2 KiB with
//                                             the filter), 94 x 94 for 63 x 63 (50 KiB)
//   volume   4 x 8 x 32 outputs of a block    from 6 x 10 x 34 elements for 3 x 3 x 3 taps (8.1
//                                             KiB), 14 x 18 x 42 for 11 x 11 x 11 (46.5 KiB)
//
// The filter's extents are arguments. What they need of shared memory may be up to what a block can
// have: 48 KiB and more, 227 KiB on an H200.
//
// The block is 32 x 8 threads with 4 outputs each, apart in height (image) or in depth (volume), so
// that one tap serves four. Threads walk over the tile's elements to load it, rows along the lanes.
// Both shapes are one kernel: an image is a volume whose tile is 1 deep and whose outputs lie 8
// rows apart. The filter follows the tile in dynamic shared memory.
#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/signal/launchers.h"
#include "kernels/signal/parts/tile.h"

namespace weft::kernels::cuda {
namespace {

using signal_tile::kColumns;
using signal_tile::kOutputs;
using signal_tile::kRows;
constexpr int kThreads = kColumns * kRows;

// Outputs of a block, and how far apart those of a thread are.
template <int kRank>
struct Tile {
  static constexpr int kDepth = signal_tile::depth(kRank);
  static constexpr int kHeight = signal_tile::height(kRank);
  static constexpr int kStepDepth = kRank == 3 ? 1 : 0;
  static constexpr int kStepHeight = kRank == 3 ? 0 : kRows;
};

template <int kRank>
__global__ void __launch_bounds__(kThreads)
    signal_tiled_kernel(float* __restrict__ y, const float* __restrict__ x,
                        const float* __restrict__ filter, SignalDims d, std::int64_t tiles_high,
                        std::int64_t tiles_wide) {
  // (depth, height, width) with halo, then the filter
  float* tile = device::dynamic_shared<float>();
  using Shape = Tile<kRank>;
  const int fd = static_cast<int>(d.filter_depth), fh = static_cast<int>(d.filter_height);
  const int fw = static_cast<int>(d.filter_width), taps = fd * fh * fw;
  const int height = Shape::kHeight + fh - 1, width = kColumns + fw - 1;
  const int slice = height * width, elements = signal_tile::elements(kRank, fd, fh, fw);
  float* shared_filter = tile + elements;
  const std::int64_t z0 = blockIdx.x / (tiles_high * tiles_wide) * Shape::kDepth;
  const std::int64_t h0 = blockIdx.x / tiles_wide % tiles_high * Shape::kHeight;
  const std::int64_t w0 = blockIdx.x % tiles_wide * kColumns;
  const int thread = static_cast<int>(threadIdx.y) * kColumns + static_cast<int>(threadIdx.x);

  for (int i = thread; i < taps; i += kThreads) shared_filter[i] = filter[i];
  for (int i = thread; i < elements; i += kThreads) {
    const std::int64_t z = z0 + i / slice - fd / 2;
    const std::int64_t h = h0 + i % slice / width - fh / 2, w = w0 + i % width - fw / 2;
    const bool inside = z >= 0 && z < d.depth && h >= 0 && h < d.height && w >= 0 && w < d.width;
    tile[i] = inside ? x[(z * d.height + h) * d.width + w] : 0.0f;
  }
  __syncthreads();

  float sum[kOutputs] = {};
  const int place = static_cast<int>(threadIdx.y) * width + static_cast<int>(threadIdx.x);
  const int step = Shape::kStepDepth * slice + Shape::kStepHeight * width;
  for (int a = 0; a < fd; ++a) {
    for (int b = 0; b < fh; ++b) {
      const float* in = tile + place + a * slice + b * width;
      const float* row = shared_filter + (a * fh + b) * fw;
      for (int c = 0; c < fw; ++c) {
#pragma unroll
        for (int e = 0; e < kOutputs; ++e) sum[e] = fmaf(row[c], in[e * step + c], sum[e]);
      }
    }
  }
#pragma unroll
  for (int e = 0; e < kOutputs; ++e) {
    const std::int64_t z = z0 + e * Shape::kStepDepth;
    const std::int64_t h = h0 + threadIdx.y + e * Shape::kStepHeight, w = w0 + threadIdx.x;
    if (z < d.depth && h < d.height && w < d.width) {
      y[(z * d.height + h) * d.width + w] = sum[e];
    }
  }
}

template <int kRank>
void run(float* y, const float* x, const float* filter, const SignalDims& d, const Stream& stream) {
  const auto tiles = [](std::int64_t extent, int tile) { return divide_up(extent, tile); };
  const std::int64_t high = tiles(d.height, Tile<kRank>::kHeight), wide = tiles(d.width, kColumns);
  const std::int64_t blocks = tiles(d.depth, Tile<kRank>::kDepth) * high * wide;
  const Launch config{dim3(blocks_for(blocks, 1)), dim3(kColumns, kRows),
                      static_cast<std::size_t>(signal_tile_bytes(d)), stream};
  launch(signal_tiled_kernel<kRank>, config, y, x, filter, d, high, wide);
}

}  // namespace

void signal_tiled(float* y, const float* x, const float* filter, const SignalDims& dims,
                  const Stream& stream) {
  if (dims.rank() == 2) {
    run<2>(y, x, filter, dims, stream);
  } else {
    run<3>(y, x, filter, dims, stream);
  }
}

}  // namespace weft::kernels::cuda

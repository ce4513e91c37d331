// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_tensor_core": forward and backward data as products on tensor
// cores (mma.sync), their operands gathered by asynchronous copies. sm_80 and later.
//
// Image and filters are packed into cells first (channel_blocks.cuh). A chunk of the sum is one
// group of channels at one tap: 64 bytes for each filter and for each pixel, copied to shared
// memory as four quads a row. Because the padding is part of the packed image, a pixel's address is
// its own offset, fixed for the whole kernel, plus the chunk's. Taps are the inner loop and groups
// the outer one, so a window's cells are copied kh kw times in a row, mostly from the L1 cache.
//
//        filters (rows)   pixels (columns)        a row of shared memory: 4 quads, exchanged by
//        a, b, c, d       a', b', c', d'          (row / 2) % 4, so that the copies and the
//          64 bytes each: 16 channels, one tap    reads of ldmatrix meet all 32 banks
//
// Four stages are a ring: while one chunk is multiplied, three are in flight. Sums stay in
// registers; the result is written in the layout of the images, 32 bytes a row of a fragment.
//
//   tile (filters x pixels)   warps   per warp   registers for sums   shared memory
//   64 x 256                  4       64 x 64    128                  80 KiB
//   128 x 128                 4       64 x 64    128                  64 KiB
//   128 x 96                  4       64 x 48    96                   56 KiB
//   64 x 128                  4       32 x 64    64                   48 KiB
//
// and in fp32, where sums are added in parts (warp_sums.cuh):
//
//   64 x 96                   4       32 x 48    48, twice            40 KiB
//   32 x 192                  4       32 x 48    48, twice            56 KiB
//
// rungs/implicit_gemm_tensor_core.cu puts a call in these terms.
#include <algorithm>
#include <utility>

#include "engine/launch.h"
#include "kernels/conv/tensor_core/warp_sums.cuh"
#include "kernels/conv/tensor_core/window_product.cuh"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda {
namespace {

template <int kM_, int kN_, int kWarpRows_, int kWarpColumns_, int kBlocks_, int kStages_>
struct StencilTile {
  static constexpr int kM = kM_, kN = kN_, kStages = kStages_;
  static constexpr int kWarpRows = kWarpRows_, kWarpColumns = kWarpColumns_;
  static constexpr int kThreads = 32 * kWarpRows * kWarpColumns;
  static constexpr int kBlocks = kBlocks_;  // of an SM, for the registers
  static constexpr int kWarpM = kM / kWarpRows, kWarpN = kN / kWarpColumns;
  static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 8;
  static constexpr int kRowsOfThreads = kThreads / kCellQuads;
  static constexpr int kStageBytes = (kM + kN) * kCellBytes;
  static constexpr std::size_t kBytes = std::size_t{kStages} * kStageBytes;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "fragments come in pairs along n");
  static_assert(kM % kRowsOfThreads == 0 && kN % kRowsOfThreads == 0, "threads copy alike");
  static_assert(kRowsOfThreads % 8 == 0, "a thread's rows share their exchange of quads");
};
using Tile64x256 = StencilTile<64, 256, 1, 4, 2, 4>;
using Tile128x128 = StencilTile<128, 128, 2, 2, 2, 4>;
using Tile128x96 = StencilTile<128, 96, 2, 2, 2, 4>;
using Tile64x128 = StencilTile<64, 128, 2, 2, 3, 4>;
using Tile64x96 = StencilTile<64, 96, 2, 2, 3, 4>;
using Tile32x192 = StencilTile<32, 192, 1, 4, 3, 4>;

// The copies of one thread: a quad of some rows of filters and of some windows.
template <class Tile>
struct ChunkCopies {
  static constexpr int kRowsA = Tile::kM / Tile::kRowsOfThreads;
  static constexpr int kRowsB = Tile::kN / Tile::kRowsOfThreads;

  const uint4* filters;     // of the next chunk, this thread's first quad
  const uint4* source;      // of the next chunk, pixel offset 0
  unsigned offset[kRowsB];  // of the windows, in quads
  std::uint32_t shared;     // this thread's quad of row 0 of a stage
  int r = 0, s = 0;         // tap of the next chunk

  __device__ ChunkCopies(const Stencil& p, std::uint32_t stages, int row0, int column0)
      : filters(p.filters + row0 * kCellQuads + threadIdx.x), source(p.source) {
    const int row = threadIdx.x / kCellQuads, quad = threadIdx.x % kCellQuads;
    shared = stages + row * kCellBytes + (quad ^ (row / 2 % kCellQuads)) * 16;
#pragma unroll
    for (int i = 0; i < kRowsB; ++i) {
      // Columns behind the last repeat it and are not stored.
      const int column = min(column0 + row + i * Tile::kRowsOfThreads, p.lattice.columns - 1);
      int pixel = 0, b = 0;
      const int image = p.lattice.by_pixels.divide(column, pixel);
      const int a = p.lattice.by_width.divide(pixel, b);
      const int cell = image * p.groups * p.plane + p.origin + a * p.row_step + b * p.column_step;
      offset[i] = static_cast<unsigned>(cell) * kCellQuads + quad;
    }
  }

  __device__ __forceinline__ void start(const Stencil& p, int stage) {
    const std::uint32_t to = shared + stage * Tile::kStageBytes;
#pragma unroll
    for (int i = 0; i < kRowsA; ++i) {
      device::copy_quad<false>(to + i * Tile::kRowsOfThreads * kCellBytes,
                               filters + i * Tile::kThreads);
    }
#pragma unroll
    for (int i = 0; i < kRowsB; ++i) {
      device::copy_quad<true>(to + (Tile::kM + i * Tile::kRowsOfThreads) * kCellBytes,
                              source + offset[i]);
    }
    filters += p.padded_rows * kCellQuads;
    int cells = 1;
    if (++s == p.taps_w) {
      s = 0;
      cells += p.row_pitch - p.taps_w;
      if (++r == p.taps_h) {
        r = 0;
        cells += p.plane - p.taps_h * p.row_pitch;
      }
    }
    source += std::int64_t{cells} * kCellQuads;
  }
};

template <class Tile, ComputeMode kMode>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks) stencil_kernel(Stencil p) {
  // kStages x (kM rows of filters, kN windows) x 4 quads
  const std::uint32_t stages = device::shared_address(device::dynamic_shared<uint4>());
  const int row0 = static_cast<int>(blockIdx.x % p.row_tiles) * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x / p.row_tiles) * Tile::kN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / Tile::kWarpColumns * Tile::kWarpM;
  const int warp_column = warp % Tile::kWarpColumns * Tile::kWarpN;
  ChunkCopies<Tile> copies(p, stages, row0, column0);

  // Rows whose quads this lane names to ldmatrix: of A rows 0-7 and 8-15 at the first quad, then
  // both at the second; of B the two quads of rows 0-7, then of rows 8-15.
  const int exchange = lane / 2 % 4;
  const std::uint32_t a_lane = (warp_row + lane % 16) * kCellBytes + (lane / 16 ^ exchange) * 16;
  const std::uint32_t b_lane = (Tile::kM + warp_column + lane / 16 * 8 + lane % 8) * kCellBytes +
                               (lane / 8 % 2 ^ exchange) * 16;

  const int chunks = p.groups * p.taps_h * p.taps_w;
  const auto copy = [&](int chunk) {
    if (chunk < chunks) copies.start(p, chunk % Tile::kStages);
    device::async_commit();  // also when empty, so that the groups count the chunks
  };
  FragmentSums<kMode, Tile::kFragmentsM, Tile::kFragmentsN> sums;
#pragma unroll
  for (int chunk = 0; chunk < Tile::kStages - 1; ++chunk) copy(chunk);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    device::async_wait<Tile::kStages - 2>();
    __syncthreads();  // this chunk is there for all, and the previous one read by all
    copy(chunk + Tile::kStages - 1);  // into the stage of the previous chunk
    const std::uint32_t stage = stages + chunk % Tile::kStages * Tile::kStageBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t a[Tile::kFragmentsM][4], b[Tile::kFragmentsN / 2][4];
#pragma unroll
      for (int i = 0; i < Tile::kFragmentsM; ++i) {
        device::load_matrices(a[i], stage + (a_lane ^ half * 32) + i * 16 * kCellBytes);
      }
#pragma unroll
      for (int j = 0; j < Tile::kFragmentsN / 2; ++j) {
        device::load_matrices(b[j], stage + (b_lane ^ half * 32) + j * 16 * kCellBytes);
      }
      sums.multiply(a, b);
    }
    if (chunk % kChunksOfPart == kChunksOfPart - 1 || chunk + 1 == chunks) sums.end_part();
  }
  device::async_wait<0>();

  const Lattice& to = p.lattice;
  float offset[Tile::kFragmentsM][2];
#pragma unroll
  for (int i = 0; i < 2 * Tile::kFragmentsM; ++i) {
    const int row = row0 + warp_row + 8 * i + lane / 4;
    offset[i / 2][i % 2] = to.bias != nullptr && row < p.rows ? to.bias[row] : 0.0f;
  }
#pragma unroll
  for (int j = 0; j < Tile::kFragmentsN; ++j) {
    const int column = column0 + warp_column + 8 * j + 2 * (lane % 4);
    if (column >= to.columns) continue;
    float* first = to.at(column);
    float* second = to.pairs || column + 1 >= to.columns ? nullptr : to.at(column + 1);
#pragma unroll
    for (int i = 0; i < 2 * Tile::kFragmentsM; ++i) {
      const int row = row0 + warp_row + 8 * i + lane / 4;
      if (row >= p.rows) continue;
      const float bias = offset[i / 2][i % 2];
      const float one = sums.at(i / 2, j, i % 2 * 2), two = sums.at(i / 2, j, i % 2 * 2 + 1);
      float* at = first + row * to.plane;
      if (to.pairs) {
        *reinterpret_cast<float2*>(at) = {to.finished(one, bias, at),
                                          to.finished(two, bias, at + 1)};
        continue;
      }
      *at = to.finished(one, bias, at);
      if (second == nullptr) continue;
      at = second + row * to.plane;
      *at = to.finished(two, bias, at);
    }
  }
}

template <class Tile, ComputeMode kMode>
void launch_stencil(Stencil p, const Stream& stream) {
  p.row_tiles = divide_up(p.rows, Tile::kM);
  const std::int64_t column_tiles = divide_up(std::int64_t{p.lattice.columns}, Tile::kN);
  const Launch config{dim3(static_cast<unsigned>(p.row_tiles * column_tiles)), dim3(Tile::kThreads),
                      Tile::kBytes, stream};
  launch(stencil_kernel<Tile, kMode>, config, p);
}

// Time of a tile's blocks, in units of their arithmetic: an SM runs kBlocks of them at a time, and
// fewer leave part of it idle. `overhead`: of a smaller tile, which is copied and read more often.
template <class Tile>
double tile_cost(const Stencil& p, std::int64_t processors, double overhead) {
  const std::int64_t rows = divide_up(p.rows, Tile::kM);
  const std::int64_t columns = divide_up(std::int64_t{p.lattice.columns}, Tile::kN);
  const std::int64_t rounds = divide_up(rows * columns, processors);  // on the busiest SM
  const double idle = rounds % Tile::kBlocks == 0 ? 0 : 0.4;
  return (static_cast<double>(rounds) + idle) * Tile::kM * Tile::kN * overhead;
}

template <ComputeMode kMode>
void run_rounded(const Stencil& p, const Stream& stream) {
  const std::int64_t processors = std::max(1, device_properties(stream.device()).multiprocessors);
  using Run = void (*)(Stencil, const Stream&);
  const std::pair<double, Run> choices[] = {
      {tile_cost<Tile64x256>(p, processors, 1.03), launch_stencil<Tile64x256, kMode>},
      {tile_cost<Tile128x128>(p, processors, 1.0), launch_stencil<Tile128x128, kMode>},
      {tile_cost<Tile128x96>(p, processors, 1.05), launch_stencil<Tile128x96, kMode>},
      {tile_cost<Tile64x128>(p, processors, 1.25), launch_stencil<Tile64x128, kMode>}};
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::ranges::min_element(choices, less)->second(p, stream);
}

}  // namespace

void run_stencil(const Stencil& p, ComputeMode mode, const Stream& stream) {
  if (mode == ComputeMode::bf16) return run_rounded<ComputeMode::bf16>(p, stream);
  if (mode == ComputeMode::tf32) return run_rounded<ComputeMode::tf32>(p, stream);
  const bool half_full = (p.rows - 1) % Tile64x96::kM < Tile32x192::kM;
  const auto run = half_full ? launch_stencil<Tile32x192, ComputeMode::fp32>
                             : launch_stencil<Tile64x96, ComputeMode::fp32>;
  run(p, stream);
}

}  // namespace weft::kernels::cuda

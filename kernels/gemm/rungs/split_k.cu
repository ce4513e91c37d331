// SPDX-License-Identifier: MIT
// GEMM, rung "split_k": blocks share the k of a tile and reduce within the kernel.
//
// A product whose C has few tiles leaves most SMs idle, however long its k. Here a tile of 64 x 64
// belongs to up to 32 blocks, each with a range of k. Every block writes its part to scratch memory
// and raises the tile's counter; the one that finds itself last adds all parts in the order of k
// and finishes the tile, while they are still in the L2 cache. Which block comes last may change
// from run to run, the order of the sum does not. Scratch memory is taken from the stream's pool.
#include <algorithm>

#include "engine/device.h"
#include "engine/launch.h"
#include "engine/stream.h"
#include "kernels/device/register_tile.cuh"
#include "kernels/gemm/parts/quad_stream.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile = device::RegisterTile<64, 64, 16, 8, 4>;  // 128 threads, 17 KiB of shared memory
constexpr int kTileFloats = Tile::kM * Tile::kN;
constexpr std::int64_t kMaxSplits = 32;
constexpr std::int64_t kLeastDepth = 64;  // of a split

struct Split {
  std::int64_t depth;  // of k in a block, a multiple of Tile::kK
  int count;           // blocks of a tile
};

// Writes this block's part of a tile; the last block of the tile adds all parts and finishes it.
// All threads of the block call it.
__device__ __forceinline__ void reduce_parts(const GemmOutput& out, float* tile_parts, int part,
                                             int parts, unsigned* counter,
                                             const float (&sum)[Tile::kThreadM][Tile::kThreadN],
                                             float* shared, const device::TilePlace<Tile>& place,
                                             std::int64_t row0, std::int64_t column0) {
  __shared__ bool last;
  device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
    float* to = tile_parts + part * kTileFloats + row * Tile::kN + column;
    *reinterpret_cast<float4*>(to) = quad;
  });
  __threadfence();  // this thread's part is seen by all before the counter moves
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(counter, 1u) == static_cast<unsigned>(parts - 1);
  __syncthreads();
  if (!last) return;
  __threadfence();  // the counter was read before the parts of the other blocks are
  for (int q = static_cast<int>(threadIdx.x); q < kTileFloats / 4; q += Tile::kThreads) {
    float4 total = make_float4(0, 0, 0, 0);
    for (int s = 0; s < parts; ++s) {
      const float4 v = __ldcg(reinterpret_cast<const float4*>(tile_parts + s * kTileFloats) + q);
      total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
    }
    store_quad(out, row0 + q / (Tile::kN / 4), column0 + q % (Tile::kN / 4) * 4, total);
  }
}

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, 4)
    gemm_split_k_kernel(GemmOutput out, float* __restrict__ parts,  // (tiles, splits, 64, 64)
                        unsigned* __restrict__ counters,            // (tiles,), 0 at first
                        const float* __restrict__ a, const float* __restrict__ b, std::int64_t k,
                        std::int64_t lda, std::int64_t ldb, std::int64_t column_tiles,
                        Split split) {
  alignas(16) __shared__ float shared[Tile::kSharedFloats];
  const std::int64_t tile = blockIdx.x / split.count;
  const int part = static_cast<int>(blockIdx.x % split.count);
  const std::int64_t row0 = tile / column_tiles * Tile::kM;
  const std::int64_t column0 = tile % column_tiles * Tile::kN;
  const std::int64_t k_begin = part * split.depth, k_end = min(k, k_begin + split.depth);
  const device::TilePlace<Tile> place(static_cast<int>(threadIdx.x));
  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  const auto multiply = [&](auto& sums, const float* stage) {
    device::multiply_chunk<Tile>(sums, stage, place);
  };
  multiply_by_quads<Tile, decltype(multiply), kTransposeA, kTransposeB>(
      sum, shared, a, b, row0, column0, out.m, out.n, k_begin, k_end, lda, ldb, multiply);
  if (split.count > 1) {
    reduce_parts(out, parts + tile * split.count * kTileFloats, part, split.count, counters + tile,
                 sum, shared, place, row0, column0);
  } else {
    device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
      store_quad(out, row0 + row, column0 + column, quad);
    });
  }
}

}  // namespace

void gemm_split_k(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                  const GemmOptions& options, const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options);
  const std::int64_t row_tiles = divide_up(dims.m, Tile::kM);
  const std::int64_t column_tiles = divide_up(dims.n, Tile::kN);
  const std::int64_t tiles = row_tiles * column_tiles;
  // Two blocks for each SM, as far as k can be divided.
  const std::int64_t wanted = 2 * device_properties(stream.device()).multiprocessors / tiles;
  const std::int64_t splits =
      std::max<std::int64_t>(1, std::min({wanted, kMaxSplits, dims.k / kLeastDepth}));
  const std::int64_t chunks = divide_up(dims.k, Tile::kK);
  Split split{divide_up(chunks, splits) * Tile::kK, 1};
  if (splits > 1) split.count = static_cast<int>(divide_up(dims.k, split.depth));

  const std::size_t counter_bytes =
      round_up(static_cast<std::size_t>(tiles) * sizeof(unsigned), 256);
  const std::size_t part_bytes =
      static_cast<std::size_t>(tiles * split.count) * kTileFloats * sizeof(float);
  const Buffer scratch(split.count > 1 ? counter_bytes + part_bytes : 0, stream);
  unsigned* counters = static_cast<unsigned*>(scratch.data());
  float* parts = nullptr;
  if (split.count > 1) {
    parts = static_cast<float*>(scratch.data()) + counter_bytes / sizeof(float);
    zero_bytes(counters, counter_bytes, stream);
  }
  const Launch config{blocks_for(tiles * split.count, 1), Tile::kThreads, 0, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(gemm_split_k_kernel<transpose_a(), transpose_b()>, config, out, parts, counters, a, b,
           dims.k, dims.lda, dims.ldb, column_tiles, split);
  });
}

}  // namespace weft::kernels::cuda

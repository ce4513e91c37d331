// SPDX-License-Identifier: MIT
// GEMM, rungs "wgmma_bf16", "wgmma_tf32", "wgmma_tf32x3" and "wgmma_fp16x3": what they share.
// sm_90a.
//
// The tensor cores of Hopper read their operands from shared memory and the copy engine (TMA) fills
// it, so that threads only direct. A block of three warpgroups stays on its SM and computes tile
// after tile: warpgroup 0 produces, one thread starting copies into a ring of stages; warpgroups 1
// and 2 consume, each multiplying its 64 rows of the (128, kN) tile, with the sums in registers.
//
//   for each stage of 128 bytes of k:    producer                  consumer
//                                        wait until empty          wait until full
//                                        expect bytes, copy A, B   4 products, the newest in flight
//                                                                  stage before: empty
//
//   tile        sums in registers  stage    stages   shared memory   L2 reads for a product
//   128 x 256   128                48 KiB   4        192 KiB         1; 0.67 where B is shared
//   128 x 128   64                 32 KiB   7        224 KiB         1.33; 1 where B is shared
//   64 x 128    64                 24 KiB   8        192 KiB         2
//
// The small tile has one consumer: two would each read all of the operand that they share. Sums of
// the largest tile in bf16 reach memory through the copy engine and 32 KiB more, while the block
// multiplies on.
//
// Two blocks of a cluster that compute tiles one above the other share B: each copies half of it
// for both. Tiles are taken in groups of eight rows, so that blocks that run together share
// operands in L2.
//
// A product of 1024 cubed takes 2 us of tensor cores and 3 us of everything else: starting, the
// latency of the first operands, storing. So the kernel may start while the one before it ends. By
// the time its blocks may read the operands, their barriers are ready, and they have prefetched
// their share into L2. (That is safe if the kernel before has yet to write them: it writes to L2.)
//
// The tensor core reads floats along k only. A left operand that lies along m comes to it through
// registers: threads load their words of the next chunk while it multiplies this one. A right
// operand that lies along n becomes the left one of C^T = B^T A^T, and the sums are stored the
// other way.
//
// Operands of fp32 accuracy (kParts 2) come as stages of their small and their big parts in turn
// (k_major.h). A consumer takes two stages at a time and makes three products of them. Parts of
// fp16 are scaled by a power of two for each row and column of C, which the sums take back.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "engine/cuda/tensor_map.h"
#include "engine/error.h"
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/gemm/hopper/wgmma_consumer.cuh"

namespace weft::kernels::cuda {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Starts this block's copies of an operand's stage: kExtent rows (or columns) from `x` on. Of a
// shared operand it copies half, for both blocks.
template <class Tile, int kExtent, bool kPanels, bool kShared>
__device__ __forceinline__ void wgmma_copy(char* to, const CUtensorMap& map, int x, int k, int rank,
                                           std::uint64_t* full) {
  constexpr int kOwn = kShared ? kExtent / Tile::kCluster : kExtent;
  const int first = kShared ? rank * kOwn : 0;
  const auto load = [&](char* box, int column, int row) {
    if constexpr (kShared) {
      device::tma_load_multicast(box, map, column, row, full, (1 << Tile::kCluster) - 1);
    } else {
      device::tma_load(box, map, column, row, full);
    }
  };
  if constexpr (kPanels) {
    for (int i = first; i < first + kOwn; i += Tile::kPanel) {
      load(to + i / Tile::kPanel * Tile::kPanelBytes, x + i, k);
    }
  } else {
    load(to + first * 128, k, x + first);
  }
}

// Prefetches kExtent rows (or columns) of an operand's chunk into the L2 cache.
template <class Tile, int kExtent, bool kPanels>
__device__ __forceinline__ void wgmma_prefetch(const CUtensorMap& map, int x, int k) {
  if constexpr (kPanels) {
    for (int i = 0; i < kExtent; i += Tile::kPanel) device::tma_prefetch(map, x + i, k);
  } else {
    device::tma_prefetch(map, k, x);
  }
}

#endif

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_kernel(const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b,
                      const __grid_constant__ CUtensorMap map_c,
                      WgmmaOutput<typename Tile::Result> out, int k, WgmmaOrder order) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ char shared[];
  __shared__ std::uint64_t full[Tile::kStages], empty[Tile::kStages];
  char* stages = shared + (1024 - device::shared_address(shared) % 1024) % 1024;
  constexpr bool kClusters = Tile::kCluster > 1;
  const int rank = kClusters ? device::cluster_rank() : 0;
  const int first = blockIdx.x / Tile::kCluster, step = gridDim.x / Tile::kCluster;
  const int chunks = divide_up(k, Tile::kK);
  const auto row_of = [&](int2 place) { return place.x * Tile::kRowsOfCluster + rank * Tile::kM; };
  device::overlap_allow();
  if (threadIdx.x == 0) {
    device::tma_prefetch(map_a);
    device::tma_prefetch(map_b);
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      device::barrier_init(full + stage, 1);
      device::barrier_init(empty + stage, Tile::kConsumers * Tile::kSpeakers * Tile::kCluster);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  if constexpr (kClusters) device::cluster_sync();  // the barriers of both blocks are ready
  if (order.tiles() <= step && threadIdx.x == 0) {  // one tile for each block: few operands
    // Blocks of a row share a part of A, and each prefetches some of its chunks; likewise B. Of a
    // long k only the first chunks are prefetched, since later ones would delay them.
    const int fetched = chunks <= 16 ? chunks : 4;
    const int2 place = order.place(first);
    for (int chunk = place.y; chunk < fetched; chunk += order.columns) {
      wgmma_prefetch<Tile, Tile::kM, Tile::kPanelsA>(map_a, row_of(place), chunk * Tile::kK);
    }
    for (int chunk = place.x; chunk < fetched; chunk += order.rows) {
      wgmma_prefetch<Tile, Tile::kBoxB, Tile::kPanelsB>(
          map_b, place.y * Tile::kN + rank * Tile::kBoxB, chunk * Tile::kK);
    }
  }
  device::overlap_wait();

  if (threadIdx.x < 128) {
    if constexpr (Tile::kConsumers > 1) device::registers_release<40>();
    if (threadIdx.x == 0) {
      device::BarrierRing<Tile::kStages> ring;
      for (int tile = first; tile < order.tiles(); tile += step) {
        const int2 place = order.place(tile);
        const int row = row_of(place), column = place.y * Tile::kN;
        for (int chunk = 0; chunk < chunks; ++chunk, ring.advance()) {
          std::uint64_t* const there = full + ring.stage;
          char* const stage = stages + ring.stage * Tile::kStageBytes;
          device::barrier_wait(empty + ring.stage, ring.parity ^ 1);
          device::barrier_expect(there, Tile::kStageBytes);
          wgmma_copy<Tile, Tile::kM, Tile::kPanelsA, false>(stage, map_a, row, chunk * Tile::kK,
                                                            rank, there);
          wgmma_copy<Tile, Tile::kN, Tile::kPanelsB, Tile::kShareB>(
              stage + Tile::kBytesA, map_b, column, chunk * Tile::kK, rank, there);
        }
      }
    }
  } else {
    if constexpr (Tile::kConsumers > 1) device::registers_take<232>();
    const int thread = threadIdx.x % 128, warpgroup = threadIdx.x / 128 - 1;
    WgmmaConsumer<Tile> consumer{stages, full, empty, thread, warpgroup, {}};
    char* const boxes =
        stages + Tile::kStages * Tile::kStageBytes + warpgroup * 2 * Tile::kBoxBytes;
    for (int tile = first; tile < order.tiles(); tile += step) {
      if (out.mask != nullptr) {
        const int2 place = order.place(tile);
        wgmma_prefetch_mask<Tile::kN, Tile::kRegistersA>(out, row_of(place) + warpgroup * 64,
                                                         place.y * Tile::kN, thread);
      }
      float sum[Tile::kN / 2];
      if constexpr (Tile::kRegistersA) {
        consumer.sum_tile_from_panels(sum, chunks);
      } else if constexpr (Tile::kHalf) {
        consumer.sum_halves(sum, chunks);
        const int2 place = order.place(tile);
        wgmma_unscale<Tile::kN>(sum, out.scales, row_of(place) + warpgroup * 64, place.y * Tile::kN,
                                thread);
      } else if constexpr (Tile::kParts == 1) {
        consumer.sum_tile(sum, chunks);
      } else {
        consumer.sum_parts(sum, chunks);
      }
      const int2 place = order.place(tile);
      wgmma_store<Tile>(out, map_c, boxes, sum, row_of(place) + warpgroup * 64, place.y * Tile::kN,
                        thread);
    }
    if (Tile::kStoresBoxes && thread == 0) device::tma_wait();
  }
  if constexpr (kClusters) device::cluster_sync();  // nobody writes to a block that has left
#else
  (void)map_a, (void)map_b, (void)map_c, (void)out, (void)k, (void)order;
  __trap();
#endif
}

// The tile whose product ends first, by the number of waves and the cost of a tile (its sums, and a
// constant). Blocks that take several tiles gain by clusters: then less traffic from L2 outweighs
// waiting for a neighbour (measured on an H200, NOTES.md).
struct WgmmaShape {
  int rows, columns;
  bool share_b;
};
inline WgmmaShape wgmma_shape(const GemmDims& dims, int widest, const Stream& stream) {
  constexpr std::int64_t kFixed = 32 * 128;
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  WgmmaShape best{};
  std::int64_t best_cost = 0;
  for (const auto& [rows, columns] : {std::pair(128, 256), {128, 128}, {64, 128}}) {
    if (columns > widest) continue;
    const std::int64_t tiles = divide_up(dims.m, rows) * divide_up(dims.n, columns);
    const std::int64_t cost = divide_up(tiles, processors) * (rows * columns + kFixed);
    if (best.rows != 0 && cost >= best_cost) continue;
    best = {rows, columns, rows == 128 && tiles > 2 * processors};
    best_cost = cost;
  }
  return best;
}

// Starts the kernel: one cluster for each that the device holds at once, or for each tile.
template <class Tile>
void launch_wgmma(const WgmmaOutput<typename Tile::Result>& out, const typename Tile::Element* a,
                  const typename Tile::Element* b, const GemmDims& dims, bool overlap,
                  const Stream& stream) {
  constexpr TensorMapType kType = Tile::kHalf    ? TensorMapType::fp16
                                  : Tile::kFloat ? TensorMapType::tf32
                                                 : TensorMapType::bf16;
  const CUtensorMap map_a = Tile::kPanelsA
                                ? matrix_map(a, kType, {dims.k, dims.m, dims.lda}, Tile::kK)
                                : matrix_map(a, kType, {dims.m, dims.k, dims.lda}, Tile::kM);
  const CUtensorMap map_b = Tile::kPanelsB
                                ? matrix_map(b, kType, {dims.k, dims.n, dims.ldb}, Tile::kK)
                                : matrix_map(b, kType, {dims.n, dims.k, dims.ldb}, Tile::kBoxB);
  const CUtensorMap map_c = Tile::kStoresBoxes && out.vector
                                ? matrix_map(out.c, kType, {dims.m, dims.n, dims.ldc}, Tile::kBox)
                                : CUtensorMap{};
  const WgmmaOrder order{static_cast<int>(divide_up(dims.m, Tile::kRowsOfCluster)),
                         static_cast<int>(divide_up(dims.n, Tile::kN))};
  const auto kernel = gemm_wgmma_kernel<Tile>;
  const std::int64_t clusters = std::int64_t{order.rows} * order.columns;
  const int resident =
      resident_clusters(kernel, Tile::kCluster, Tile::kThreads, Tile::kSharedBytes, stream);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(clusters, resident)) *
                      static_cast<unsigned>(Tile::kCluster);
  const Launch config{blocks, Tile::kThreads, Tile::kSharedBytes, stream, Tile::kCluster, overlap};
  launch(kernel, config, map_a, map_b, map_c, out, static_cast<int>(dims.k), order);
}

// run(rows, columns, whether B is shared) of the shape, as integral constants.
template <int kWidest, class Run>
void with_wgmma_shape(const GemmDims& dims, const Stream& stream, const Run& run) {
  using std::integral_constant, std::true_type, std::false_type;
  const WgmmaShape shape = wgmma_shape(dims, kWidest, stream);
  const integral_constant<int, 128> whole;
  if (shape.rows == 64) return run(integral_constant<int, 64>(), whole, false_type());
  const auto shared = [&](auto columns) {
    shape.share_b ? run(whole, columns, true_type()) : run(whole, columns, false_type());
  };
  if (shape.columns == 128) return shared(whole);
  if constexpr (kWidest == 256) shared(integral_constant<int, 256>());
}

}  // namespace weft::kernels::cuda

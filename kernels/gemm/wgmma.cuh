// SPDX-License-Identifier: MIT
// GEMM, rungs "wgmma_bf16", "wgmma_tf32" and "wgmma_tf32x3": what they share. sm_90a.
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
//   128 x 64    32                 24 KiB   8        192 KiB         2
//
// Two blocks of a cluster that compute tiles one above the other share B, of which each copies half
// for both. Tiles are taken in groups of eight rows, so that blocks that run together share
// operands in L2.
//
// A product of 1024 cubed takes 2 us of tensor cores and 3 us of everything else: starting, the way
// to the first operands in memory, storing. So the kernel may start while the one before it ends.
// Its blocks have their barriers ready, and have called their share of the operands to the L2
// cache, by the time they may read them. (If the kernel before has yet to write them: the L2 cache
// is where it writes.)
//
// Operands of fp32 accuracy (kParts 2) come as stages of their small and their big parts in turn
// (k_major.h). A consumer takes two stages at a time and makes three products of them.
#pragma once

#include <algorithm>

#include "engine/error.h"
#include "engine/launch_cluster.h"
#include "engine/launch_overlap.h"
#include "engine/tensor_map.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/gemm/wgmma_store.cuh"

namespace weft::kernels::cuda {

template <class Element_, int kN_, bool kTransposeA_, bool kTransposeB_, bool kShareB_,
          int kParts_ = 1>
struct WgmmaTile {
  using Element = Element_;
  static constexpr bool kBf16 = sizeof(Element) == 2;
  // A and B that are contiguous along m or n lie in shared memory as panels of 128 bytes.
  static constexpr bool kPanelsA = kTransposeA_, kPanelsB = !kTransposeB_;
  static_assert(kBf16 || (!kPanelsA && !kPanelsB), "tf32 operands are contiguous along k");
  static constexpr int kParts = kParts_;
  static_assert(kParts == 1 || kN_ <= 128, "sums of a chunk and their totals are in registers");
  static constexpr int kM = 128, kN = kN_, kK = 128 / sizeof(Element);
  static constexpr bool kShareB = kShareB_;
  static constexpr int kCluster = kShareB ? 2 : 1;
  static constexpr int kRowsOfCluster = kCluster * kM;
  static constexpr int kBoxB = kN / kCluster;  // of B, what one copy brings
  static constexpr int kThreads = 384;
  static constexpr int kBytesA = kM * 128, kBytesB = kN * 128, kStageBytes = kBytesA + kBytesB;
  static constexpr int kStages = kN == 256 ? 4 : kN == 128 ? 7 : 8;
  static constexpr std::size_t kSharedBytes = kStages * kStageBytes + 1024;  // to align
  static constexpr int kPanelBytes = kK * 128;
  static constexpr int kPanel = 128 / sizeof(Element);  // elements of a panel along m or n
};

// The order in which clusters of tiles are taken.
struct WgmmaOrder {
  static constexpr int kGroup = 8;  // rows of clusters
  int rows, columns;                // clusters along m and n

  __device__ int tiles() const { return rows * columns; }
  __device__ int2 place(int tile) const {
    const int group = tile / (kGroup * columns), inside = tile % (kGroup * columns);
    const int height = min(kGroup, rows - group * kGroup);
    return {group * kGroup + inside % height, inside / height};
  }
};

template <int kStages>
struct WgmmaRing {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Starts this block's copies of an operand's stage: kExtent rows (or columns) from `x` on, all of
// them or, of a shared one, its half for both blocks.
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

// Calls kExtent rows (or columns) of an operand's chunk to the L2 cache.
template <class Tile, int kExtent, bool kPanels>
__device__ __forceinline__ void wgmma_prefetch(const CUtensorMap& map, int x, int k) {
  if constexpr (kPanels) {
    for (int i = 0; i < kExtent; i += Tile::kPanel) device::tma_prefetch(map, x + i, k);
  } else {
    device::tma_prefetch(map, k, x);
  }
}

// Multiplies what stages hold: this warpgroup's 64 rows of A with B.
template <class Tile>
__device__ __forceinline__ void wgmma_multiply(float (&sum)[Tile::kN / 2], const char* stage_a,
                                               const char* stage_b, int warpgroup,
                                               bool accumulate) {
  // 16 (or 8) k further: 32 bytes along a row, or as many rows of a panel.
  constexpr int kStepA = (Tile::kPanelsA ? 16 * 128 : 32) / 16;
  constexpr int kStepB = (Tile::kPanelsB ? 16 * 128 : 32) / 16;
  const std::uint64_t a =
      device::wgmma_descriptor(stage_a + warpgroup * (Tile::kBytesA / 2), Tile::kPanelBytes);
  const std::uint64_t b = device::wgmma_descriptor(stage_b + Tile::kBytesA, Tile::kPanelBytes);
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    if constexpr (Tile::kBf16) {
      device::wgmma_bf16<Tile::kN, Tile::kPanelsA, Tile::kPanelsB>(
          sum, a + step * kStepA, b + step * kStepB, accumulate || step > 0);
    } else {
      device::wgmma_tf32<Tile::kN>(sum, a + step * kStepA, b + step * kStepB,
                                   accumulate || step > 0);
    }
  }
}

// What a consumer reads, and whom it tells.
template <class Tile>
struct WgmmaConsumer {
  const char* stages;
  std::uint64_t *full, *empty;
  int thread, warpgroup;  // of the consumers
  WgmmaRing<Tile::kStages> ring;

  // The next stage, when it is full.
  __device__ __forceinline__ int take() {
    const int stage = ring.stage;
    device::barrier_wait(full + stage, ring.parity);
    ring.advance();
    return stage;
  }
  __device__ __forceinline__ const char* at(int stage) const {
    return stages + stage * Tile::kStageBytes;
  }
  // The tensor core works for the four warps of a warpgroup together: one thread speaks for all.
  __device__ __forceinline__ void release(int stage) const {
    if constexpr (Tile::kCluster > 1) {
      if (thread < Tile::kCluster) device::barrier_arrive(empty + stage, thread);
    } else {
      if (thread == 0) device::barrier_arrive(empty + stage);
    }
  }

  __device__ __forceinline__ void sum_tile(float (&sum)[Tile::kN / 2], int chunks) {
    int before = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int stage = take();
      device::wgmma_fence();
      wgmma_multiply<Tile>(sum, at(stage), at(stage), warpgroup, chunk > 0);
      device::wgmma_commit();
      device::wgmma_wait<1>();  // the products of the stage before are done
      if (chunk > 0) release(before);
      before = stage;
    }
    device::wgmma_wait<0>();
    release(before);
  }

  // The same with operands in two parts. The tensor core cuts off where fp32 rounds, so that it
  // only sums a chunk, the small products first; fp32 additions do the rest, while the other
  // warpgroup has the tensor core.
  __device__ __forceinline__ void sum_parts(float (&sum)[Tile::kN / 2], int chunks) {
#pragma unroll
    for (float& total : sum) total = 0;
    for (int chunk = 0; chunk < chunks; chunk += 2) {
      const int small = take(), big = take();
      float of_chunk[Tile::kN / 2];
      device::wgmma_fence();
      wgmma_multiply<Tile>(of_chunk, at(small), at(big), warpgroup, false);
      wgmma_multiply<Tile>(of_chunk, at(big), at(small), warpgroup, true);
      wgmma_multiply<Tile>(of_chunk, at(big), at(big), warpgroup, true);
      device::wgmma_commit();
      device::wgmma_wait<0>();
      release(small);
      release(big);
      device::wgmma_results(of_chunk);
#pragma unroll
      for (int i = 0; i < Tile::kN / 2; ++i) sum[i] += of_chunk[i];
    }
  }
};

#endif

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, 1)
    gemm_wgmma_kernel(const __grid_constant__ CUtensorMap map_a,
                      const __grid_constant__ CUtensorMap map_b,
                      WgmmaOutput<typename Tile::Element> out, int k, WgmmaOrder order) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  extern __shared__ char shared[];
  __shared__ std::uint64_t full[Tile::kStages], empty[Tile::kStages];
  char* stages = shared + (1024 - device::shared_address(shared) % 1024) % 1024;
  constexpr bool kClusters = Tile::kCluster > 1;
  const int rank = kClusters ? device::cluster_rank() : 0;
  const int first = blockIdx.x / Tile::kCluster, step = gridDim.x / Tile::kCluster;
  const int chunks = (k + Tile::kK - 1) / Tile::kK;
  const auto row_of = [&](int2 place) { return place.x * Tile::kRowsOfCluster + rank * Tile::kM; };
  device::overlap_allow();
  if (threadIdx.x == 0) {
    device::tma_prefetch(map_a);
    device::tma_prefetch(map_b);
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      device::barrier_init(full + stage, 1);
      device::barrier_init(empty + stage, 2 * Tile::kCluster);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  if constexpr (kClusters) device::cluster_sync();  // the barriers of both blocks are ready
  if (order.tiles() <= step && threadIdx.x == 0) {  // one tile for each block: few operands
    // Blocks of a row share a part of A, of which each calls some chunks; likewise B.
    const int2 place = order.place(first);
    for (int chunk = place.y; chunk < chunks; chunk += order.columns) {
      wgmma_prefetch<Tile, Tile::kM, Tile::kPanelsA>(map_a, row_of(place), chunk * Tile::kK);
    }
    for (int chunk = place.x; chunk < chunks; chunk += order.rows) {
      wgmma_prefetch<Tile, Tile::kBoxB, Tile::kPanelsB>(
          map_b, place.y * Tile::kN + rank * Tile::kBoxB, chunk * Tile::kK);
    }
  }
  device::overlap_wait();

  if (threadIdx.x < 128) {
    device::registers_release<40>();
    if (threadIdx.x == 0) {
      WgmmaRing<Tile::kStages> ring;
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
    device::registers_take<232>();
    const int thread = threadIdx.x % 128, warpgroup = threadIdx.x / 128 - 1;
    WgmmaConsumer<Tile> consumer{stages, full, empty, thread, warpgroup, {}};
    for (int tile = first; tile < order.tiles(); tile += step) {
      float sum[Tile::kN / 2];
      if constexpr (Tile::kParts == 1) {
        consumer.sum_tile(sum, chunks);
      } else {
        consumer.sum_parts(sum, chunks);
      }
      const int2 place = order.place(tile);
      wgmma_store<Tile::kN>(out, sum, row_of(place) + warpgroup * 64, place.y * Tile::kN, thread);
    }
  }
  if constexpr (kClusters) device::cluster_sync();  // nobody writes to a block that has left
#else
  (void)map_a, (void)map_b, (void)out, (void)k, (void)order;
  __trap();
#endif
}

// The tile that ends first, by the number of waves and what a tile costs (its columns and what does
// not depend on them). Blocks that take several tiles gain by clusters: then less traffic from L2
// outweighs waiting for a neighbour (measured on an H200, README.md).
struct WgmmaShape {
  int width;
  bool share_b;
};
inline WgmmaShape wgmma_shape(const GemmDims& dims, int widest, const Stream& stream) {
  constexpr std::int64_t kFixed = 32;
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  const auto tiles = [&](int width) {
    return (dims.m + 127) / 128 * ((dims.n + width - 1) / width);
  };
  int best = 0;
  std::int64_t best_cost = 0;
  for (const int width : {256, 128, 64}) {
    if (width > widest) continue;
    const std::int64_t cost = (tiles(width) + processors - 1) / processors * (width + kFixed);
    if (best == 0 || cost < best_cost) best = width, best_cost = cost;
  }
  return {best, best >= 128 && tiles(best) > 2 * processors};
}

// Starts the kernel: one cluster for each that the device holds at once, or for each tile.
template <class Tile>
void launch_wgmma(const WgmmaOutput<typename Tile::Element>& out, const typename Tile::Element* a,
                  const typename Tile::Element* b, const GemmDims& dims, bool overlap,
                  const Stream& stream) {
  constexpr TensorMapType kType = Tile::kBf16 ? TensorMapType::bf16 : TensorMapType::tf32;
  const CUtensorMap map_a = Tile::kPanelsA
                                ? matrix_map(a, kType, {dims.k, dims.m, dims.lda}, Tile::kK)
                                : matrix_map(a, kType, {dims.m, dims.k, dims.lda}, Tile::kM);
  const CUtensorMap map_b = Tile::kPanelsB
                                ? matrix_map(b, kType, {dims.k, dims.n, dims.ldb}, Tile::kK)
                                : matrix_map(b, kType, {dims.n, dims.k, dims.ldb}, Tile::kBoxB);
  const WgmmaOrder order{
      static_cast<int>((dims.m + Tile::kRowsOfCluster - 1) / Tile::kRowsOfCluster),
      static_cast<int>((dims.n + Tile::kN - 1) / Tile::kN)};
  const auto kernel = gemm_wgmma_kernel<Tile>;
  const std::int64_t clusters = std::int64_t{order.rows} * order.columns;
  const int resident =
      resident_clusters(kernel, Tile::kCluster, Tile::kThreads, Tile::kSharedBytes, stream);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(clusters, resident)) *
                      static_cast<unsigned>(Tile::kCluster);
  launch_overlapped(kernel, overlap, Tile::kCluster,
                    {blocks, Tile::kThreads, Tile::kSharedBytes, stream}, map_a, map_b, out,
                    static_cast<int>(dims.k), order);
}

// run(the width as an integral_constant, whether B is shared as another) of the shape.
template <int kWidest, class Run>
void with_wgmma_shape(const GemmDims& dims, const Stream& stream, const Run& run) {
  using std::false_type, std::true_type;
  const WgmmaShape shape = wgmma_shape(dims, kWidest, stream);
  if (shape.width == 64) return run(std::integral_constant<int, 64>(), false_type());
  const auto shared = [&](auto width) {
    shape.share_b ? run(width, true_type()) : run(width, false_type());
  };
  if (shape.width == 128) return shared(std::integral_constant<int, 128>());
  if constexpr (kWidest == 256) shared(std::integral_constant<int, 256>());
}

}  // namespace weft::kernels::cuda

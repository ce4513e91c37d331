// SPDX-License-Identifier: MIT
// GEMM, rungs "wgmma_bf16" and "wgmma_tf32": what they share. sm_90a.
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
//   tile        sums in registers  stage    stages   shared memory
//   128 x 256   128                48 KiB   4        192 KiB
//   128 x 128   64                 32 KiB   7        224 KiB
//   128 x 64    32                 24 KiB   8        192 KiB
//
// In a cluster of two blocks, which compute one above the other, each copies half of B for both.
// Tiles are taken in groups of eight rows, so that blocks that run together share operands in L2.
#pragma once

#include <algorithm>

#include "engine/error.h"
#include "engine/launch_cluster.h"
#include "engine/tensor_map.h"
#include "kernels/bfloat16.h"
#include "kernels/device/quad.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/gemm/cuda.h"

namespace weft::kernels::cuda {

template <class Element_, int kN_, bool kTransposeA_, bool kTransposeB_, int kCluster_>
struct WgmmaTile {
  using Element = Element_;
  static constexpr bool kBf16 = sizeof(Element) == 2;
  // A and B that are contiguous along m or n lie in shared memory as panels of 128 bytes.
  static constexpr bool kPanelsA = kTransposeA_, kPanelsB = !kTransposeB_;
  static_assert(kBf16 || (!kPanelsA && !kPanelsB), "tf32 operands are contiguous along k");
  static constexpr int kM = 128, kN = kN_, kK = 128 / sizeof(Element);
  static constexpr int kCluster = kCluster_;
  static constexpr int kThreads = 384;
  static constexpr int kBytesA = kM * 128, kBytesB = kN * 128, kStageBytes = kBytesA + kBytesB;
  static constexpr int kStages = kN == 256 ? 4 : kN == 128 ? 7 : 8;
  static constexpr std::size_t kSharedBytes = kStages * kStageBytes + 1024;  // to align
  static constexpr int kPanelBytes = kK * 128;
  static constexpr int kPanel = 128 / sizeof(Element);  // elements of a panel along m or n
};

// Where and how sums are stored: C = mask(epilogue(alpha * sum + beta * C + bias)).
template <class Element>
struct WgmmaOutput {
  Element* c;         // (m, n), ldc
  const float* bias;  // (n,) or null
  const float* mask;  // (m, n), ldc, or null
  std::int64_t ldc;
  int m, n;
  float alpha, beta;
  bool relu;
  bool vector;  // rows of C and of the mask start on 16-byte boundaries
};

__device__ __forceinline__ float load_element(const float* from) {
  return *from;
}
__device__ __forceinline__ float load_element(const Bfloat16* from) {
  return __uint_as_float(std::uint32_t{from->bits} << 16);
}
__device__ __forceinline__ void store_element(float* to, float value) {
  *to = value;
}
__device__ __forceinline__ void store_element(Bfloat16* to, float value) {
  to->bits = static_cast<std::uint16_t>(device::bf16_pair(value, 0));
}

// Stores the sum for (row, column), which may lie outside of C.
template <class Element>
__device__ __forceinline__ void store_one(const WgmmaOutput<Element>& out, int row, int column,
                                          float sum) {
  if (row >= out.m || column >= out.n) return;
  Element* to = out.c + row * out.ldc + column;
  float value = out.alpha * sum;
  if (out.beta != 0) value += out.beta * load_element(to);
  if (out.bias != nullptr) value += out.bias[column];
  if (out.relu && value < 0) value = 0;  // keeps NaN
  if (out.mask != nullptr && !(out.mask[row * out.ldc + column] > 0)) value = 0;
  store_element(to, value);
}

// Stores one row of a lane's sums, pairs at 8 j + 2 member from `column` on, all inside of C. The
// four lanes of a row trade pairs, so that each stores 16 bytes of neighbours.
template <int kN>
__device__ __forceinline__ void store_row(Bfloat16* to, const float (&sum)[kN / 2], int half,
                                          int member) {
#pragma unroll
  for (int j = 0; j < kN / 8; j += 4) {
    std::uint32_t pair[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * (j + i) + 2 * half;
      pair[i] = device::bf16_pair(sum[at], sum[at + 1]);
    }
    device::transpose_quad(pair, member);  // the pairs of block j + member
    *reinterpret_cast<uint4*>(to + 8 * (j + member)) = {pair[0], pair[1], pair[2], pair[3]};
  }
}
template <int kN>
__device__ __forceinline__ void store_row(float* to, const float (&sum)[kN / 2], int half,
                                          int member) {
  const bool odd = member % 2 == 1;
#pragma unroll
  for (int j = 0; j < kN / 8; j += 2) {
    const int at = 4 * j + 2 * half;
    const float2 first = {sum[at], sum[at + 1]}, second = {sum[at + 4], sum[at + 5]};
    // An even lane stores in block j, an odd one in block j + 1: each sends the other pair.
    float2 other = odd ? first : second;
    other.x = __shfl_xor_sync(0xffffffff, other.x, 1);
    other.y = __shfl_xor_sync(0xffffffff, other.y, 1);
    const float4 quad = odd ? float4{other.x, other.y, second.x, second.y}
                            : float4{first.x, first.y, other.x, other.y};
    *reinterpret_cast<float4*>(to + 8 * (j + member % 2) + 4 * (member / 2)) = quad;
  }
}

// Stores a warpgroup's sums, (64, kN) of C from (row0, column0) on.
template <int kN, class Element>
__device__ __forceinline__ void wgmma_store(const WgmmaOutput<Element>& out, float (&sum)[kN / 2],
                                            int row0, int column0, int thread) {
  const int member = thread % 4, row = row0 + thread / 32 * 16 + thread % 32 / 4;
  const bool whole = row0 + 64 <= out.m && column0 + kN <= out.n && out.vector && out.beta == 0;
  if (!whole) {
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) {
      store_one(out, row + i / 2 % 2 * 8, column0 + i / 4 * 8 + 2 * member + i % 2, sum[i]);
    }
    return;
  }
#pragma unroll
  for (int j = 0; j < kN / 8; ++j) {
    float2 bias = {0, 0};
    if (out.bias != nullptr) {
      const float* from = out.bias + column0 + 8 * j + 2 * member;
      bias = {from[0], from[1]};
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& value = sum[4 * j + i];
      value = out.alpha * value + (i % 2 == 0 ? bias.x : bias.y);
      if (out.relu && value < 0) value = 0;  // keeps NaN
    }
    if (out.mask != nullptr) {
      const float* from = out.mask + row * out.ldc + column0 + 8 * j + 2 * member;
      const float2 upper = *reinterpret_cast<const float2*>(from);
      const float2 lower = *reinterpret_cast<const float2*>(from + 8 * out.ldc);
      if (!(upper.x > 0)) sum[4 * j] = 0;
      if (!(upper.y > 0)) sum[4 * j + 1] = 0;
      if (!(lower.x > 0)) sum[4 * j + 2] = 0;
      if (!(lower.y > 0)) sum[4 * j + 3] = 0;
    }
  }
  Element* to = out.c + row * out.ldc + column0;
  store_row<kN>(to, sum, 0, member);
  store_row<kN>(to + 8 * out.ldc, sum, 1, member);
}

// Tiles of a cluster in the order in which they are taken.
struct WgmmaOrder {
  static constexpr int kGroup = 8;  // rows of clusters
  int rows, columns;                // tiles along m and n

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

// Starts the copies of one stage.
template <class Tile>
__device__ __forceinline__ void wgmma_copy(char* stage, const CUtensorMap& map_a,
                                           const CUtensorMap& map_b, int row, int column, int k,
                                           int rank, std::uint64_t* full) {
  if constexpr (Tile::kPanelsA) {
    for (int panel = 0; panel < Tile::kM / Tile::kPanel; ++panel) {
      device::tma_load(stage + panel * Tile::kPanelBytes, map_a, row + panel * Tile::kPanel, k,
                       full);
    }
  } else {
    device::tma_load(stage, map_a, k, row, full);
  }
  char* b = stage + Tile::kBytesA;
  const auto load_b = [&](char* to, int x, int y) {
    if constexpr (Tile::kCluster == 1) {
      device::tma_load(to, map_b, x, y, full);
    } else {
      device::tma_load_multicast(to, map_b, x, y, full, (1 << Tile::kCluster) - 1);
    }
  };
  if constexpr (Tile::kPanelsB) {
    constexpr int kPanels = Tile::kN / Tile::kPanel / Tile::kCluster;
    for (int panel = rank * kPanels; panel < (rank + 1) * kPanels; ++panel) {
      load_b(b + panel * Tile::kPanelBytes, column + panel * Tile::kPanel, k);
    }
  } else {
    constexpr int kRows = Tile::kN / Tile::kCluster;
    load_b(b + rank * kRows * 128, k, column + rank * kRows);
  }
}

// Multiplies what one stage holds: this warpgroup's 64 rows of A with B.
template <class Tile>
__device__ __forceinline__ void wgmma_multiply(float (&sum)[Tile::kN / 2], const char* stage,
                                               int warpgroup, bool accumulate) {
  // 16 (or 8) k further: 32 bytes along a row, or as many rows of a panel.
  constexpr int kStepA = (Tile::kPanelsA ? 16 * 128 : 32) / 16;
  constexpr int kStepB = (Tile::kPanelsB ? 16 * 128 : 32) / 16;
  const std::uint64_t a =
      device::wgmma_descriptor(stage + warpgroup * (Tile::kBytesA / 2), Tile::kPanelBytes);
  const std::uint64_t b = device::wgmma_descriptor(stage + Tile::kBytesA, Tile::kPanelBytes);
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
  const auto row_of = [&](int2 place) { return (place.x * Tile::kCluster + rank) * Tile::kM; };

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Tile::kStages; ++stage) {
      device::barrier_init(full + stage, 1);
      device::barrier_init(empty + stage, 2 * Tile::kCluster);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  if constexpr (kClusters) device::cluster_sync();  // the barriers of both blocks are ready

  WgmmaRing<Tile::kStages> ring;
  if (threadIdx.x < 128) {
    device::registers_release<40>();
    if (threadIdx.x == 0) {
      for (int tile = first; tile < order.tiles(); tile += step) {
        const int2 place = order.place(tile);
        for (int chunk = 0; chunk < chunks; ++chunk, ring.advance()) {
          device::barrier_wait(empty + ring.stage, ring.parity ^ 1);
          device::barrier_expect(full + ring.stage, Tile::kStageBytes);
          wgmma_copy<Tile>(stages + ring.stage * Tile::kStageBytes, map_a, map_b, row_of(place),
                           place.y * Tile::kN, chunk * Tile::kK, rank, full + ring.stage);
        }
      }
    }
  } else {
    device::registers_take<232>();
    const int thread = threadIdx.x % 128, warpgroup = threadIdx.x / 128 - 1;
    // The tensor core works for the four warps of a warpgroup together: one thread speaks for all.
    const auto release = [&](int stage) {
      if constexpr (kClusters) {
        if (thread < Tile::kCluster) device::barrier_arrive(empty + stage, thread);
      } else {
        if (thread == 0) device::barrier_arrive(empty + stage);
      }
    };
    for (int tile = first; tile < order.tiles(); tile += step) {
      float sum[Tile::kN / 2];
      int before = 0;
      for (int chunk = 0; chunk < chunks; ++chunk, ring.advance()) {
        device::barrier_wait(full + ring.stage, ring.parity);
        device::wgmma_fence();
        wgmma_multiply<Tile>(sum, stages + ring.stage * Tile::kStageBytes, warpgroup, chunk > 0);
        device::wgmma_commit();
        device::wgmma_wait<1>();  // the products of the stage before are done
        if (chunk > 0) release(before);
        before = ring.stage;
      }
      device::wgmma_wait<0>();
      release(before);
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

template <class Element>
WgmmaOutput<Element> wgmma_output(Element* c, const float* bias, const GemmDims& dims,
                                  const GemmOptions& options) {
  constexpr std::int64_t kVector = 16 / sizeof(Element);
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(c) | reinterpret_cast<std::uintptr_t>(options.relu_mask);
  const bool vector = addresses % 16 == 0 && dims.ldc % kVector == 0;
  return {c,
          bias,
          options.relu_mask,
          dims.ldc,
          static_cast<int>(dims.m),
          static_cast<int>(dims.n),
          options.alpha,
          options.beta,
          options.epilogue == Epilogue::relu,
          vector};
}

// The width of tile that ends first, by the number of waves and what a tile costs (its columns and
// what does not depend on them).
inline int wgmma_width(const GemmDims& dims, const Stream& stream) {
  constexpr std::int64_t kFixed = 32;
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  int best = 0;
  std::int64_t best_cost = 0;
  for (const int width : {256, 128, 64}) {
    const std::int64_t tiles = (dims.m + 127) / 128 * ((dims.n + width - 1) / width);
    const std::int64_t cost = (tiles + processors - 1) / processors * (width + kFixed);
    if (best == 0 || cost < best_cost) best = width, best_cost = cost;
  }
  return best;
}

// Whether tiles of (128, 256) gain by clusters: where blocks take several, less traffic from L2
// outweighs waiting for a neighbour (measured on an H200, README.md).
inline bool wgmma_clusters(const GemmDims& dims, const Stream& stream) {
  const std::int64_t tiles = (dims.m + 127) / 128 * ((dims.n + 255) / 256);
  return tiles > 2 * device_properties(stream.device()).multiprocessors;
}

// Starts the kernel: one cluster for each that the device holds at once, or for each tile.
template <class Tile>
void launch_wgmma(const WgmmaOutput<typename Tile::Element>& out, const typename Tile::Element* a,
                  const typename Tile::Element* b, const GemmDims& dims, const Stream& stream) {
  constexpr TensorMapType kType = Tile::kBf16 ? TensorMapType::bf16 : TensorMapType::tf32;
  const CUtensorMap map_a = Tile::kPanelsA
                                ? matrix_map(a, kType, {dims.k, dims.m, dims.lda}, Tile::kK)
                                : matrix_map(a, kType, {dims.m, dims.k, dims.lda}, Tile::kM);
  const CUtensorMap map_b =
      Tile::kPanelsB ? matrix_map(b, kType, {dims.k, dims.n, dims.ldb}, Tile::kK)
                     : matrix_map(b, kType, {dims.n, dims.k, dims.ldb}, Tile::kN / Tile::kCluster);
  constexpr int kRows = Tile::kM * Tile::kCluster;
  const WgmmaOrder order{static_cast<int>((dims.m + kRows - 1) / kRows),
                         static_cast<int>((dims.n + Tile::kN - 1) / Tile::kN)};
  const auto kernel = gemm_wgmma_kernel<Tile>;
  const std::int64_t clusters = std::int64_t{order.rows} * order.columns;
  const int resident =
      resident_clusters(kernel, Tile::kCluster, Tile::kThreads, Tile::kSharedBytes, stream);
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(clusters, resident)) *
                      static_cast<unsigned>(Tile::kCluster);
  launch_cluster(kernel, Tile::kCluster, {blocks, Tile::kThreads, Tile::kSharedBytes, stream},
                 map_a, map_b, out, static_cast<int>(dims.k), order);
}

}  // namespace weft::kernels::cuda

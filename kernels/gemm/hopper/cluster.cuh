// SPDX-License-Identifier: MIT
// GEMM, what the rungs "cluster_tf32" and "cluster_tf32x3" share: the layers of a small network,
// whose C has about as many tiles of 64 x 64 as the GPU has SMs, or fewer. sm_90 and later.
//
// Such a product waits for its operands: 128 tiles of 64 x 64 read each operand 8 to 16 times, and
// the L2 cache delivers some 8 TB/s. Blocks of a cluster therefore help each other, in two ways:
//
//   share 2   four blocks own 2 x 2 tiles. Each asks the copy engine for half of its chunk of A and
//             of B, for itself and for the neighbour that needs the same: half the reads of L2.
//   parts P   P blocks own one tile, each a part of k. They add their sums through each other's
//             shared memory: no scratch memory, no second kernel, a fixed order.
//
// Inside a block the four warps share k too: each takes a step of 8 of every chunk of 32, for the
// whole tile. So a warp has 64 x 64 sums in 128 registers, does 32 products for 8 reads of
// fragments, and needs no barrier with its neighbours. Reads of shared memory take 32 cycles per
// step, half of what four warps of 32 x 32 would need. A fifth warp starts the copies.
//
//   64 x 64 x 32   160 threads   8 stages of 16 KiB   1 block of an SM
//
// The row sums of A, which are a bias gradient, are added up from the fragments of the first column
// of tiles.
//
// For tf32x3 the copies do not round, and fragments are split when they have been read: three times
// the products, on the same bytes. Tensor cores truncate, so long sums would drift; these are
// short, a quarter of a part of k.
#pragma once

#include <algorithm>

#include "engine/launch.h"
#include "engine/tensor_map.h"
#include "kernels/device/overlap.cuh"
#include "kernels/gemm/tensor_core/float_math.cuh"
#include "kernels/gemm/hopper/tile_parts.cuh"
#include "kernels/gemm/hopper/tma_operand.cuh"

namespace weft::kernels::cuda {
namespace cluster {

constexpr int kWarps = kTilePartWarps;  // that multiply
constexpr int kThreads = 32 * (kWarps + 1);
constexpr int kStages = 8;
constexpr int kOperandBytes = 2 * kTmaBoxBytes;
constexpr int kStageBytes = 2 * kOperandBytes;
constexpr std::size_t kSharedBytes = std::size_t{kStages} * kStageBytes + 1024;  // to align
static_assert(kWarps * 8 == kTmaDepth, "a warp takes one step of a chunk");

struct ClusterShape {
  int share;  // tiles along each side that share operands: 1 or 2
  int parts;  // of k

  __host__ __device__ int tiles() const { return share * share; }
  __host__ __device__ int blocks() const { return tiles() * parts; }
};

// Rounded to tf32 by the copy engine already.
struct CopiedTf32 : Tf32 {
  static constexpr TensorMapType kCopied = TensorMapType::tf32;
  template <bool kAlongK, bool kLeft, int kCount>
  __device__ __forceinline__ static void prepare(std::uint32_t (&)[kCount][4]) {}
};

struct CopiedBfloat16 : RoundedBfloat16 {
  static constexpr TensorMapType kCopied = TensorMapType::tf32;
};

struct CopiedTf32x3 : Tf32x3 {
  static constexpr TensorMapType kCopied = TensorMapType::fp32;
};

#if __CUDA_ARCH__ >= 900

using Words = std::uint32_t[kTmaFragments][4];

// Fragment buffers: one is read while the other is multiplied. Splitting needs the second one.
template <class Math>
constexpr int kBuffers = Math::kCopied == TensorMapType::fp32 ? 1 : 2;

struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

static_assert(sizeof(TileParts<false>) <= kStages * kStageBytes,
              "parts take the place of the ring");

#endif

template <class Math, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_cluster_tf32_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, GemmOutput out,
                             float* __restrict__ row_sums, int chunks, ClusterShape shape,
                             int column_groups) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ char shared[];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  char* ring = shared + (1024 - device::shared_address(shared) % 1024) % 1024;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);  // known to be the same in all lanes

  const int cluster = static_cast<int>(blockIdx.x) / shape.blocks();
  const int rank = static_cast<int>(blockIdx.x) % shape.blocks();
  const int part = rank / shape.tiles(), inside = rank % shape.tiles();
  const int down = inside / shape.share, right = inside % shape.share;
  const int row0 = (cluster / column_groups * shape.share + down) * kTmaSide;
  const int column0 = (cluster % column_groups * shape.share + right) * kTmaSide;
  const int chunk_begin = chunks * part / shape.parts;
  const int chunk_end = chunks * (part + 1) / shape.parts;
  const bool shares = shape.share == 2;
  const int beside = rank ^ 1, below = rank ^ 2;  // the blocks that need the same A and B

  device::overlap_allow();
  if (thread == 0) {
    device::tma_prefetch(map_a);
    device::tma_prefetch(map_b);
    for (int stage = 0; stage < kStages; ++stage) {
      device::barrier_init(full + stage, 1);
      device::barrier_init(empty + stage, shares ? 3 * kWarps : kWarps);
    }
    device::fence_barrier_init();
  }
  device::cluster_sync_unordered();  // the barriers of all blocks are ready
  device::overlap_wait();

  TileSums sums = {};
  TileRowSums row_sum = {};
  const bool sums_rows = row_sums != nullptr && column0 == 0;
  if (warp == kWarps) {
    const bool elected = device::elect_lane();
    const auto ranks_a = static_cast<std::uint16_t>(1 << rank | 1 << beside);
    const auto ranks_b = static_cast<std::uint16_t>(1 << rank | 1 << below);
    Ring next;
    for (int chunk = chunk_begin; chunk < chunk_end; ++chunk, next.advance()) {
      device::barrier_wait(empty + next.stage, next.parity ^ 1);
      if (!elected) continue;
      char* const a_chunk = ring + next.stage * kStageBytes;
      char* const b_chunk = a_chunk + kOperandBytes;
      std::uint64_t* const arrived = full + next.stage;
      const int k0 = chunk * kTmaDepth;
      device::barrier_expect(arrived, kStageBytes);
      if (shares) {
        copy_box<!kTransposeA>(a_chunk, map_a, row0, k0, right, ranks_a, arrived);
        copy_box<kTransposeB>(b_chunk, map_b, column0, k0, down, ranks_b, arrived);
      } else {
        copy_chunk<!kTransposeA>(a_chunk, map_a, row0, k0, arrived);
        copy_chunk<kTransposeB>(b_chunk, map_b, column0, k0, arrived);
      }
    }
  } else {
    const TmaFragments<!kTransposeA, true> a_lane(warp, lane);
    const TmaFragments<kTransposeB, false> b_lane(warp, lane);
    Words a[kBuffers<Math>], b[kBuffers<Math>];
    Ring next;
    const auto load = [&](int buffer) {
      device::barrier_wait(full + next.stage, next.parity);
      const char* stage = ring + next.stage * kStageBytes;
      a_lane.load(a[buffer], stage);
      b_lane.load(b[buffer], stage + kOperandBytes);
      next.advance();
    };
    // This block and the two that share with it write here, and all wait for this warp.
    const int writer = lane == 0 ? rank : lane == 1 ? beside : below;
    const int writers = shares ? 3 : 1;
    int read = 0;  // the stage that is given back next
    const auto multiply = [&](int buffer) {
      if (sums_rows) {
#pragma unroll
        for (int i = 0; i < kTmaFragments; ++i) {
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            row_sum[i][h] += __uint_as_float(a[buffer][i][fragment_word<true>(h, 0)]) +
                             __uint_as_float(a[buffer][i][fragment_word<true>(h, 1)]);
          }
        }
      }
      Math::template prepare<!kTransposeA, true>(a[buffer]);
      Math::template prepare<kTransposeB, false>(b[buffer]);
      Math::template multiply<0>(sums, a[buffer], b[buffer]);
      Math::template multiply<1>(sums, a[buffer], b[buffer]);
      if (lane < writers) device::barrier_arrive(empty + read, writer);
      read = read + 1 == kStages ? 0 : read + 1;
    };
    int left = chunk_end - chunk_begin;
    if constexpr (kBuffers<Math> == 1) {
#pragma unroll 1
      for (; left > 0; --left) {
        load(0);
        multiply(0);
      }
    } else {
      if (left > 0) load(0);
      for (; left > 0; left -= 2) {
        if (left > 1) load(1);
        multiply(0);
        if (left > 2) load(0);
        if (left > 1) multiply(1);
      }
    }
  }

  // All that was copied has been waited for, so the ring can be written.
  auto& parts = *reinterpret_cast<TileParts<kTransposeB>*>(ring);
  __syncthreads();  // all warps have read it
  if (warp < kWarps) parts.write(warp, sums, row_sum, sums_rows);
  __syncthreads();  // the parts of all warps are written

  if (warp < kWarps) parts.add_up(sums_rows);
  if (shape.parts > 1) device::cluster_sync();  // the sums of all parts of k are written
  if (warp < kWarps) {
    parts.template finish<!kTransposeA>(out, sums_rows ? row_sums : nullptr, row0, column0, part,
                                        shape.parts, inside, shape.tiles());
  }
  device::cluster_sync_unordered();  // nobody reads from, or writes to, a block that has left
#else
  (void)map_a, (void)map_b, (void)out, (void)row_sums, (void)chunks, (void)shape;
  (void)column_groups;
  __trap();
#endif
}

// Can all blocks run at the same time? A cluster lies within one GPC, and the 16 or 18 SMs of a GPC
// of an H200 are not whole clusters of more than two blocks. So such clusters do not fill the GPU.
inline bool runs_at_once(const ClusterShape& shape, std::int64_t rows, std::int64_t columns,
                  std::int64_t processors) {
  const auto groups = [&](std::int64_t tiles) { return divide_up(tiles, shape.share); };
  const std::int64_t blocks = groups(rows) * groups(columns) * shape.blocks();
  return blocks <= (shape.blocks() > 2 ? processors * 5 / 6 : processors);
}

// Takes as many parts of k as leave each block two chunks and let all blocks run at once. Operands
// are shared where blocks read enough for it to matter.
inline ClusterShape choose_shape(const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const std::int64_t rows = divide_up(dims.m, kTmaSide);
  const std::int64_t columns = divide_up(dims.n, kTmaSide);
  const std::int64_t chunks = divide_up(dims.k, kTmaDepth);
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  ClusterShape shape{1, 1};
  while (shape.parts < 8 && chunks >= 4 * shape.parts &&
         runs_at_once({1, 2 * shape.parts}, rows, columns, processors)) {
    shape.parts *= 2;
  }
  if (rows > 1 && columns > 1 && shape.parts <= 2 && chunks >= 8 * shape.parts &&
      runs_at_once({2, shape.parts}, rows, columns, processors)) {
    shape.share = 2;
  }
  if (options.cluster_parts > 0) shape.parts = options.cluster_parts;
  if (options.cluster_share > 0) shape.share = options.cluster_share;
  if (options.cluster_share == 0 && shape.parts > 2) shape.share = 1;  // a cluster has 8 blocks
  if (shape.share == 2) shape.parts = std::min(shape.parts, 2);
  return shape;
}

template <class Math>
void gemm_cluster(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                  const GemmOptions& options, const Stream& stream) {
  const ClusterShape shape = choose_shape(dims, options, stream);
  const std::int64_t side = std::int64_t{kTmaSide} * shape.share;
  const std::int64_t column_groups = divide_up(dims.n, side);
  const std::int64_t groups = divide_up(dims.m, side) * column_groups;
  const auto chunks = static_cast<int>(divide_up(dims.k, kTmaDepth));
  const GemmOutput out = gemm_output(c, bias, dims, options);
  const auto cluster = static_cast<unsigned>(shape.blocks());
  const Launch config{blocks_for(groups * shape.blocks(), 1), kThreads, kSharedBytes, stream, cluster,
                      options.overlap};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    const auto map = [&](const float* data, std::int64_t extent, std::int64_t ld, bool along_k) {
      const MatrixExtents extents{along_k ? extent : dims.k, along_k ? dims.k : extent, ld};
      return matrix_map(data, Math::kCopied, extents, kTmaBox);
    };
    const CUtensorMap map_a = map(a, dims.m, dims.lda, !transpose_a);
    const CUtensorMap map_b = map(b, dims.n, dims.ldb, transpose_b);
    launch(gemm_cluster_tf32_kernel<Math, transpose_a(), transpose_b()>, config, map_a, map_b, out,
           options.row_sums, chunks, shape, static_cast<int>(column_groups));
  });
}

}  // namespace cluster
}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM, what the rungs "cluster_tf32" and "cluster_tf32x3" share: the layers of a small network,
// whose C has about as many tiles of 64 x 64 as the GPU has SMs, or fewer. sm_90 and later.
//
// Such a product starts in 3 us and multiplies in 1, so all SMs should have a part of it, and none
// should wait for a second kernel. The blocks of a cluster own one tile, each a part of k. They add
// their sums through each other's shared memory: no scratch memory, a fixed order. Where tiles are
// few, they have 32 columns instead of 64.
//
// Inside a block the four warps share k too: each takes a step of 8 of every chunk of 32, for the
// whole tile. So a warp has 64 x 64 sums in 128 registers, does 32 products for 8 reads of
// fragments, and needs no barrier with its neighbours. Reads of shared memory take 32 cycles per
// step, half of what four warps of 32 x 32 would need. A fifth warp starts the copies.
//
//   64 x 64 x 32   160 threads    8 stages of 16 KiB   1 block of an SM
//   64 x 32 x 32   160 threads   16 stages of 12 KiB   1 block of an SM
//
// With a shorter ring two narrow blocks fit on an SM, and the product takes a third longer: it
// seems that some SMs then get two blocks and others none (NOTES.md).
//
// The row sums of A, which are a bias gradient, are added up from the fragments of the first column
// of tiles.
//
// For tf32x3 the copies do not round, and fragments are split when they have been read: three times
// the products, on the same bytes. Tensor cores truncate, so long sums would drift; these are
// short, a quarter of a part of k.
#pragma once

#include "engine/cuda/tensor_map.h"
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/gemm/hopper/tile_parts.cuh"
#include "kernels/gemm/hopper/tma_operand.cuh"
#include "kernels/gemm/tensor_core/float_math.cuh"

namespace weft::kernels::cuda {
namespace cluster {

constexpr int kWarps = kTilePartWarps;  // that multiply
constexpr int kThreads = 32 * (kWarps + 1);
template <int kColumns>
constexpr int kStages = kColumns == 64 ? 8 : 16;
constexpr int kLeftBytes = kTmaSide / kTmaBox * kTmaBoxBytes;  // of A in a stage
template <int kColumns>
constexpr int kStageBytes = kLeftBytes + kColumns / kTmaBox* kTmaBoxBytes;
// 1024 to align.
template <int kColumns>
constexpr std::size_t kSharedBytes = std::size_t{kStages<kColumns>} * kStageBytes<kColumns> + 1024;
static_assert(kWarps * 8 == kTmaDepth, "a warp takes one step of a chunk");

struct ClusterShape {
  int parts;    // of k, each for a block: a power of 2
  int columns;  // of a tile: 64 or 32
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

// Fragment buffers: one is read while the other is multiplied. Splitting needs the second one.
template <class Math>
constexpr int kBuffers = Math::kCopied == TensorMapType::fp32 ? 1 : 2;

template <int kStages>
struct Ring {
  int stage = 0;
  std::uint32_t parity = 0;
  __device__ void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

// A barrier of the warps that multiply.
__device__ __forceinline__ void meet_warps() {
  asm volatile("bar.sync 1, %0;" ::"n"(32 * kWarps) : "memory");
}

// The tile of a block, at (row0, column0), its part of k, and what shared memory has of it.
struct ClusterTile {
  int row0, column0, part, chunk_begin, chunk_end;
  char* ring;                   // of stages
  std::uint64_t *full, *empty;  // of each stage
};

// One warp copies the chunks of A and B to the stages, each when it is empty.
template <int kColumns, bool kAlongKA, bool kAlongKB>
__device__ __forceinline__ void copy_chunks(const ClusterTile& at, const CUtensorMap& map_a,
                                            const CUtensorMap& map_b) {
  constexpr int kBytes = kStageBytes<kColumns>;
  const bool elected = device::elect_lane();
  Ring<kStages<kColumns>> next;
  for (int chunk = at.chunk_begin; chunk < at.chunk_end; ++chunk, next.advance()) {
    device::barrier_wait(at.empty + next.stage, next.parity ^ 1);
    if (!elected) continue;
    char* const a_chunk = at.ring + next.stage * kBytes;
    char* const b_chunk = a_chunk + kLeftBytes;
    std::uint64_t* const arrived = at.full + next.stage;
    const int k0 = chunk * kTmaDepth;
    device::barrier_expect(arrived, kBytes);
    copy_chunk<kAlongKA, kTmaSide / kTmaBox>(a_chunk, map_a, at.row0, k0, arrived);
    copy_chunk<kAlongKB, kColumns / kTmaBox>(b_chunk, map_b, at.column0, k0, arrived);
  }
}

// Fetches what finish() needs, while the first chunks are on their way: `bias`, a float for each
// column of the tile, to shared memory, and the mask to the L2 cache.
template <int kColumns>
__device__ __forceinline__ void fetch_for_finish(float* bias, const GemmOutput& out,
                                                 const ClusterTile& at) {
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < kColumns) {
    const bool there = out.bias != nullptr && at.column0 + thread < out.n;
    bias[thread] = there ? __ldg(out.bias + at.column0 + thread) : 0.0f;
  }
  constexpr int kLines = kColumns / 32;  // of the L2 cache, in a row of the tile
  const int row = at.row0 + thread / kLines, column = at.column0 + thread % kLines * 32;
  if (out.mask != nullptr && at.part == 0 && thread < kLines * kTmaSide && row < out.m &&
      column < out.n) {
    device::prefetch_line(out.mask + row * out.ldc + column);
  }
}

// Adds to a lane's sums of rows what its fragments of A have.
__device__ __forceinline__ void add_to_rows(TileRowSums& row_sum,
                                            const std::uint32_t (&a)[kTmaFragments][4]) {
#pragma unroll
  for (int i = 0; i < kTmaFragments; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      row_sum[i][h] += __uint_as_float(a[i][fragment_word<true>(h, 0)]) +
                       __uint_as_float(a[i][fragment_word<true>(h, 1)]);
    }
  }
}

// A warp multiplies its step of each chunk. The warps' sums take the place of the ring.
template <class Math, bool kTransposeA, bool kTransposeB, int kColumns, bool kSumsRows>
__device__ __forceinline__ void sum_chunks(TileParts<kTransposeB, kColumns>& tile_parts,
                                           const ClusterTile& at, int warp, int lane) {
  constexpr int kRing = kStages<kColumns>;
  TileSums<kColumns> sums = {};
  TileRowSums row_sum = {};
  const TmaFragments<!kTransposeA, true> a_lane(warp, lane);
  const TmaFragments<kTransposeB, false> b_lane(warp, lane);
  std::uint32_t a[kBuffers<Math>][kTmaFragments][4], b[kBuffers<Math>][kColumns / 16][4];
  Ring<kRing> next;
  const auto load = [&](int buffer) {
    device::barrier_wait(at.full + next.stage, next.parity);
    const char* stage = at.ring + next.stage * kStageBytes<kColumns>;
    a_lane.load(a[buffer], stage);
    b_lane.load(b[buffer], stage + kLeftBytes);
    next.advance();
  };
  int read = 0;  // the stage that is given back next
  const auto multiply = [&](int buffer) {
    if constexpr (kSumsRows) add_to_rows(row_sum, a[buffer]);
    Math::template prepare<!kTransposeA, true>(a[buffer]);
    Math::template prepare<kTransposeB, false>(b[buffer]);
    Math::template multiply<0>(sums, a[buffer], b[buffer]);
    Math::template multiply<1>(sums, a[buffer], b[buffer]);
    if (lane == 0) device::barrier_arrive(at.empty + read);
    read = read + 1 == kRing ? 0 : read + 1;
  };
  int left = at.chunk_end - at.chunk_begin;
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
  // All that was copied has been waited for, so the ring can be written.
  meet_warps();  // all have read it
  tile_parts.template write<kSumsRows>(warp, sums, row_sum);
  meet_warps();  // all parts are written
}

// All warps call it: the sums of the kParts blocks of the tile go to C, and those of A's rows to
// row_sums, which may be null.
template <int kParts, bool kAlongK, bool kTransposeB, int kColumns>
__device__ __forceinline__ void finish(TileParts<kTransposeB, kColumns>& tile_parts,
                                       const ClusterTile& at, int warp, const GemmOutput& out,
                                       const float* bias, float* row_sums) {
  const bool sums_rows = row_sums != nullptr && at.column0 == 0;
  float4 total[2 * kColumns / 16];
  if (warp < kWarps) tile_parts.template add_up<kParts>(warp, total, sums_rows);
  if constexpr (kParts > 1) device::cluster_sync();  // the sums of all parts of k are written
  if (warp == kWarps) return;
  tile_parts.template finish<kAlongK, kParts>(
      warp, total, out, bias, sums_rows ? row_sums : nullptr, at.row0, at.column0, at.part);
}

static_assert(sizeof(TileParts<false, 64>) <= kStages<64> * kStageBytes<64> &&
                  sizeof(TileParts<false, 32>) <= kStages<32> * kStageBytes<32>,
              "parts take the place of the ring");

#endif

template <class Math, bool kTransposeA, bool kTransposeB, int kColumns>
__global__ void __launch_bounds__(kThreads, 1)
    gemm_cluster_tf32_kernel(const __grid_constant__ CUtensorMap map_a,
                             const __grid_constant__ CUtensorMap map_b, GemmOutput out,
                             float* __restrict__ row_sums, int chunks, int parts,
                             unsigned tile_columns) {
#if __CUDA_ARCH__ >= 900
  constexpr int kRing = kStages<kColumns>;
  extern __shared__ char shared[];
  __shared__ std::uint64_t full[kRing], empty[kRing];
  __shared__ __align__(16) float bias[kColumns];
  char* ring = shared + (1024 - device::shared_address(shared) % 1024) % 1024;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
  const int warp = __shfl_sync(0xffffffffu, thread / 32, 0);  // known to be the same in all lanes

  const int part_bits = __ffs(parts) - 1;  // a shift is shorter code than a division
  const int part = static_cast<int>(blockIdx.x) & (parts - 1);
  const unsigned tile = blockIdx.x >> part_bits;
  const int row0 = static_cast<int>(tile / tile_columns) * kTmaSide;
  const int column0 = static_cast<int>(tile % tile_columns) * kColumns;
  const int chunk_begin = chunks * part >> part_bits;
  const int chunk_end = chunks * (part + 1) >> part_bits;
  const ClusterTile at{row0, column0, part, chunk_begin, chunk_end, ring, full, empty};

  device::overlap_allow();
  if (thread == 0) {
    device::tma_prefetch(map_a);
    device::tma_prefetch(map_b);
    for (int stage = 0; stage < kRing; ++stage) {
      device::barrier_init(full + stage, 1);
      device::barrier_init(empty + stage, kWarps);
    }
    device::fence_barrier_init();
  }
  __syncthreads();  // the barriers are ready
  device::overlap_wait();

  // In the place of the ring, once that is read.
  auto& tile_parts = *reinterpret_cast<TileParts<kTransposeB, kColumns>*>(ring);
  const bool sums_rows = row_sums != nullptr && column0 == 0;
  if (warp == kWarps) copy_chunks<kColumns, !kTransposeA, kTransposeB>(at, map_a, map_b);
  if (warp < kWarps) {
    fetch_for_finish<kColumns>(bias, out, at);
    if (sums_rows) {
      sum_chunks<Math, kTransposeA, kTransposeB, kColumns, true>(tile_parts, at, warp, lane);
    } else {
      sum_chunks<Math, kTransposeA, kTransposeB, kColumns, false>(tile_parts, at, warp, lane);
    }
  }
  switch (parts) {
    case 1:
      finish<1, !kTransposeA>(tile_parts, at, warp, out, bias, row_sums);
      break;
    case 2:
      finish<2, !kTransposeA>(tile_parts, at, warp, out, bias, row_sums);
      break;
    case 4:
      finish<4, !kTransposeA>(tile_parts, at, warp, out, bias, row_sums);
      break;
    default:
      if constexpr (kColumns == kTmaSide) {
        finish<8, !kTransposeA>(tile_parts, at, warp, out, bias, row_sums);
      }
  }
  if (parts > 1) device::cluster_sync_unordered();  // nobody reads from a block that has left
#else
  (void)map_a, (void)map_b, (void)out, (void)row_sums, (void)chunks, (void)parts;
  (void)tile_columns;
  __trap();
#endif
}

// Can all blocks run at the same time? A cluster lies within one GPC, and the 16 or 18 SMs of a GPC
// of an H200 are not whole clusters of more than two blocks. So such clusters do not fill the GPU.
inline bool runs_at_once(const ClusterShape& shape, const GemmDims& dims, std::int64_t processors) {
  const std::int64_t blocks =
      divide_up(dims.m, kTmaSide) * divide_up(dims.n, shape.columns) * shape.parts;
  return blocks <= (shape.parts > 2 ? processors * 5 / 6 : processors);
}

// Takes as many parts of k as leave each block two chunks and let all blocks run at once, and tiles
// of 32 columns where each block then has less to do.
inline ClusterShape choose_shape(const GemmDims& dims, const GemmOptions& options,
                                 const Stream& stream) {
  const std::int64_t chunks = divide_up(dims.k, kTmaDepth);
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  const auto with_columns = [&](int columns) {
    ClusterShape shape{1, columns};
    while (shape.parts < columns / 8 && chunks >= 4 * shape.parts &&
           runs_at_once({2 * shape.parts, columns}, dims, processors)) {
      shape.parts *= 2;
    }
    return shape;
  };
  const ClusterShape wide = with_columns(64), narrow = with_columns(32);
  const bool less = dims.n <= 32 || narrow.parts >= wide.parts;
  ClusterShape shape = less && runs_at_once(narrow, dims, processors) ? narrow : wide;
  if (options.cluster_columns > 0) shape = with_columns(options.cluster_columns);
  if (options.cluster_parts > 0) shape.parts = options.cluster_parts;
  if (shape.parts == 8) shape.columns = 64;
  return shape;
}

template <class Math>
void gemm_cluster(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                  const GemmOptions& options, const Stream& stream) {
  const ClusterShape shape = choose_shape(dims, options, stream);
  const std::int64_t tile_columns = divide_up(dims.n, shape.columns);
  const std::int64_t tiles = divide_up(dims.m, kTmaSide) * tile_columns;
  const auto chunks = static_cast<int>(divide_up(dims.k, kTmaDepth));
  const GemmOutput out = gemm_output(c, bias, dims, options);
  const std::size_t shared = shape.columns == 64 ? kSharedBytes<64> : kSharedBytes<32>;
  const Launch config{blocks_for(tiles * shape.parts, 1), kThreads,       shared, stream,
                      static_cast<unsigned>(shape.parts), options.overlap};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    const auto map = [&](const float* data, std::int64_t extent, std::int64_t ld, bool along_k) {
      const MatrixExtents extents{along_k ? extent : dims.k, along_k ? dims.k : extent, ld};
      return matrix_map(data, Math::kCopied, extents, kTmaBox);
    };
    const CUtensorMap map_a = map(a, dims.m, dims.lda, !transpose_a);
    const CUtensorMap map_b = map(b, dims.n, dims.ldb, transpose_b);
    const auto kernel = shape.columns == 64
                            ? gemm_cluster_tf32_kernel<Math, transpose_a(), transpose_b(), 64>
                            : gemm_cluster_tf32_kernel<Math, transpose_a(), transpose_b(), 32>;
    launch(kernel, config, map_a, map_b, out, options.row_sums, chunks, shape.parts,
           static_cast<unsigned>(tile_columns));
  });
}

}  // namespace cluster
}  // namespace weft::kernels::cuda

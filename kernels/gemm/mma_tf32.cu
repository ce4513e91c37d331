// SPDX-License-Identifier: MIT
// GEMM, rung "mma_tf32": tensor cores through mma.sync, fed by asynchronous copies. sm_80 and
// later.
//
// A block computes a (kM, kN) tile; each of its warps a part of it in fragments of 16 x 8. Chunks
// of 16 k pass through a ring of four stages in shared memory: while one is multiplied, copies of
// the next three are under way, and no registers are spent on them. A chunk keeps the order it has
// in memory, so every transpose is copied in 16-byte pieces; the row padding (4 floats along k, 8
// along m or n) makes the fragment reads of a warp hit 32 different banks in either order.
//
//   tile        warps   per warp   registers for C   shared memory
//   128 x 128   8       64 x 32    64                80 KiB
//   64 x 64     4       32 x 32    32                40 KiB
//
// Operands are rounded to tf32 (or bf16) as they are read into fragments; storage and sums are
// fp32.
#include "engine/launch.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/gemm/cuda.h"
#include "kernels/gemm/store.cuh"

namespace weft::kernels::cuda {
namespace {

template <int kM_, int kN_, int kWarpRows_, int kWarpColumns_>
struct MmaTile {
  static constexpr int kM = kM_, kN = kN_, kK = 16, kStages = 4;
  static constexpr int kWarpRows = kWarpRows_, kWarpColumns = kWarpColumns_;
  static constexpr int kThreads = 32 * kWarpRows * kWarpColumns;
  static constexpr int kFragmentsM = kM / kWarpRows / 16, kFragmentsN = kN / kWarpColumns / 8;
  static_assert(kFragmentsM * kWarpRows * 16 == kM && kFragmentsN * kWarpColumns * 8 == kN,
                "fragments tile the block's tile");
};
using Mma128 = MmaTile<128, 128, 2, 4>;
using Mma64 = MmaTile<64, 64, 2, 2>;

// A (kX, kK) chunk of an operand as it lies in shared memory: rows along k or along x.
template <int kX, int kK, bool kAlongK>
struct Chunk {
  static constexpr int kRows = kAlongK ? kX : kK, kColumns = kAlongK ? kK : kX;
  static constexpr int kStride = kColumns + (kAlongK ? 4 : 8);
  static constexpr int kFloats = kRows * kStride;

  __device__ static float at(const float* chunk, int x, int k) {
    return kAlongK ? chunk[x * kStride + k] : chunk[k * kStride + x];
  }
};

// Starts the copy of the chunk at (x0, k0), with zeros outside of (x_extent, k_extent).
template <class Layout, bool kAlongK, int kThreads>
__device__ __forceinline__ void copy_chunk(float* chunk, const float* __restrict__ operand,
                                           std::int64_t x0, std::int64_t k0, std::int64_t x_extent,
                                           std::int64_t k_extent, std::int64_t ld, bool vector) {
  constexpr int kQuads = Layout::kColumns / 4;
  static_assert(Layout::kRows * kQuads % kThreads == 0, "every thread copies as much");
  const std::int64_t row0 = kAlongK ? x0 : k0, column0 = kAlongK ? k0 : x0;
  const std::int64_t rows = (kAlongK ? x_extent : k_extent) - row0;
  const std::int64_t columns = (kAlongK ? k_extent : x_extent) - column0;
  const float* corner = operand + row0 * ld + column0;
#pragma unroll
  for (int i = 0; i < Layout::kRows * kQuads / kThreads; ++i) {
    const int quad = threadIdx.x + i * kThreads;
    const int row = quad / kQuads, column = quad % kQuads * 4;
    float* to = chunk + row * Layout::kStride + column;
    const std::int64_t left = row < rows && column < columns ? columns - column : 0;
    const int inside = static_cast<int>(min(left, std::int64_t{4}));
    const float* from = inside > 0 ? corner + row * ld + column : operand;
    if (vector) {
      device::async_copy_float4(to, from, inside);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        device::async_copy_float(to + j, j < inside ? from + j : operand, j < inside);
      }
    }
  }
}

template <bool kBf16>
__device__ __forceinline__ std::uint32_t rounded(float value) {
  return kBf16 ? device::to_bf16(value) : device::to_tf32(value);
}

template <class Tile, bool kTransposeA, bool kTransposeB>
struct Stage {
  using A = Chunk<Tile::kM, Tile::kK, !kTransposeA>;
  using B = Chunk<Tile::kN, Tile::kK, kTransposeB>;
  static constexpr int kFloats = A::kFloats + B::kFloats;
  static constexpr std::size_t kBytes = sizeof(float) * kFloats * Tile::kStages;
};

template <class Tile, bool kTransposeA, bool kTransposeB, bool kBf16>
__global__ void __launch_bounds__(Tile::kThreads)
    gemm_mma_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                    std::int64_t k, std::int64_t lda, std::int64_t ldb, bool vector_a,
                    bool vector_b, std::int64_t column_tiles, std::int64_t tiles, GemmBatch batch) {
  extern __shared__ float4 shared4[];
  float* shared = reinterpret_cast<float*>(shared4);  // kStages x (A chunk, B chunk)
  using Ring = Stage<Tile, kTransposeA, kTransposeB>;
  using ChunkA = typename Ring::A;
  using ChunkB = typename Ring::B;

  const std::int64_t product = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  const std::int64_t row0 = tile / column_tiles * Tile::kM;
  const std::int64_t column0 = tile % column_tiles * Tile::kN;
  a += product * batch.stride_a;
  b += product * batch.stride_b;
  out.c += product * batch.stride_c;

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int group = lane / 4, member = lane % 4;
  const int warp_row = warp / Tile::kWarpColumns * (Tile::kM / Tile::kWarpRows);
  const int warp_column = warp % Tile::kWarpColumns * (Tile::kN / Tile::kWarpColumns);

  const std::int64_t chunks = (k + Tile::kK - 1) / Tile::kK;
  const auto copy = [&](std::int64_t chunk) {
    if (chunk < chunks) {
      float* stage = shared + chunk % Tile::kStages * Ring::kFloats;
      copy_chunk<ChunkA, !kTransposeA, Tile::kThreads>(stage, a, row0, chunk * Tile::kK, out.m, k,
                                                       lda, vector_a);
      copy_chunk<ChunkB, kTransposeB, Tile::kThreads>(stage + ChunkA::kFloats, b, column0,
                                                      chunk * Tile::kK, out.n, k, ldb, vector_b);
    }
    device::async_commit();  // also when empty, so that the groups count the chunks
  };

  float sum[Tile::kFragmentsM][Tile::kFragmentsN][4] = {};
#pragma unroll
  for (int chunk = 0; chunk < Tile::kStages - 1; ++chunk) copy(chunk);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    device::async_wait<Tile::kStages - 2>();
    __syncthreads();  // this chunk is there for all, and the previous one read by all
    copy(chunk + Tile::kStages - 1);  // into the stage of the previous chunk
    const float* a_chunk = shared + chunk % Tile::kStages * Ring::kFloats;
    const float* b_chunk = a_chunk + ChunkA::kFloats;
#pragma unroll
    for (int k0 = 0; k0 < Tile::kK; k0 += 8) {
      std::uint32_t a_part[Tile::kFragmentsM][4], b_part[Tile::kFragmentsN][2];
#pragma unroll
      for (int i = 0; i < Tile::kFragmentsM; ++i) {
        const int x = warp_row + 16 * i + group;
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          a_part[i][r] =
              rounded<kBf16>(ChunkA::at(a_chunk, x + r % 2 * 8, k0 + member + r / 2 * 4));
        }
      }
#pragma unroll
      for (int j = 0; j < Tile::kFragmentsN; ++j) {
        const int x = warp_column + 8 * j + group;
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          b_part[j][r] = rounded<kBf16>(ChunkB::at(b_chunk, x, k0 + member + r * 4));
        }
      }
#pragma unroll
      for (int i = 0; i < Tile::kFragmentsM; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kFragmentsN; ++j) {
          device::mma_m16n8k8_tf32(sum[i][j], a_part[i], b_part[j]);
        }
      }
    }
  }
  device::async_wait<0>();

#pragma unroll
  for (int i = 0; i < Tile::kFragmentsM; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kFragmentsN; ++j) {
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        store_one(out, row0 + warp_row + 16 * i + group + r / 2 * 8,
                  column0 + warp_column + 8 * j + 2 * member + r % 2, sum[i][j][r]);
      }
    }
  }
}

template <class Tile>
std::int64_t tile_count(const GemmDims& dims) {
  return (dims.m + Tile::kM - 1) / Tile::kM * ((dims.n + Tile::kN - 1) / Tile::kN);
}

bool vector_rows(const float* operand, std::int64_t ld, std::int64_t stride) {
  return reinterpret_cast<std::uintptr_t>(operand) % 16 == 0 && ld % 4 == 0 && stride % 4 == 0;
}

template <class Tile>
void launch_tile(const GemmOutput& out, const float* a, const float* b, const GemmDims& dims,
                 const GemmBatch& batch, bool bf16, const Stream& stream) {
  const std::int64_t tiles = tile_count<Tile>(dims);
  const std::int64_t column_tiles = (dims.n + Tile::kN - 1) / Tile::kN;
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    const Launch config{dim3(static_cast<unsigned>(tiles * batch.count)), dim3(Tile::kThreads),
                        Stage<Tile, transpose_a(), transpose_b()>::kBytes, stream};
    const auto start = [&](auto kernel) {
      launch(kernel, config, out, a, b, dims.k, dims.lda, dims.ldb,
             vector_rows(a, dims.lda, batch.stride_a), vector_rows(b, dims.ldb, batch.stride_b),
             column_tiles, tiles, batch);
    };
    if (bf16) {
      start(gemm_mma_kernel<Tile, transpose_a(), transpose_b(), true>);
    } else {
      start(gemm_mma_kernel<Tile, transpose_a(), transpose_b(), false>);
    }
  });
}

}  // namespace

void gemm_mma_tf32_batched(float* c, const float* a, const float* b, const float* bias,
                           const GemmDims& dims, const GemmOptions& options, const GemmBatch& batch,
                           const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options, batch);
  const bool bf16 = options.mode == ComputeMode::bf16;
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  if (tile_count<Mma128>(dims) * batch.count >= processors && dims.m > 64 && dims.n > 64) {
    launch_tile<Mma128>(out, a, b, dims, batch, bf16, stream);
  } else {
    launch_tile<Mma64>(out, a, b, dims, batch, bf16, stream);
  }
}

void gemm_mma_tf32(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  gemm_mma_tf32_batched(c, a, b, bias, dims, options, GemmBatch{}, stream);
}

}  // namespace weft::kernels::cuda

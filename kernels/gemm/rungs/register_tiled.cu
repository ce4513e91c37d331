// SPDX-License-Identifier: MIT
// GEMM, rung "register_tiled": each thread keeps a small tile of C in registers.
//
// A fragment of A and one of B, read from shared memory by 16-byte loads, feed kThreadM x kThreadN
// multiply-adds: 64 for 4 loads in the largest tile. Two stages alternate: the next chunk travels
// from global memory to registers while the present one is multiplied, so one barrier per chunk is
// enough. Loads follow the rows of the operands in memory; stores to shared memory transpose them
// (device/register_tile.cuh).
//
//   tile           threads   each   k chunk   for
//   128 x 128      256       8 x 8  8         large products
//   64 x 64        2 x 128   8 x 4  32        medium products
//   32 x 32        8 x 32    4 x 8  64        the layers of an MLP
//   16 x 16        16 x 32   2 x 4  128       C too small to fill the GPU, k long
//
// In the last three the groups of threads split k among them and add their parts at the end, in
// fixed order: warps that a small C leaves no other use for.
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/register_tile.cuh"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

using Tile128 = device::RegisterTile<128, 128, 8, 8, 8>;
using Tile64 = device::RegisterTile<64, 64, 32, 8, 4, 2>;
using Tile32 = device::RegisterTile<32, 32, 64, 4, 8, 8>;
using Tile16 = device::RegisterTile<16, 16, 128, 2, 4, 16>;

// Blocks that share an SM: 128 registers a thread.
template <class Tile>
constexpr int kBlocks = 512 / Tile::kThreads;

template <class Tile, bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(Tile::kThreads, kBlocks<Tile>)
    gemm_register_tiled_kernel(GemmOutput out, const float* a, const float* b, std::int64_t k,
                               std::int64_t lda, std::int64_t ldb, unsigned column_tiles,
                               unsigned tiles, GemmBatch batch) {
  alignas(16) __shared__ float shared[Tile::kSharedFloats];  // 2 x (A (kK, kM+4), B (kK, kN+4))
  using MapA = device::TileMap<Tile::kM, Tile::kK, Tile::kThreads, !kTransposeA>;
  using MapB = device::TileMap<Tile::kN, Tile::kK, Tile::kThreads, kTransposeB>;
  const unsigned tile = blockIdx.x % tiles;
  const std::int64_t product = blockIdx.x / tiles;
  const std::int64_t row0 = std::int64_t{tile / column_tiles} * Tile::kM;
  const std::int64_t column0 = std::int64_t{tile % column_tiles} * Tile::kN;
  out.c += product * batch.stride_c;

  device::MatrixStream<MapA, Tile::kK, !kTransposeA> a_stream(a + product * batch.stride_a, row0,
                                                              out.m, lda);
  device::MatrixStream<MapB, Tile::kK, kTransposeB> b_stream(b + product * batch.stride_b, column0,
                                                             out.n, ldb);
  const device::TilePlace<Tile> place(threadIdx.x);
  float a_next[MapA::kCount], b_next[MapB::kCount];
  const auto load = [&](std::int64_t k_left) {
    a_stream.load(a_next, k_left);
    b_stream.load(b_next, k_left);
  };
  const auto store = [&](float* stage) {
    a_stream.map.template store<Tile::kStrideA>(stage, a_next);
    b_stream.map.template store<Tile::kStrideB>(stage + Tile::kK * Tile::kStrideA, b_next);
  };

  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  device::overlap_allow();
  device::overlap_wait();
  load(k);
  store(shared);
  __syncthreads();
  int stage = 0;
  for (std::int64_t k_left = k; k_left > 0; k_left -= Tile::kK) {
    const bool more = k_left > Tile::kK;
    if (more) load(k_left - Tile::kK);
    device::multiply_chunk<Tile>(sum, shared + stage * Tile::kStageFloats, place);
    stage ^= 1;
    if (more) store(shared + stage * Tile::kStageFloats);
    __syncthreads();  // the next stage is written, and this one free
  }
  device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
    store_quad(out, row0 + row, column0 + column, quad);
  });
}

template <class Tile>
std::int64_t tile_count(const GemmDims& dims) {
  return divide_up(dims.m, Tile::kM) * divide_up(dims.n, Tile::kN);
}

template <class Tile>
void launch_tile(const GemmOutput& out, const float* a, const float* b, const GemmDims& dims,
                 const GemmBatch& batch, bool overlap, const Stream& stream) {
  const std::int64_t tiles = tile_count<Tile>(dims);
  const std::int64_t column_tiles = divide_up(dims.n, Tile::kN);
  // Blocks that start early (sm_90) settle in pairs where SMs are free, while other SMs stay empty.
  // Where there is an SM for each, shared memory that nobody uses keeps them apart.
  const DeviceProperties& device = device_properties(stream.device());
  const bool apart =
      overlap && device.compute_capability >= 90 && tiles * batch.count <= device.multiprocessors;
  const Launch config{dim3(static_cast<unsigned>(tiles * batch.count)), dim3(Tile::kThreads),
                      apart ? device.shared_bytes_per_block / 2 : 0, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(gemm_register_tiled_kernel<Tile, transpose_a(), transpose_b()>,
           config.overlapped(overlap), out, a, b, dims.k, dims.lda, dims.ldb,
           static_cast<unsigned>(column_tiles), static_cast<unsigned>(tiles), batch);
  });
}

}  // namespace

void gemm_register_tiled_batched(float* c, const float* a, const float* b, const float* bias,
                                 const GemmDims& dims, const GemmOptions& options,
                                 const GemmBatch& batch, const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options, batch);
  // The largest tile that still gives every SM work, or nearly; half of them is enough
  // for the 32 x 32 tile, whose blocks have 8 warps on as many parts of k.
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  if (options.batch_invariant) {
    launch_tile<Tile32>(out, a, b, dims, batch, options.overlap, stream);
  } else if (tile_count<Tile128>(dims) * batch.count >= processors && dims.m > 64 && dims.n > 64) {
    launch_tile<Tile128>(out, a, b, dims, batch, options.overlap, stream);
  } else if (4 * tile_count<Tile64>(dims) * batch.count >= 3 * processors && dims.m > 32 &&
             dims.n > 32) {
    launch_tile<Tile64>(out, a, b, dims, batch, options.overlap, stream);
  } else if (2 * tile_count<Tile32>(dims) * batch.count >= processors) {
    launch_tile<Tile32>(out, a, b, dims, batch, options.overlap, stream);
  } else {
    launch_tile<Tile16>(out, a, b, dims, batch, options.overlap, stream);
  }
}

void gemm_register_tiled(float* c, const float* a, const float* b, const float* bias,
                         const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  gemm_register_tiled_batched(c, a, b, bias, dims, options, GemmBatch{}, stream);
}

}  // namespace weft::kernels::cuda

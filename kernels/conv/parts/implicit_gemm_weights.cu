// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm": the weight gradient. See implicit_gemm.cu.
//
// The long dimension is the sum: all output pixels of all images. It is cut into chunks of images,
// each with its own row of partial sums, so that a few tiles of weights fill the GPU
// (weight_gradient_sums.cu adds the rows). A block makes a 64 x 64 tile of (filters, taps) for one
// chunk: 128 threads with 8 x 4 sums each, 17 KiB of shared memory. Operands and lanes lie along
// the pixels. A thread splits its filters and taps into coordinates once, before the loop.
#include "engine/launch.h"
#include "kernels/conv/parts/implicit_gemm_geometry.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/register_tile.cuh"

namespace weft::kernels::cuda {
namespace {

using WeightTile = device::RegisterTile<64, 64, 16, 8, 4>;

// Backward weights of one chunk of images: rows are filters, columns taps (c, r, s), k the chunk's
// output pixels.
struct BackwardWeightsProblem {
  ConvGeometry g;
  const float* dy;  // (n, oc, oh, ow)
  const float* x;   // (n, c, h, w)
  float* partials;  // (chunks, partial_row)
  std::int64_t n, chunk_images, partial_row;
  int columns, row_tiles, column_tiles;

  using Map = device::TileMap<WeightTile::kM, WeightTile::kK, WeightTile::kThreads, true>;
  static_assert(WeightTile::kM == WeightTile::kN, "one map serves both operands");

  // Both operands walk the same pixels: k is split into image and pixel once for both.
  struct Place {
    int image, pixel;
    bool inside;
    __device__ Place(const BackwardWeightsProblem& p, const Map& map, int k0, int depth) {
      const int k = k0 + map.k;
      inside = k < depth;
      image = p.g.by_output.divide(inside ? k : 0, pixel);
    }
  };

  struct StreamA {
    const float* filter;  // dy of the chunk's first image and this thread's first filter
    int rows;             // filters from there on

    __device__ StreamA(const BackwardWeightsProblem& p, const Map& map, std::int64_t image0,
                       int row0) {
      const int row = row0 + map.x;
      rows = p.g.filters - row;
      filter = p.dy + (image0 * p.g.filters + row) * p.g.output_plane();
    }
    __device__ __forceinline__ void load(const BackwardWeightsProblem& p, float (&v)[Map::kCount],
                                         const Place& at) {
      const int plane = p.g.output_plane();
      const float* from =
          filter + static_cast<std::int64_t>(at.image) * p.g.filters * plane + at.pixel;
#pragma unroll
      for (int e = 0; e < Map::kCount; ++e) {
        v[e] = at.inside && e * Map::kStepX < rows ? __ldg(from + e * Map::kStepX * plane) : 0.0f;
      }
    }
  };

  struct StreamB {
    const float* images;      // x of the chunk's first image
    int offset[Map::kCount];  // of this thread's taps in an image
    int r[Map::kCount], s[Map::kCount];

    __device__ StreamB(const BackwardWeightsProblem& p, const Map& map, std::int64_t image0,
                       int column0) {
      images = p.x + image0 * p.g.channels * p.g.input_plane();
#pragma unroll
      for (int e = 0; e < Map::kCount; ++e) {
        const int column = column0 + map.x + e * Map::kStepX;
        int tap = 0;
        const int c = p.g.by_taps.divide(column, tap);
        r[e] = p.g.by_kernel_width.divide(tap, s[e]);
        offset[e] = c * p.g.input_plane() + r[e] * p.g.width + s[e];
        if (column >= p.columns) r[e] = 1 << 30;  // outside of every image
      }
    }
    __device__ __forceinline__ void load(const BackwardWeightsProblem& p, float (&v)[Map::kCount],
                                         const Place& at) {
      int q = 0;
      const int row = p.g.by_out_width.divide(at.pixel, q);
      const int top = row * p.g.stride_h - p.g.pad_h, left = q * p.g.stride_w - p.g.pad_w;
      const float* from = images +
                          static_cast<std::int64_t>(at.image) * p.g.channels * p.g.input_plane() +
                          top * p.g.width + left;
#pragma unroll
      for (int e = 0; e < Map::kCount; ++e) {
        const bool inside = at.inside && static_cast<unsigned>(top + r[e]) < unsigned(p.g.height) &&
                            static_cast<unsigned>(left + s[e]) < unsigned(p.g.width);
        v[e] = inside ? __ldg(from + offset[e]) : 0.0f;
      }
    }
  };
};

// One block makes one tile of one chunk's (filters, taps).
__global__ void __launch_bounds__(WeightTile::kThreads, 512 / WeightTile::kThreads)
    implicit_gemm_weights_kernel(BackwardWeightsProblem problem) {
  using Tile = WeightTile;
  using Map = BackwardWeightsProblem::Map;
  alignas(16) __shared__ float shared[Tile::kSharedFloats];  // 2 x (A (kK, kM+4), B (kK, kN+4))
  const int tiles = problem.row_tiles * problem.column_tiles;
  const std::int64_t chunk = blockIdx.x / tiles;
  const int tile = static_cast<int>(blockIdx.x % tiles);
  const int row0 = tile % problem.row_tiles * Tile::kM;
  const int column0 = tile / problem.row_tiles * Tile::kN;
  const std::int64_t image0 = chunk * problem.chunk_images;
  const int depth =
      static_cast<int>(min(problem.chunk_images, problem.n - image0)) * problem.g.output_plane();

  const Map map(threadIdx.x);
  BackwardWeightsProblem::StreamA a_stream(problem, map, image0, row0);
  BackwardWeightsProblem::StreamB b_stream(problem, map, image0, column0);
  const device::TilePlace<Tile> place(threadIdx.x);
  float a_next[Map::kCount], b_next[Map::kCount];
  const auto load = [&](int k0) {
    const BackwardWeightsProblem::Place at(problem, map, k0, depth);
    a_stream.load(problem, a_next, at);
    b_stream.load(problem, b_next, at);
  };
  const auto store = [&](float* stage) {
    map.store<Tile::kStrideA>(stage, a_next);
    map.store<Tile::kStrideB>(stage + Tile::kK * Tile::kStrideA, b_next);
  };

  float sum[Tile::kThreadM][Tile::kThreadN] = {};
  load(0);
  store(shared);
  __syncthreads();
  int stage = 0;
  for (int k0 = 0; k0 < depth; k0 += Tile::kK) {
    const bool more = depth - k0 > Tile::kK;
    if (more) load(k0 + Tile::kK);
    device::multiply_chunk<Tile>(sum, shared + stage * Tile::kStageFloats, place);
    stage ^= 1;
    if (more) store(shared + stage * Tile::kStageFloats);
    __syncthreads();  // the next stage is written, and this one free
  }
  float* partial = problem.partials + chunk * problem.partial_row;
  device::store_tile<Tile>(sum, shared, place, [&](int row, int column, float4 quad) {
    if (row0 + row >= problem.g.filters) return;
    const float values[4] = {quad.x, quad.y, quad.z, quad.w};
    float* to =
        partial + static_cast<std::int64_t>(row0 + row) * problem.columns + column0 + column;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (column0 + column + i < problem.columns) to[i] = values[i];
    }
  });
}

}  // namespace

void conv2d_backward_weights_implicit_gemm(float* dw, float* db, const float* dy, const float* x,
                                           const ConvDims& dims, GradientMode mode,
                                           const ConvOptions&, Workspace workspace,
                                           const Stream& stream) {
  const WeightChunks chunks = weight_chunks(dims);
  auto* partials = static_cast<float*>(workspace.data);
  BackwardWeightsProblem problem{};
  problem.g = conv_geometry(dims);
  problem.dy = dy;
  problem.x = x;
  problem.partials = partials;
  problem.n = dims.n;
  problem.chunk_images = chunks.images;
  problem.partial_row = chunks.row;
  problem.columns = static_cast<int>(dims.c * dims.kh * dims.kw);
  problem.row_tiles = static_cast<int>(divide_up(dims.oc, WeightTile::kM));
  problem.column_tiles = divide_up(problem.columns, WeightTile::kN);
  const std::int64_t blocks = chunks.count * problem.row_tiles * problem.column_tiles;
  const Launch config{dim3(static_cast<unsigned>(blocks)), dim3(WeightTile::kThreads), 0, stream};
  launch(implicit_gemm_weights_kernel, config, problem);
  if (db != nullptr) bias_partials(partials + chunks.weights, dy, dims, chunks, stream);
  sum_partials(dw, chunks.weights, db, db != nullptr ? dims.oc : 0, partials, chunks.count,
               chunks.row, mode, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_tensor_core": backward weights on tensor cores. sm_80 and later.
//
// The sum runs over the output pixels of all images. A block owns a tile of (filters, columns) for
// one slice of the pixels; a column is a channel at a tap, in cells of 16 channels. Columns are
// ordered (r, group, s): neighbours in s read the same image rows, which then come from the L1
// cache. A chunk of 16 pixels arrives in shared memory as it lies in the cells, channels in a row:
//
//        dy  16 x kM     one row per pixel, 8 floats of padding: the four rows and eight columns
//        x   16 x kN     (or pairs of columns) that a warp reads at once lie in 32 banks
//
// An A fragment has two filters at each of two pixels in four consecutive registers. The kernel may
// choose which rows of the tile are g and g + 8, so a lane takes neighbours and reads both at once.
//
// bf16 values are multiplied in tf32, which represents them exactly. Slices' sums go to memory and
// are added in order by a second kernel, which also turns them into the layout of the filters.
//
//   tile (filters x columns)   warps   per warp   registers for sums   shared memory
//   64 x 192                   4       32 x 96    96                   68 KiB
//   128 x 128                  4       64 x 64    128                  68 KiB
//   64 x 96, in fp32           4       32 x 48    48, twice            44 KiB
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv/tensor_core/warp_sums.cuh"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kCellFloats = kCellBytes / 4;
constexpr int kChunkPixels = 16;
constexpr std::int64_t kProcessors = 132;  // of the GPU that slices are cut for
constexpr std::int64_t kFewestChunks = 8;  // of a slice, to fill the pipeline

template <ComputeMode kMode_, int kM_, int kN_, int kBlocks_>
struct WeightTile {
  static constexpr ComputeMode kMode = kMode_;
  static constexpr int kM = kM_, kN = kN_, kStages = 4, kBlocks = kBlocks_;
  static constexpr int kWarpRows = 2, kWarpColumns = 2, kThreads = 128;
  static constexpr int kWarpM = kM / kWarpRows, kWarpN = kN / kWarpColumns;
  static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 8;
  static constexpr int kStrideA = kM + 8, kStrideB = kN + 8;  // floats
  static constexpr int kFloatsA = kChunkPixels * kStrideA;
  static constexpr int kStageFloats = kFloatsA + kChunkPixels * kStrideB;
  static constexpr std::size_t kBytes = sizeof(float) * kStages * kStageFloats;
  // Eight lanes copy two cells of one pixel, kStepCells cells at a time.
  static constexpr int kStepCells = kThreads / kChunkPixels / kCellQuads;
  static constexpr int kCopiesA = kM / kCellFloats / kStepCells;
  static constexpr int kCopiesB = kN / kCellFloats / kStepCells;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "fragments tile the warp's part");
  static_assert(kStrideA % 32 == 8 && kStrideB % 32 == 8, "four rows lie in other banks");
};
using Tile64x192 = WeightTile<ComputeMode::tf32, 64, 192, 3>;
using Tile128x128 = WeightTile<ComputeMode::tf32, 128, 128, 2>;
using Tile64x96 = WeightTile<ComputeMode::fp32, 64, 96, 3>;

struct WeightProduct {
  const uint4* dy;  // (images, filter_cells, pixels) cells
  const uint4* x;   // (images, groups, plane) cells, with the padding
  float* partials;  // (slices, filters, 16 column_cells)
  int filters, filter_cells, column_cells, pixels_in_all;
  int row_pitch, plane, image_cells;  // of x
  int row_step, column_step;          // cells of x from one output pixel to the next
  int row_tiles, tiles, slice_pixels;
  FastDivide by_pixels, by_out_width;     // output pixels of an image, and of a row
  FastDivide by_kernel_width, by_groups;  // of a column
};

// Where a thread's quads of a pixel lie in dy and in x, in quads from the pixel's first cell. It
// has every second cell of the tile, from `cell` on.
template <class Tile>
__device__ __forceinline__ void find_quads(unsigned (&a_offset)[Tile::kCopiesA],
                                           unsigned (&b_offset)[Tile::kCopiesB],
                                           const WeightProduct& p, int row0, int cell0, int cell,
                                           int quad) {
#pragma unroll
  for (int i = 0; i < Tile::kCopiesA; ++i) {
    // Cells behind the last repeat it and are not stored.
    const int at = min(row0 / kCellFloats + cell + i * Tile::kStepCells, p.filter_cells - 1);
    a_offset[i] = static_cast<unsigned>(at) * p.by_pixels.divisor() * kCellQuads + quad;
  }
#pragma unroll
  for (int i = 0; i < Tile::kCopiesB; ++i) {
    const int at = min(cell0 + cell + i * Tile::kStepCells, p.column_cells - 1);
    int s = 0, group = 0;
    const int r = p.by_groups.divide(p.by_kernel_width.divide(at, s), group);
    b_offset[i] = static_cast<unsigned>(group * p.plane + r * p.row_pitch + s) * kCellQuads + quad;
  }
}

// Loads a lane's fragments of eight pixels, of which it has one and the fourth after that. a_rows
// and b_rows are its first floats.
template <class Tile>
__device__ __forceinline__ void load_fragments(std::uint32_t (&a)[Tile::kFragmentsM][4],
                                               std::uint32_t (&b)[Tile::kFragmentsN / 2][4],
                                               const float* a_rows, const float* b_rows) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {  // the second: four pixels further on
#pragma unroll
    for (int i = 0; i < Tile::kFragmentsM; ++i) {
      const float* from = a_rows + 4 * half * Tile::kStrideA + 16 * i;
      const uint2 pair = *reinterpret_cast<const uint2*>(from);
      a[i][2 * half] = pair.x;
      a[i][2 * half + 1] = pair.y;
    }
#pragma unroll
    for (int j = 0; j < Tile::kFragmentsN; ++j) {
      const float* from = b_rows + 4 * half * Tile::kStrideB + 8 * j;
      b[j / 2][j % 2 * 2 + half] = __float_as_uint(*from);
    }
  }
}

template <class Tile>
using WarpSums = FragmentSums<Tile::kMode, Tile::kFragmentsM, Tile::kFragmentsN>;

// Stores a lane's sums to those of the slice, (filters, 16 column_cells). The warp's part of the
// tile begins at (row0, column0).
template <class Tile>
__device__ __forceinline__ void store_sums(float* to, const WarpSums<Tile>& sums,
                                           const WeightProduct& p, int row0, int column0, int group,
                                           int member) {
  const std::int64_t row_floats = std::int64_t{p.column_cells} * kCellFloats;
#pragma unroll
  for (int i = 0; i < 2 * Tile::kFragmentsM; ++i) {
    const int row = row0 + i / 2 * 16 + 2 * group + i % 2;
    if (row >= p.filters) continue;
#pragma unroll
    for (int j = 0; j < Tile::kFragmentsN; ++j) {
      const int column = column0 + 8 * j + 2 * member;
      if (column >= row_floats) continue;
      *reinterpret_cast<float2*>(to + row * row_floats + column) = {
          sums.at(i / 2, j, i % 2 * 2), sums.at(i / 2, j, i % 2 * 2 + 1)};
    }
  }
}

template <class Tile>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks)
    weight_product_kernel(WeightProduct p) {
  // kStages x (dy (16, kStrideA), x (16, kStrideB))
  const float* shared = device::dynamic_shared<float>();
  const int slice = static_cast<int>(blockIdx.x / p.tiles);
  const int tile = static_cast<int>(blockIdx.x % p.tiles);
  const int row0 = tile % p.row_tiles * Tile::kM;
  const int cell0 = tile / p.row_tiles * (Tile::kN / kCellFloats);
  const int begin = slice * p.slice_pixels;
  const int end = min(begin + p.slice_pixels, p.pixels_in_all);
  const int chunks = divide_up(end - begin, kChunkPixels);

  // This thread copies a quad of every second cell of one pixel of the chunk.
  const int pixel = threadIdx.x / 8, quad = threadIdx.x % kCellQuads;
  const int cell = threadIdx.x / kCellQuads % Tile::kStepCells;
  unsigned a_offset[Tile::kCopiesA], b_offset[Tile::kCopiesB];  // quads
  find_quads<Tile>(a_offset, b_offset, p, row0, cell0, cell, quad);
  const std::uint32_t a_shared = device::shared_address(shared) +
                                 4 * (pixel * Tile::kStrideA + cell * kCellFloats) + 16 * quad;
  const std::uint32_t b_shared =
      device::shared_address(shared) +
      4 * (Tile::kFloatsA + pixel * Tile::kStrideB + cell * kCellFloats) + 16 * quad;
  const auto copy = [&](int chunk) {
    if (chunk < chunks) {
      const std::uint32_t stage = chunk % Tile::kStages * (4 * Tile::kStageFloats);
      const int k = begin + chunk * kChunkPixels + pixel;
      const bool inside = k < end;
      int at = 0, column = 0;
      const std::int64_t image = p.by_pixels.divide(inside ? k : begin, at);
      const int row = p.by_out_width.divide(at, column);
      const uint4* from_a =
          p.dy + (image * p.filter_cells * p.by_pixels.divisor() + at) * kCellQuads;
      const uint4* from_b =
          p.x + (image * p.image_cells + std::int64_t{row} * p.row_step + column * p.column_step) *
                    kCellQuads;
#pragma unroll
      for (int i = 0; i < Tile::kCopiesA; ++i) {
        device::copy_quad<false>(a_shared + stage + i * Tile::kStepCells * kCellBytes,
                                 from_a + a_offset[i], inside);
      }
#pragma unroll
      for (int i = 0; i < Tile::kCopiesB; ++i) {
        device::copy_quad<true>(b_shared + stage + i * Tile::kStepCells * kCellBytes,
                                from_b + b_offset[i], inside);
      }
    }
    device::async_commit();  // also when empty, so that the groups count the chunks
  };

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int group = lane / 4, member = lane % 4;
  const int warp_row = warp / Tile::kWarpColumns * Tile::kWarpM;
  const int warp_column = warp % Tile::kWarpColumns * Tile::kWarpN;
  const float* a_lane = shared + member * Tile::kStrideA + warp_row + 2 * group;
  const float* b_lane = shared + Tile::kFloatsA + member * Tile::kStrideB + warp_column + group;

  FragmentSums<Tile::kMode, Tile::kFragmentsM, Tile::kFragmentsN> sums;
#pragma unroll
  for (int chunk = 0; chunk < Tile::kStages - 1; ++chunk) copy(chunk);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    device::async_wait<Tile::kStages - 2>();
    __syncthreads();  // this chunk is there for all, and the previous one read by all
    copy(chunk + Tile::kStages - 1);  // into the stage of the previous chunk
    const int stage = chunk % Tile::kStages * Tile::kStageFloats;
#pragma unroll
    for (int k0 = 0; k0 < kChunkPixels; k0 += 8) {
      std::uint32_t a[Tile::kFragmentsM][4], b[Tile::kFragmentsN / 2][4];
      const float* a_rows = a_lane + stage + k0 * Tile::kStrideA;
      const float* b_rows = b_lane + stage + k0 * Tile::kStrideB;
      load_fragments<Tile>(a, b, a_rows, b_rows);
      sums.multiply(a, b);
    }
    if (chunk % kChunksOfPart == kChunksOfPart - 1 || chunk + 1 == chunks) sums.end_part();
  }
  device::async_wait<0>();

  const std::int64_t row_floats = std::int64_t{p.column_cells} * kCellFloats;
  float* to = p.partials + std::int64_t{slice} * p.filters * row_floats;
  store_sums<Tile>(to, sums, p, row0 + warp_row, cell0 * kCellFloats + warp_column, group, member);
}

std::int64_t aligned(std::int64_t bytes) {
  return round_up(bytes, 256);
}

template <class Tile>
void launch_product(const WeightProduct& p, std::int64_t slices, const Stream& stream) {
  const Launch config{dim3(static_cast<unsigned>(p.tiles * slices)), dim3(Tile::kThreads),
                      Tile::kBytes, stream};
  launch(weight_product_kernel<Tile>, config, p);
}

// The cells of a mode; bf16 is multiplied in tf32.
CellType cell_type(ComputeMode mode) {
  return mode == ComputeMode::bf16   ? CellType::bf16_as_fp32
         : mode == ComputeMode::tf32 ? CellType::tf32
                                     : CellType::fp32;
}

// How a call is cut into groups of images, tiles and slices of pixels; no device needed.
struct WeightPlan {
  CellImages dy, x;
  std::int64_t images;  // at a time
  std::int64_t column_cells, row_tiles, tiles, slice_pixels, slices;
  void (*launch_product)(const WeightProduct& p, std::int64_t slices, const Stream& stream);

  WeightPlan(const ConvDims& d, CellType type)
      : dy{d.oc, d.oh(), d.ow(), 0, 0, d.oh(), d.ow(), type}, x{d.c,
                                                                d.h,
                                                                d.w,
                                                                d.pad_h,
                                                                d.pad_w,
                                                                (d.oh() - 1) * d.stride_h + d.kh,
                                                                (d.ow() - 1) * d.stride_w + d.kw,
                                                                type} {
    images = std::min(images_at_a_time(d.n, dy.bytes()), images_at_a_time(d.n, x.bytes()));
    column_cells = d.kh * d.kw * x.groups();
    if (type == CellType::fp32) {
      cut<Tile64x96>(d);
    } else if (d.oc <= 64) {
      cut<Tile64x192>(d);
    } else {
      cut<Tile128x128>(d);
    }
  }
  template <class Tile>
  void cut(const ConvDims& d) {
    launch_product = cuda::launch_product<Tile>;
    row_tiles = divide_up(d.oc, Tile::kM);
    tiles = row_tiles * divide_up(column_cells * kCellFloats, Tile::kN);
    const std::int64_t chunks = divide_up(images * d.oh() * d.ow(), kChunkPixels);
    const std::int64_t most = std::max(std::int64_t{1}, kProcessors * Tile::kBlocks / tiles);
    slice_pixels = std::max(divide_up(chunks, most), kFewestChunks) * kChunkPixels;
    slices = divide_up(images * d.oh() * d.ow(), slice_pixels);
  }
  std::int64_t dy_bytes() const { return aligned(images * dy.bytes()); }
  std::int64_t x_bytes() const { return aligned(images * x.bytes()); }
  std::int64_t bytes(std::int64_t filters) const {
    return dy_bytes() + x_bytes() + slices * filters * column_cells * kCellBytes;
  }
};

}  // namespace

std::size_t tensor_core_weights_bytes(const ConvDims& dims, ComputeMode mode) {
  const std::int64_t product = WeightPlan(dims, cell_type(mode)).bytes(dims.oc);
  return std::max(static_cast<std::size_t>(product), bias_gradient_bytes(dims));
}

void conv2d_backward_weights_implicit_gemm_tensor_core(float* dw, float* db, const float* dy,
                                                       const float* x, const ConvDims& d,
                                                       GradientMode mode,
                                                       const ConvOptions& options,
                                                       Workspace workspace, const Stream& stream) {
  const CellType type = cell_type(options.mode);
  const WeightPlan plan(d, type);
  auto* dy_cells = static_cast<std::byte*>(workspace.data);
  std::byte* x_cells = dy_cells + plan.dy_bytes();
  auto* partials = reinterpret_cast<float*>(x_cells + plan.x_bytes());
  // Before the cells, whose memory it borrows.
  if (db != nullptr) bias_gradient(db, dy, d, mode, workspace.data, stream);

  SliceSums sums{dw, partials, 0, &d, kCellFloats, plan.x.groups(), mode};
  if (d.n == 0) sum_slices(sums, stream);
  const std::int64_t pixels = d.oh() * d.ow();
  for (std::int64_t first = 0; first < d.n; first += plan.images) {
    const std::int64_t images = std::min(plan.images, d.n - first);
    pack_cells({dy_cells, dy + first * d.oc * pixels, images, plan.dy},
               {x_cells, x + first * d.c * d.h * d.w, images, plan.x}, {}, type, stream);
    WeightProduct p{};
    p.dy = reinterpret_cast<const uint4*>(dy_cells);
    p.x = reinterpret_cast<const uint4*>(x_cells);
    p.partials = partials;
    p.filters = narrow(d.oc);
    p.filter_cells = narrow(plan.dy.groups());
    p.column_cells = narrow(plan.column_cells);
    p.pixels_in_all = narrow(images * pixels);
    p.row_pitch = narrow(plan.x.cell_width);
    p.plane = narrow(plan.x.plane());
    p.image_cells = narrow(plan.x.cells());
    p.row_step = narrow(window_step(d.stride_h, d.h + 2 * d.pad_h) * plan.x.cell_width);
    p.column_step = narrow(window_step(d.stride_w, d.w + 2 * d.pad_w));
    p.row_tiles = narrow(plan.row_tiles);
    p.tiles = narrow(plan.tiles);
    p.slice_pixels = narrow(plan.slice_pixels);
    p.by_pixels = FastDivide(pixels);
    p.by_out_width = FastDivide(d.ow());
    p.by_kernel_width = FastDivide(d.kw);
    p.by_groups = FastDivide(plan.x.groups());
    sums.slices = divide_up(images * pixels, plan.slice_pixels);
    plan.launch_product(p, sums.slices, stream);
    sum_slices(sums, stream);
    sums.mode = GradientMode::accumulate;
  }
}

}  // namespace weft::kernels::cuda

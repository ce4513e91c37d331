// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_tensor_core": forward and backward data as products on tensor
// cores (mma.sync), their operands gathered by asynchronous copies. sm_80 and later.
//
// Image and filters are packed into cells first (packed_cells.cuh). A chunk of the sum is one group
// of channels at one tap: 64 bytes for each filter and for each pixel, copied to shared memory as
// four quads a row. Because the padding is part of the packed image, a pixel's address is its own
// offset, fixed for the whole kernel, plus the chunk's. Taps run inside, groups outside, so a
// window's cells are copied kh kw times in a row and mostly found in the L1 cache.
//
//        filters (rows)   pixels (columns)        a row of shared memory: 4 quads, exchanged by
//        a, b, c, d       a', b', c', d'          (row / 2) % 4, so that the copies and the
//          64 bytes each: 16 channels, one tap    reads of ldmatrix meet all 32 banks
//
// Four stages in a ring: while one chunk is multiplied, three are under way. Sums stay in
// registers; the result is written in the layout of the images, 32 bytes a row of a fragment.
//
//   tile (filters x pixels)   warps   per warp   registers for sums   shared memory
//   64 x 256                  4       64 x 64    128                  80 KiB
//   128 x 128                 4       64 x 64    128                  64 KiB
//   128 x 96                  4       64 x 48    96                   56 KiB
//   64 x 128                  4       32 x 64    64                   48 KiB
//
// Backward data with strides (a, b) is a b products: pixels of equal remainder read the same taps,
// and those form a dense window of dy of their own.
#include <algorithm>
#include <utility>

#include "engine/launch.h"
#include "kernels/conv/packed_cells.cuh"
#include "kernels/conv/partial_sums.cuh"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/fragment_tiles.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

template <int kM_, int kN_, int kWarpRows_, int kWarpColumns_, int kBlocks_, int kStages_>
struct StencilTile {
  static constexpr int kM = kM_, kN = kN_, kStages = kStages_;
  static constexpr int kWarpRows = kWarpRows_, kWarpColumns = kWarpColumns_;
  static constexpr int kThreads = 32 * kWarpRows * kWarpColumns;
  static constexpr int kBlocks = kBlocks_;  // of an SM, for the registers
  static constexpr int kWarpM = kM / kWarpRows, kWarpN = kN / kWarpColumns;
  static constexpr int kFragmentsM = kWarpM / 16, kFragmentsN = kWarpN / 8;
  static constexpr int kRowsOfThreads = kThreads / kCellQuads;
  static constexpr int kStageBytes = (kM + kN) * kCellBytes;
  static constexpr std::size_t kBytes = std::size_t{kStages} * kStageBytes;
  static_assert(kWarpM % 16 == 0 && kWarpN % 16 == 0, "fragments come in pairs along n");
  static_assert(kM % kRowsOfThreads == 0 && kN % kRowsOfThreads == 0, "threads copy alike");
  static_assert(kRowsOfThreads % 8 == 0, "a thread's rows share their exchange of quads");
};
using Tile64x256 = StencilTile<64, 256, 1, 4, 2, 4>;
using Tile128x128 = StencilTile<128, 128, 2, 2, 2, 4>;
using Tile128x96 = StencilTile<128, 96, 2, 2, 2, 4>;
using Tile64x128 = StencilTile<64, 128, 2, 2, 3, 4>;

// Where results go: pixel (a, b) of an image to row a row_step + row0, column b column_step +
// column0 of its planes.
struct Lattice {
  float* to;  // (images, planes, height, width)
  int planes, width;
  int row0, column0, row_step, column_step;
  std::int64_t plane;    // height width
  FastDivide by_pixels;  // pixels of the lattice in an image
  FastDivide by_width;   // and in a row
  int columns;           // pixels of all images
  const float* bias;     // (planes,) or null
  bool relu, accumulate;
  bool pairs;  // the lattice is the whole plane, and two neighbours lie in 8 aligned bytes

  __device__ __forceinline__ float* at(int column) const {
    int pixel = 0, b = 0;
    const std::int64_t image = by_pixels.divide(column, pixel);
    const int a = by_width.divide(pixel, b);
    return to + image * planes * plane + std::int64_t{a * row_step + row0} * width +
           b * column_step + column0;
  }
  __device__ __forceinline__ float finished(float value, float offset, const float* old) const {
    value += offset;
    if (accumulate) value += *old;
    return relu && value < 0 ? 0.0f : value;
  }
};

// Columns are windows of taps_h x taps_w cells; their sums with the filters are the results.
struct Stencil {
  const uint4* source;   // (images, groups, plane) cells
  const uint4* filters;  // (groups, taps_h, taps_w, padded_rows) cells
  int groups, taps_h, taps_w;
  int row_pitch, plane;               // cells
  int row_step, column_step, origin;  // cells of the window of pixel (a, b)
  int rows, padded_rows, row_tiles;
  Lattice lattice;
};

// The copies of one thread: a quad of some rows of filters and of some windows.
template <class Tile>
struct ChunkCopies {
  static constexpr int kRowsA = Tile::kM / Tile::kRowsOfThreads;
  static constexpr int kRowsB = Tile::kN / Tile::kRowsOfThreads;

  const uint4* filters;     // of the next chunk, this thread's first quad
  const uint4* source;      // of the next chunk, pixel offset 0
  unsigned offset[kRowsB];  // of the windows, in quads
  std::uint32_t shared;     // this thread's quad of row 0 of a stage
  int r = 0, s = 0;         // tap of the next chunk

  __device__ ChunkCopies(const Stencil& p, std::uint32_t stages, int row0, int column0)
      : filters(p.filters + row0 * kCellQuads + threadIdx.x), source(p.source) {
    const int row = threadIdx.x / kCellQuads, quad = threadIdx.x % kCellQuads;
    shared = stages + row * kCellBytes + (quad ^ (row / 2 % kCellQuads)) * 16;
#pragma unroll
    for (int i = 0; i < kRowsB; ++i) {
      // Columns behind the last repeat it and are not stored.
      const int column = min(column0 + row + i * Tile::kRowsOfThreads, p.lattice.columns - 1);
      int pixel = 0, b = 0;
      const int image = p.lattice.by_pixels.divide(column, pixel);
      const int a = p.lattice.by_width.divide(pixel, b);
      const int cell = image * p.groups * p.plane + p.origin + a * p.row_step + b * p.column_step;
      offset[i] = static_cast<unsigned>(cell) * kCellQuads + quad;
    }
  }

  __device__ __forceinline__ void start(const Stencil& p, int stage) {
    const std::uint32_t to = shared + stage * Tile::kStageBytes;
#pragma unroll
    for (int i = 0; i < kRowsA; ++i) {
      device::copy_quad<false>(to + i * Tile::kRowsOfThreads * kCellBytes,
                               filters + i * Tile::kThreads);
    }
#pragma unroll
    for (int i = 0; i < kRowsB; ++i) {
      device::copy_quad<true>(to + (Tile::kM + i * Tile::kRowsOfThreads) * kCellBytes,
                              source + offset[i]);
    }
    filters += p.padded_rows * kCellQuads;
    int cells = 1;
    if (++s == p.taps_w) {
      s = 0;
      cells += p.row_pitch - p.taps_w;
      if (++r == p.taps_h) {
        r = 0;
        cells += p.plane - p.taps_h * p.row_pitch;
      }
    }
    source += std::int64_t{cells} * kCellQuads;
  }
};

template <class Tile, bool kBf16>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocks) stencil_kernel(Stencil p) {
  // kStages x (kM rows of filters, kN windows) x 4 quads
  const std::uint32_t stages = device::shared_address(device::dynamic_shared<uint4>());
  const int row0 = static_cast<int>(blockIdx.x % p.row_tiles) * Tile::kM;
  const int column0 = static_cast<int>(blockIdx.x / p.row_tiles) * Tile::kN;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / Tile::kWarpColumns * Tile::kWarpM;
  const int warp_column = warp % Tile::kWarpColumns * Tile::kWarpN;
  ChunkCopies<Tile> copies(p, stages, row0, column0);

  // Rows whose quads this lane names to ldmatrix: of A rows 0-7 and 8-15 at the first quad, then
  // both at the second; of B the two quads of rows 0-7, then of rows 8-15.
  const int exchange = lane / 2 % 4;
  const std::uint32_t a_lane = (warp_row + lane % 16) * kCellBytes + (lane / 16 ^ exchange) * 16;
  const std::uint32_t b_lane = (Tile::kM + warp_column + lane / 16 * 8 + lane % 8) * kCellBytes +
                               (lane / 8 % 2 ^ exchange) * 16;

  const int chunks = p.groups * p.taps_h * p.taps_w;
  const auto copy = [&](int chunk) {
    if (chunk < chunks) copies.start(p, chunk % Tile::kStages);
    device::async_commit();  // also when empty, so that the groups count the chunks
  };
  float sum[Tile::kFragmentsM][Tile::kFragmentsN][4] = {};
#pragma unroll
  for (int chunk = 0; chunk < Tile::kStages - 1; ++chunk) copy(chunk);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    device::async_wait<Tile::kStages - 2>();
    __syncthreads();  // this chunk is there for all, and the previous one read by all
    copy(chunk + Tile::kStages - 1);  // into the stage of the previous chunk
    const std::uint32_t stage = stages + chunk % Tile::kStages * Tile::kStageBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t a[Tile::kFragmentsM][4], b[Tile::kFragmentsN / 2][4];
#pragma unroll
      for (int i = 0; i < Tile::kFragmentsM; ++i) {
        device::load_matrices(a[i], stage + (a_lane ^ half * 32) + i * 16 * kCellBytes);
      }
#pragma unroll
      for (int j = 0; j < Tile::kFragmentsN / 2; ++j) {
        device::load_matrices(b[j], stage + (b_lane ^ half * 32) + j * 16 * kCellBytes);
      }
#pragma unroll
      for (int i = 0; i < Tile::kFragmentsM; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kFragmentsN; ++j) {
          device::mma_quads<kBf16>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
  device::async_wait<0>();

  const Lattice& to = p.lattice;
  float offset[Tile::kFragmentsM][2];
#pragma unroll
  for (int i = 0; i < 2 * Tile::kFragmentsM; ++i) {
    const int row = row0 + warp_row + 8 * i + lane / 4;
    offset[i / 2][i % 2] = to.bias != nullptr && row < p.rows ? to.bias[row] : 0.0f;
  }
#pragma unroll
  for (int j = 0; j < Tile::kFragmentsN; ++j) {
    const int column = column0 + warp_column + 8 * j + 2 * (lane % 4);
    if (column >= to.columns) continue;
    float* first = to.at(column);
    float* second = to.pairs || column + 1 >= to.columns ? nullptr : to.at(column + 1);
#pragma unroll
    for (int i = 0; i < 2 * Tile::kFragmentsM; ++i) {
      const int row = row0 + warp_row + 8 * i + lane / 4;
      if (row >= p.rows) continue;
      const float bias = offset[i / 2][i % 2];
      const float one = sum[i / 2][j][i % 2 * 2], two = sum[i / 2][j][i % 2 * 2 + 1];
      float* at = first + row * to.plane;
      if (to.pairs) {
        *reinterpret_cast<float2*>(at) = {to.finished(one, bias, at),
                                          to.finished(two, bias, at + 1)};
        continue;
      }
      *at = to.finished(one, bias, at);
      if (second == nullptr) continue;
      at = second + row * to.plane;
      *at = to.finished(two, bias, at);
    }
  }
}

template <class Tile>
void launch_stencil(Stencil p, bool bf16, const Stream& stream) {
  p.row_tiles = (p.rows + Tile::kM - 1) / Tile::kM;
  const std::int64_t column_tiles = (std::int64_t{p.lattice.columns} + Tile::kN - 1) / Tile::kN;
  const Launch config{dim3(static_cast<unsigned>(p.row_tiles * column_tiles)), dim3(Tile::kThreads),
                      Tile::kBytes, stream};
  if (bf16) {
    launch(stencil_kernel<Tile, true>, config, p);
  } else {
    launch(stencil_kernel<Tile, false>, config, p);
  }
}

// Time of a tile's blocks, in units of their arithmetic: an SM runs kBlocks of them at a time, and
// fewer leave part of it idle. `overhead`: of a smaller tile, which is copied and read more often.
template <class Tile>
double tile_cost(const Stencil& p, std::int64_t processors, double overhead) {
  const std::int64_t rows = (p.rows + Tile::kM - 1) / Tile::kM;
  const std::int64_t columns = (std::int64_t{p.lattice.columns} + Tile::kN - 1) / Tile::kN;
  const std::int64_t rounds = (rows * columns + processors - 1) / processors;  // on the busiest SM
  const double idle = rounds % Tile::kBlocks == 0 ? 0 : 0.4;
  return (static_cast<double>(rounds) + idle) * Tile::kM * Tile::kN * overhead;
}

void run_stencil(const Stencil& p, bool bf16, const Stream& stream) {
  const std::int64_t processors = std::max(1, device_properties(stream.device()).multiprocessors);
  using Run = void (*)(Stencil, bool, const Stream&);
  const std::pair<double, Run> choices[] = {
      {tile_cost<Tile64x256>(p, processors, 1.03), launch_stencil<Tile64x256>},
      {tile_cost<Tile128x128>(p, processors, 1.0), launch_stencil<Tile128x128>},
      {tile_cost<Tile128x96>(p, processors, 1.05), launch_stencil<Tile128x96>},
      {tile_cost<Tile64x128>(p, processors, 1.25), launch_stencil<Tile64x128>}};
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::ranges::min_element(choices, less)->second(p, bf16, stream);
}

int narrow(std::int64_t value) {
  return static_cast<int>(value);
}

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

CellType cell_type(ComputeMode mode) {
  return mode == ComputeMode::bf16 ? CellType::bf16 : CellType::tf32;
}

CellImages forward_images(const ConvDims& d, CellType type) {
  return {d.c,
          d.h,
          d.w,
          d.pad_h,
          d.pad_w,
          (d.oh() - 1) * d.stride_h + d.kh,
          (d.ow() - 1) * d.stride_w + d.kw,
          type};
}

CellFilters forward_filters(const ConvDims& d, CellType type) {
  CellFilters f;
  f.rows = d.oc;
  f.padded_rows = (d.oc + 127) / 128 * 128;
  f.channels = d.c;
  f.taps_h = d.kh;
  f.taps_w = d.kw;
  f.row_stride = d.c * d.kh * d.kw;
  f.channel_stride = d.kh * d.kw;
  f.kw = d.kw;
  f.type = type;
  return f;
}

// Along one axis, the input pixels i0, i0 + stride, ..., which read the taps tap0, tap0 + stride,
// ... of a kernel. Pixel a of them reads rows first + a ... first + a + taps - 1 of dy.
struct Phase {
  std::int64_t i0, count, tap0, taps, first;

  Phase(std::int64_t i0_, std::int64_t size, std::int64_t kernel, std::int64_t stride,
        std::int64_t pad)
      : i0(i0_), count((size - i0 + stride - 1) / stride), tap0((i0 + pad) % stride) {
    taps = tap0 < kernel ? (kernel - tap0 + stride - 1) / stride : 0;
    first = (i0 + pad) / stride - (taps - 1);
  }
};

// The border of dy that all phases along one axis read, and dy's extent with it.
struct Border {
  std::int64_t before, extent;

  Border(std::int64_t size, std::int64_t outputs, std::int64_t kernel, std::int64_t stride,
         std::int64_t pad)
      : before(0) {
    std::int64_t end = outputs;
    for (std::int64_t i = 0; i < std::min(stride, size); ++i) {
      const Phase phase(i, size, kernel, stride, pad);
      if (phase.taps == 0) continue;
      before = std::max(before, -phase.first);
      end = std::max(end, phase.first + phase.count - 1 + phase.taps);
    }
    extent = before + end;
  }
};

CellImages backward_images(const ConvDims& d, CellType type) {
  const Border rows(d.h, d.oh(), d.kh, d.stride_h, d.pad_h);
  const Border columns(d.w, d.ow(), d.kw, d.stride_w, d.pad_w);
  return {d.oc, d.oh(), d.ow(), rows.before, columns.before, rows.extent, columns.extent, type};
}

// Rows are channels, and the taps of the phase run backwards.
CellFilters backward_filters(const ConvDims& d, CellType type, const Phase& rows,
                             const Phase& columns) {
  CellFilters f;
  f.rows = d.c;
  f.padded_rows = (d.c + 127) / 128 * 128;
  f.channels = d.oc;
  f.taps_h = rows.taps;
  f.taps_w = columns.taps;
  f.row_stride = d.kh * d.kw;
  f.channel_stride = d.c * d.kh * d.kw;
  f.r0 = rows.tap0 + (rows.taps - 1) * d.stride_h;
  f.r_step = -d.stride_h;
  f.s0 = columns.tap0 + (columns.taps - 1) * d.stride_w;
  f.s_step = -d.stride_w;
  f.kw = d.kw;
  f.type = type;
  return f;
}

// All phases together have every tap once.
std::int64_t all_filter_bytes(std::int64_t rows, std::int64_t channels, const ConvDims& d,
                              CellType type) {
  CellFilters f;
  f.padded_rows = (rows + 127) / 128 * 128;
  f.channels = channels;
  f.taps_h = d.kh;
  f.taps_w = d.kw;
  f.type = type;
  return aligned(f.cells() * kCellBytes);
}

bool pair_planes(const float* to, std::int64_t plane) {
  return reinterpret_cast<std::uintptr_t>(to) % 8 == 0 && plane % 2 == 0;
}

Stencil make_stencil(const CellImages& images, const CellFilters& filters, const void* source,
                     const void* weights) {
  Stencil p{};
  p.source = static_cast<const uint4*>(source);
  p.filters = static_cast<const uint4*>(weights);
  p.groups = narrow(images.groups());
  p.taps_h = narrow(filters.taps_h);
  p.taps_w = narrow(filters.taps_w);
  p.row_pitch = narrow(images.cell_width);
  p.plane = narrow(images.plane());
  p.rows = narrow(filters.rows);
  p.padded_rows = narrow(filters.padded_rows);
  return p;
}

}  // namespace

std::size_t tensor_core_workspace_bytes(ConvPass pass, const ConvDims& d, ComputeMode mode) {
  if (pass == ConvPass::backward_weights) return tensor_core_weights_bytes(d);
  check_image_size(d);
  const CellType type = cell_type(mode);
  const bool forward = pass == ConvPass::forward;
  const CellImages layout = forward ? forward_images(d, type) : backward_images(d, type);
  const std::int64_t filters =
      forward ? all_filter_bytes(d.oc, d.c, d, type) : all_filter_bytes(d.c, d.oc, d, type);
  return static_cast<std::size_t>(filters + images_at_a_time(d.n, layout.bytes()) * layout.bytes());
}

void conv2d_forward_implicit_gemm_tensor_core(float* y, const float* x, const float* w,
                                              const float* bias, const ConvDims& d,
                                              Epilogue epilogue, const ConvOptions& options,
                                              Workspace workspace, const Stream& stream) {
  check_image_size(d);
  const CellType type = cell_type(options.mode);
  const CellImages layout = forward_images(d, type);
  const CellFilters filters = forward_filters(d, type);
  auto* weights = static_cast<std::byte*>(workspace.data);
  std::byte* cells = weights + all_filter_bytes(d.oc, d.c, d, type);
  const std::int64_t pixels = d.oh() * d.ow(), group = images_at_a_time(d.n, layout.bytes());
  for (std::int64_t first = 0; first < d.n; first += group) {
    const std::int64_t images = std::min(group, d.n - first);
    const FilterPacking weight_packing{first == 0 ? weights : nullptr, w, filters};
    pack_cells({cells, x + first * d.c * d.h * d.w, images, layout}, {}, weight_packing, type,
               stream);
    Stencil p = make_stencil(layout, filters, cells, weights);
    p.row_step = narrow(d.stride_h * layout.cell_width);
    p.column_step = narrow(d.stride_w);
    p.origin = 0;
    float* to = y + first * d.oc * pixels;
    p.lattice = {to,
                 narrow(d.oc),
                 narrow(d.ow()),
                 0,
                 0,
                 1,
                 1,
                 pixels,
                 FastDivide(pixels),
                 FastDivide(d.ow()),
                 narrow(images * pixels),
                 bias,
                 epilogue == Epilogue::relu,
                 false,
                 pair_planes(to, pixels)};
    run_stencil(p, type == CellType::bf16, stream);
  }
}

void conv2d_backward_data_implicit_gemm_tensor_core(float* dx, const float* dy, const float* w,
                                                    const ConvDims& d, GradientMode mode,
                                                    const ConvOptions& options, Workspace workspace,
                                                    const Stream& stream) {
  check_image_size(d);
  const CellType type = cell_type(options.mode);
  const CellImages layout = backward_images(d, type);
  auto* all_weights = static_cast<std::byte*>(workspace.data);
  std::byte* cells = all_weights + all_filter_bytes(d.c, d.oc, d, type);
  const std::int64_t pixels = d.h * d.w, group = images_at_a_time(d.n, layout.bytes());
  const bool dense = d.stride_h == 1 && d.stride_w == 1;
  for (std::int64_t first = 0; first < d.n; first += group) {
    const std::int64_t images = std::min(group, d.n - first);
    const ImagePacking packing{cells, dy + first * d.oc * d.oh() * d.ow(), images, layout};
    float* to = dx + first * d.c * pixels;
    std::byte* weights = all_weights;
    const std::int64_t row_phases = std::min(d.stride_h, d.h);
    const std::int64_t column_phases = std::min(d.stride_w, d.w);
    for (std::int64_t phase = 0; phase < row_phases * column_phases; ++phase) {
      const Phase rows(phase / column_phases, d.h, d.kh, d.stride_h, d.pad_h);
      const Phase columns(phase % column_phases, d.w, d.kw, d.stride_w, d.pad_w);
      const std::int64_t lattice = rows.count * columns.count;
      const CellFilters filters = backward_filters(d, type, rows, columns);
      const FilterPacking weight_packing{first == 0 ? weights : nullptr, w, filters};
      pack_cells(phase == 0 ? packing : ImagePacking{}, {}, weight_packing, type, stream);
      Stencil p = make_stencil(layout, filters, cells, weights);
      weights += filters.cells() * kCellBytes;
      p.row_step = narrow(layout.cell_width);
      p.column_step = 1;
      p.origin =
          narrow((rows.first + layout.top) * layout.cell_width + columns.first + layout.left);
      p.lattice = {to,
                   narrow(d.c),
                   narrow(d.w),
                   narrow(rows.i0),
                   narrow(columns.i0),
                   narrow(d.stride_h),
                   narrow(d.stride_w),
                   pixels,
                   FastDivide(lattice),
                   FastDivide(columns.count),
                   narrow(images * lattice),
                   nullptr,
                   false,
                   mode == GradientMode::accumulate,
                   dense && pair_planes(to, pixels)};
      run_stencil(p, type == CellType::bf16, stream);
    }
  }
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_tensor_core": forward and backward data as stencils.
//
// Backward data with strides (a, b) is a b products: pixels of equal remainder read the same taps,
// and those form a dense window of dy of their own.
#include <algorithm>

#include "engine/extent.h"
#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv/tensor_core/window_product.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

std::int64_t aligned(std::int64_t bytes) {
  return round_up(bytes, 256);
}

CellType cell_type(ComputeMode mode) {
  return mode == ComputeMode::bf16   ? CellType::bf16
         : mode == ComputeMode::tf32 ? CellType::tf32
                                     : CellType::fp32;
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
  f.padded_rows = round_up(d.oc, 128);
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
      : i0(i0_), count(divide_up(size - i0, stride)), tap0((i0 + pad) % stride) {
    taps = tap0 < kernel ? divide_up(kernel - tap0, stride) : 0;
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
  f.padded_rows = round_up(d.c, 128);
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
  f.padded_rows = round_up(rows, 128);
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

std::size_t conv_workspace_implicit_gemm_tensor_core(const ConvProblem& problem) {
  const auto& [pass, d, mode] = problem;
  if (pass == ConvPass::backward_weights) return tensor_core_weights_bytes(d, mode);
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
    p.row_step = narrow(window_step(d.stride_h, d.h + 2 * d.pad_h) * layout.cell_width);
    p.column_step = narrow(window_step(d.stride_w, d.w + 2 * d.pad_w));
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
                 nullptr,
                 epilogue == Epilogue::relu,
                 false,
                 pair_planes(to, pixels)};
    run_stencil(p, options.mode, stream);
  }
}

void conv2d_backward_data_implicit_gemm_tensor_core(float* dx, const float* dy, const float* w,
                                                    const ConvDims& d, GradientMode mode,
                                                    const ConvOptions& options, Workspace workspace,
                                                    const Stream& stream) {
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
    const float* mask =
        options.relu_mask != nullptr ? options.relu_mask + first * d.c * pixels : nullptr;
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
                   mask,
                   false,
                   mode == GradientMode::accumulate,
                   dense && pair_planes(to, pixels)};
      run_stencil(p, options.mode, stream);
    }
  }
}

}  // namespace weft::kernels::cuda

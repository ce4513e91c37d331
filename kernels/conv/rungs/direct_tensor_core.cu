// SPDX-License-Identifier: MIT
// Convolution, rung "direct_tensor_core": images in shared memory as in `direct`, products on
// tensor cores in fp32 accuracy (direct_operands.cuh). sm_80 and later.
//
// Forward: filters are the rows, so that a lane's results are neighbours of a plane of y. k runs
// along (c, r, s), the order of the filters in memory.
//
// Backward data: with a border around dy half of the products would meet its zeros, and a few
// channels do not fill a tile. So a row is (c, s), a channel at one column of the filter, and k is
// (r, o). A column of the product is pixel (i, q): row i of dx and column q of dy:
//
//   part[c, s][i, q] = sum over r, o of w[o, c, r, s] dy[o, i + pad - r, q]
//   dx[c, i, j]      = sum over s of part[c, s][i, j + pad - s]
//
// The parts go through shared memory. A border is needed above and below only; steps whose r meets
// only the border are left out.
//
// The budget is for 256 images of LeNet's second layer, x (6, 14, 14) and 16 filters of 5 x 5, on
// 132 SMs. A block has one image, and the two blocks of an SM overlap: one copies while the other
// multiplies. An SM does an m16n8k8 product in 1.6 clocks. (With two images per block forward took
// 8.5 us instead of 6.2; NOTES.md has the other passes.)
//
//                   tiles of 16 x 8   steps   products   clocks of two   registers   shared memory
//   forward         13                19      3          2370            118         15 KiB
//   backward data   36                10      3          3460            124         40 KiB
//
// For four tiles a warp issues 67 instructions a step. Each tile takes two additions of addresses,
// two loads, four instructions that split and three products; A, the table and the loop take 23.
// The products keep the scheduler busy for 77 clocks. Shared memory serves 14 loads, and only one
// lane in twenty meets another in its bank.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/validate.h"
#include "kernels/conv/tensor_core/direct_correlation.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr std::int64_t kMostColumns = 320;     // of a block, unless one image has more
constexpr std::int64_t kLargestExtent = 4096;  // keeps products of extents in range

// At least `floats` from one row to the next so that four of them, with eight neighbours in each,
// lie in 32 banks.
std::int64_t eight_past_sixteens(std::int64_t floats) {
  return round_up(floats + 8, 16) - 8;
}

// The extents of a pass's product and of its shared memory.
struct Extents {
  std::int64_t rows, depth, columns;  // columns: of an image
  std::int64_t image_stride;

  std::int64_t a_floats() const { return rows * stride_of_rows(depth); }
  std::int64_t bias_floats() const { return round_up(rows, 4); }
  // Whole tiles of 8 columns.
  std::int64_t part_stride(std::int64_t images) const {
    return eight_past_sixteens(round_up(images * columns, 8));
  }
  std::int64_t staged_floats(std::int64_t images) const {
    return round_up(images * image_stride, 4);
  }
  std::int64_t shared_bytes(std::int64_t images, ConvPass pass) const {
    const std::int64_t parts = pass == ConvPass::forward ? 0 : rows * part_stride(images);
    return 4 * (table_floats(depth) + bias_floats() + a_floats() + staged_floats(images) + parts);
  }
};

// Planes of dy, with their border, from one to the next.
std::int64_t gradient_plane_stride(const ConvDims& d) {
  return eight_past_sixteens((d.h + d.kh - 1) * d.ow());
}

Extents extents_of(ConvPass pass, const ConvDims& d) {
  if (pass == ConvPass::forward) {
    return {d.oc, d.c * d.kh * d.kw, d.oh() * d.ow(), StagedImage(d).image_stride};
  }
  return {d.c * d.kw, d.kh * d.oc, d.h * d.ow(), d.oc * gradient_plane_stride(d)};
}

bool in_range(const ConvDims& d) {
  const std::int64_t largest = std::max({d.c, d.oc, d.h, d.w, d.kh, d.kw, d.pad_h, d.pad_w});
  return largest <= kLargestExtent;
}

// Everything but what the passes disagree on, for `images` of a block.
Correlation correlation(const ConvDims& d, const Extents& e, std::int64_t images) {
  Correlation p{};
  p.rows = narrow(e.rows);
  p.row_tiles = narrow(divide_up(e.rows, 16));
  p.depth = narrow(e.depth);
  p.a_stride = narrow(stride_of_rows(e.depth));
  p.columns = narrow(e.columns);
  p.image_stride = narrow(e.image_stride);
  p.part_stride = narrow(e.part_stride(images));
  p.table_floats = narrow(table_floats(e.depth));
  p.bias_floats = narrow(e.bias_floats());
  p.a_floats = narrow(e.a_floats());
  p.staged_floats = narrow(e.staged_floats(images));
  p.images_of_block = narrow(images);
  p.by_columns = FastDivide(e.columns);
  p.by_line = FastDivide(d.ow());
  p.by_kernel_width = FastDivide(d.kw);
  p.by_kernel_height = FastDivide(d.kh);
  p.by_channels = FastDivide(d.c);
  p.by_filters = FastDivide(d.oc);
  p.by_width = FastDivide(d.w);
  p.by_height = FastDivide(d.h);
  p.pad_h = narrow(d.pad_h);
  p.pad_w = narrow(d.pad_w);
  p.out_height = narrow(d.oh());
  p.out_width = narrow(d.ow());
  p.images = d.n;
  return p;
}

// Each place for a block gets its share, up to enough columns for its warps.
std::int64_t images_of_block(ConvPass pass, const ConvDims& d, const Extents& e,
                             std::int64_t processors) {
  std::int64_t images = std::max<std::int64_t>(
      1, std::min(divide_up(d.n, kDirectMmaBlocks * processors), kMostColumns / e.columns));
  while (images > 1 && e.shared_bytes(images, pass) > kDirectMmaSharedBytes) --images;
  return images;
}

void launch_correlation(ConvPass pass, const CorrelationPointers& from, const Correlation& p,
                        const Extents& e, ComputeMode mode, const Stream& stream) {
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  const std::int64_t groups = divide_up(p.images, p.images_of_block);
  const Launch config{dim3(static_cast<unsigned>(std::min(groups, kDirectMmaBlocks * processors))),
                      dim3(kDirectMmaThreads),
                      static_cast<std::size_t>(e.shared_bytes(p.images_of_block, pass)), stream};
  const bool split = mode == ComputeMode::fp32;
  const auto kernel =
      pass == ConvPass::forward
          ? (split ? correlate_mma_kernel<true, false> : correlate_mma_kernel<false, false>)
          : (split ? correlate_mma_kernel<true, true> : correlate_mma_kernel<false, true>);
  launch(kernel, config.overlapped(), from, p);
}

}  // namespace

std::string conv_takes_direct_tensor_core(const ConvProblem& problem) {
  const auto& [pass, dims, mode] = problem;
  if (!in_range(dims)) return "an image or a batch is too large for its 32-bit offsets";
  if (pass == ConvPass::backward_data &&
      (dims.stride_h != 1 || dims.stride_w != 1 || dims.pad_h >= dims.kh)) {
    return "data gradients need stride 1 and less padding than kernel";
  }
  const bool fits = pass == ConvPass::backward_weights
                        ? direct_tensor_core_weights_fit(dims)
                        : extents_of(pass, dims).shared_bytes(1, pass) <= kDirectMmaSharedBytes;
  return fits ? "" : "an image and all filters do not fit in 96 KiB of shared memory";
}

void conv2d_forward_direct_tensor_core(float* y, const float* x, const float* w, const float* bias,
                                       const ConvDims& d, Epilogue epilogue,
                                       const ConvOptions& options, Workspace,
                                       const Stream& stream) {
  const Extents e = extents_of(ConvPass::forward, d);
  const StagedImage staged(d);
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  Correlation p = correlation(d, e, images_of_block(ConvPass::forward, d, e, processors));
  p.line_step = narrow(window_step(d.stride_h, d.h + 2 * d.pad_h) * staged.row_stride);
  p.column_step = narrow(window_step(d.stride_w, d.w + 2 * d.pad_w));
  p.row_stride = narrow(staged.row_stride);
  p.plane_stride = narrow(staged.plane_stride);
  p.runs_of_image = narrow(StagedImage::runs_of_image(d));
  p.image_floats = narrow(d.c * d.h * d.w);
  p.image = staged.runs(x, d);
  p.filters = StagedRuns(w, e.depth, p.a_stride, 0, e.rows, 0);
  p.relu = epilogue == Epilogue::relu;
  p.pairs = e.columns % 2 == 0 && reinterpret_cast<std::uintptr_t>(y) % sizeof(float2) == 0;
  launch_correlation(ConvPass::forward, {y, x, w, bias, nullptr}, p, e, options.mode, stream);
}

void conv2d_backward_data_direct_tensor_core(float* dx, const float* dy, const float* w,
                                             const ConvDims& d, GradientMode mode,
                                             const ConvOptions& options, Workspace,
                                             const Stream& stream) {
  const Extents e = extents_of(ConvPass::backward_data, d);
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  Correlation p = correlation(d, e, images_of_block(ConvPass::backward_data, d, e, processors));
  const std::int64_t border = d.kh - 1 - d.pad_h, plane = d.oh() * d.ow();
  p.line_step = narrow(d.ow());
  p.column_step = 1;
  p.plane_stride = narrow(gradient_plane_stride(d));
  p.runs_of_image = narrow(d.oc);
  p.image_floats = narrow(d.oc * plane);
  p.image = StagedRuns(dy, plane, p.plane_stride, border * d.ow(), std::int64_t{1} << 30, 0);
  p.accumulate = mode == GradientMode::accumulate;
  launch_correlation(ConvPass::backward_data, {dx, dy, w, nullptr, options.relu_mask}, p, e,
                     options.mode, stream);
}

}  // namespace weft::kernels::cuda

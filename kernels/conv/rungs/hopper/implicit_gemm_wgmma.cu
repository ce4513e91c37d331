// SPDX-License-Identifier: MIT
// Convolution, rung "implicit_gemm_wgmma": a call as products of windows.
//
// Backward data is the forward pass of dy with the filters turned by half a turn and channels and
// filters exchanged. With strides the windows are no boxes, which the rung does not take.
#include <algorithm>

#include "engine/extent.h"
#include "kernels/conv/hopper/window_product.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"

namespace weft::kernels::cuda {
namespace {

// The images that a pass reads, and which element of w its filters have where.
struct Operands {
  PixelImages pixels;
  CellFilters filters;

  Operands(ConvPass pass, const ConvDims& d, ComputeMode mode) {
    const bool forward = pass == ConvPass::forward;
    const std::int64_t taps = d.kh * d.kw;
    pixels = forward ? PixelImages{d.c, d.h, d.w} : PixelImages{d.oc, d.oh(), d.ow()};
    pixels.type = mode == ComputeMode::bf16   ? CellType::bf16
                  : mode == ComputeMode::tf32 ? CellType::tf32
                                              : CellType::halves;
    filters.rows = forward ? d.oc : d.c;
    filters.channels = pixels.channels;
    filters.taps_h = d.kh;
    filters.taps_w = d.kw;
    filters.row_stride = forward ? d.c * taps : taps;
    filters.channel_stride = forward ? taps : d.c * taps;
    filters.kw = d.kw;
    if (!forward) {
      filters.r0 = d.kh - 1, filters.r_step = -1;
      filters.s0 = d.kw - 1, filters.s_step = -1;
    }
    filters.type = pixels.type;
  }
  std::int64_t filter_bytes() const {
    const std::int64_t taps = filters.taps_h * filters.taps_w;
    return round_up(taps * filters.rows * pixels.filter_quads() * 16, 256);
  }
  // Largest values of halves: of the images, and of each filter.
  std::int64_t largest_bytes() const {
    return pixels.type == CellType::halves ? round_up(4 * (kLargestParts + filters.rows), 256) : 0;
  }
};

// Packs and multiplies some images at a time. `product` has what the operands do not say, and
// `to` and `mask` of the first image.
void run(const Operands& operands, WindowProduct product, const float* source, const float* w,
         std::int64_t n, Workspace workspace, const Stream& stream) {
  const PixelImages& layout = operands.pixels;
  auto* filters = static_cast<std::byte*>(workspace.data);
  std::byte* pixels = filters + operands.filter_bytes();
  const bool halves = layout.type == CellType::halves;
  product.pixels = pixels;
  product.filters = filters;
  product.source_height = layout.height;
  product.source_width = layout.width;
  product.quads = layout.quads();
  product.filter_quads = layout.filter_quads();
  product.rows = operands.filters.rows;
  product.taps_h = operands.filters.taps_h;
  product.taps_w = operands.filters.taps_w;
  const std::int64_t group = images_at_a_time(n, layout.bytes());
  auto* largest = reinterpret_cast<std::uint32_t*>(pixels + group * layout.bytes());
  if (halves) product.largest = {largest, largest + kLargestParts};
  for (std::int64_t first = 0; first < n; first += group) {
    product.images = std::min(group, n - first);
    if (halves) {
      const std::int64_t count = product.images * layout.channels * layout.plane();
      LargestOfFilters of_filters{largest + kLargestParts, w, operands.filters};
      if (first > 0) of_filters.rows = nullptr;  // they are there
      find_largest({largest, source, count}, {}, of_filters, stream);
    }
    pack_pixels(pixels, source, product.images, layout, first == 0 ? filters : nullptr, w,
                operands.filters, product.largest, stream);
    run_window_product(product, stream);
    source += product.images * layout.channels * layout.plane();
    const std::int64_t results = product.images * product.rows * product.height * product.width;
    product.to += results;
    if (product.mask != nullptr) product.mask += results;
  }
}

}  // namespace

std::string conv_takes_implicit_gemm_wgmma(const ConvProblem& problem) {
  const auto& [pass, d, mode] = problem;
  if (d.stride_h != 1 || d.stride_w != 1)
    return "the copy engine brings boxes, which needs stride 1";
  if (pass == ConvPass::backward_weights && !wgmma_weights_fit(d, mode)) {
    return "weight gradients need kernels of 3 x 3, and images of which a group fits what is "
           "packed";
  }
  return "";
}

std::size_t conv_workspace_implicit_gemm_wgmma(const ConvProblem& problem) {
  const auto& [pass, d, mode] = problem;
  if (pass == ConvPass::backward_weights) return wgmma_weights_bytes(d, mode);
  const Operands operands(pass, d, mode);
  const std::int64_t image = operands.pixels.bytes();
  return static_cast<std::size_t>(operands.filter_bytes() + images_at_a_time(d.n, image) * image +
                                  operands.largest_bytes());
}

void conv2d_forward_implicit_gemm_wgmma(float* y, const float* x, const float* w, const float* bias,
                                        const ConvDims& d, Epilogue epilogue,
                                        const ConvOptions& options, Workspace workspace,
                                        const Stream& stream) {
  WindowProduct product{};
  product.mode = options.mode;
  product.to = y;
  product.height = d.oh();
  product.width = d.ow();
  product.pad_h = d.pad_h;
  product.pad_w = d.pad_w;
  product.bias = bias;
  product.relu = epilogue == Epilogue::relu;
  run(Operands(ConvPass::forward, d, options.mode), product, x, w, d.n, workspace, stream);
}

void conv2d_backward_data_implicit_gemm_wgmma(float* dx, const float* dy, const float* w,
                                              const ConvDims& d, GradientMode mode,
                                              const ConvOptions& options, Workspace workspace,
                                              const Stream& stream) {
  WindowProduct product{};
  product.mode = options.mode;
  product.to = dx;
  product.height = d.h;
  product.width = d.w;
  product.pad_h = d.kh - 1 - d.pad_h;
  product.pad_w = d.kw - 1 - d.pad_w;
  product.mask = options.relu_mask;
  product.accumulate = mode == GradientMode::accumulate;
  run(Operands(ConvPass::backward_data, d, options.mode), product, dy, w, d.n, workspace, stream);
}

}  // namespace weft::kernels::cuda

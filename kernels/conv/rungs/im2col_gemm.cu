// SPDX-License-Identifier: MIT
// Convolution, rung "im2col_gemm": the images are unrolled into matrices, and GEMM does the rest.
//
// Column l of an image's matrix (c kh kw, oh ow) holds the window of x under output pixel l. Then,
// image by image and batched over as many images as the workspace holds (at most 256 MiB),
//   forward           y[n] (oc, oh ow)       = W (oc, c kh kw) columns[n]
//   backward data     columns[n]             = W^T dy[n], and every input pixel gathers the
//                                              columns' elements that came from it (col2im)
//   backward weights  partial[n] (oc, ckhkw) = dy[n] columns[n]^T, summed in order
// Results come out in NCHW without a transposition. The cost is the matrix: kh kw times the
// traffic of x. fp32 uses gemm_register_tiled, tf32 and bf16 gemm_mma_tf32.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/launchers.h"
#include "kernels/conv/parts/channels_last.cuh"
#include "kernels/conv/parts/implicit_gemm_geometry.cuh"
#include "kernels/conv/parts/staged_images.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/gemm/launchers.h"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMaxColumnFloats = 64 << 20;  // 256 MiB

struct ColumnGeometry : ConvGeometry {
  int image_elements;   // c h w
  int column_elements;  // c kh kw oh ow
  int blocks_per_image;
};

ColumnGeometry column_geometry(const ConvDims& d) {
  return {conv_geometry(d), narrow(d.c * d.h * d.w), narrow(d.c * d.kh * d.kw * d.oh() * d.ow()),
          0};
}

// One thread writes one element of the columns of one image.
__global__ void __launch_bounds__(kThreads)
    im2col_kernel(float* __restrict__ columns, const float* __restrict__ x, ColumnGeometry g) {
  const std::int64_t image = blockIdx.x / g.blocks_per_image;
  const int i = static_cast<int>(blockIdx.x % g.blocks_per_image) * kThreads + threadIdx.x;
  if (i >= g.column_elements) return;
  int pixel = 0, q = 0, tap = 0, s = 0;
  const int c = g.by_taps.divide(g.by_output.divide(i, pixel), tap);
  const int r = g.by_kernel_width.divide(tap, s);
  const int p = g.by_out_width.divide(pixel, q);
  const int row = p * g.stride_h + r - g.pad_h, column = q * g.stride_w + s - g.pad_w;
  const bool inside = row >= 0 && row < g.height && column >= 0 && column < g.width;
  const float* from = x + image * g.image_elements;
  columns[image * g.column_elements + i] =
      inside ? from[(c * g.height + row) * g.width + column] : 0.0f;
}

// One thread gathers one element of dx.
__global__ void __launch_bounds__(kThreads)
    col2im_kernel(float* __restrict__ dx, const float* __restrict__ columns, ColumnGeometry g,
                  bool accumulate) {
  const std::int64_t image = blockIdx.x / g.blocks_per_image;
  const int element = static_cast<int>(blockIdx.x % g.blocks_per_image) * kThreads + threadIdx.x;
  if (element >= g.image_elements) return;
  int pixel = 0, j = 0;
  const int c = g.by_input.divide(element, pixel);
  const int i = g.by_width.divide(pixel, j);
  const float* from = columns + image * g.column_elements;
  float sum = 0;
  for (int r = 0; r < g.kernel_height; ++r) {
    int row_rest = 0;
    const int row = i + g.pad_h - r;
    if (row < 0) break;
    const int p = g.by_stride_h.divide(row, row_rest);
    if (row_rest != 0 || p >= g.out_height) continue;
    for (int s = 0; s < g.kernel_width; ++s) {
      int column_rest = 0;
      const int column = j + g.pad_w - s;
      if (column < 0) break;
      const int q = g.by_stride_w.divide(column, column_rest);
      if (column_rest != 0 || q >= g.out_width) continue;
      const int tap = (c * g.kernel_height + r) * g.kernel_width + s;
      sum += from[(tap * g.out_height + p) * g.out_width + q];
    }
  }
  float& to = dx[image * g.image_elements + element];
  to = accumulate ? to + sum : sum;
}

void gemm_images(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                 Epilogue epilogue, ComputeMode mode, const GemmBatch& batch,
                 const Stream& stream) {
  GemmOptions options;
  options.mode = mode;
  options.epilogue = epilogue;
  const auto gemm = mode == ComputeMode::fp32 ? gemm_register_tiled_batched : gemm_mma_tf32_batched;
  gemm(c, a, b, bias, dims, options, batch, stream);
}

// Sizes per image, and how many images share the workspace.
struct ImageGroups {
  std::int64_t pixels, taps, columns, weights, images;
  std::size_t bytes;

  ImageGroups(ConvPass pass, const ConvDims& d)
      : pixels(d.oh() * d.ow()),
        taps(d.c * d.kh * d.kw),
        columns(taps * pixels),
        weights(pass == ConvPass::backward_weights ? d.oc * taps : 0) {
    const std::int64_t floats = columns + weights;
    const std::int64_t most =
        std::max<std::int64_t>(1, kMaxColumnFloats / std::max<std::int64_t>(floats, 1));
    images = std::min(most, std::max<std::int64_t>(d.n, 1));
    bytes = static_cast<std::size_t>(columns_floats() + images * weights) * sizeof(float);
  }
  // The partial sums behind the columns stay aligned to 16 bytes.
  std::int64_t columns_floats() const { return round_up(images * columns, 4); }
};

void im2col(float* columns, const float* x, const ConvDims& dims, std::int64_t images,
            const Stream& stream) {
  ColumnGeometry g = column_geometry(dims);
  g.blocks_per_image = divide_up(g.column_elements, kThreads);
  const Launch config{dim3(blocks_for(images * g.blocks_per_image, 1)), dim3(kThreads), 0, stream};
  launch(im2col_kernel, config, columns, x, g);
}

}  // namespace

void conv2d_forward_im2col_gemm(float* y, const float* x, const float* w, const float* bias,
                                const ConvDims& dims, Epilogue epilogue, const ConvOptions& options,
                                Workspace workspace, const Stream& stream) {
  const ImageGroups groups(ConvPass::forward, dims);
  auto* columns = static_cast<float*>(workspace.data);
  const std::int64_t image = dims.c * dims.h * dims.w, output = dims.oc * groups.pixels;
  for (std::int64_t first = 0; first < dims.n; first += groups.images) {
    const std::int64_t images = std::min(groups.images, dims.n - first);
    im2col(columns, x + first * image, dims, images, stream);
    const GemmDims product{dims.oc, groups.pixels, groups.taps,   false,
                           false,   groups.taps,   groups.pixels, groups.pixels};
    const GemmBatch batch{images, 0, groups.columns, output, true};
    gemm_images(y + first * output, w, columns, bias, product, epilogue, options.mode, batch,
                stream);
  }
}

void conv2d_backward_data_im2col_gemm(float* dx, const float* dy, const float* w,
                                      const ConvDims& dims, GradientMode mode,
                                      const ConvOptions& options, Workspace workspace,
                                      const Stream& stream) {
  const ImageGroups groups(ConvPass::backward_data, dims);
  auto* columns = static_cast<float*>(workspace.data);
  const std::int64_t image = dims.c * dims.h * dims.w, output = dims.oc * groups.pixels;
  ColumnGeometry g = column_geometry(dims);
  g.blocks_per_image = divide_up(g.image_elements, kThreads);
  for (std::int64_t first = 0; first < dims.n; first += groups.images) {
    const std::int64_t images = std::min(groups.images, dims.n - first);
    const GemmDims product{groups.taps, groups.pixels, dims.oc,       true,
                           false,       groups.taps,   groups.pixels, groups.pixels};
    const GemmBatch batch{images, 0, output, groups.columns, false};
    gemm_images(columns, w, dy + first * output, nullptr, product, Epilogue::none, options.mode,
                batch, stream);
    const Launch config{dim3(blocks_for(images * g.blocks_per_image, 1)), dim3(kThreads), 0,
                        stream};
    launch(col2im_kernel, config, dx + first * image, columns, g, mode == GradientMode::accumulate);
  }
}

void conv2d_backward_weights_im2col_gemm(float* dw, float* db, const float* dy, const float* x,
                                         const ConvDims& dims, GradientMode mode,
                                         const ConvOptions& options, Workspace workspace,
                                         const Stream& stream) {
  const ImageGroups groups(ConvPass::backward_weights, dims);
  auto* columns = static_cast<float*>(workspace.data);
  float* partials = columns + groups.columns_floats();
  const std::int64_t image = dims.c * dims.h * dims.w, output = dims.oc * groups.pixels;
  // Before the columns, whose memory it borrows.
  if (db != nullptr) bias_gradient(db, dy, dims, mode, columns, stream);
  if (dims.n == 0) {
    sum_partials(dw, groups.weights, nullptr, 0, partials, 0, groups.weights, mode, stream);
  }
  for (std::int64_t first = 0; first < dims.n; first += groups.images) {
    const std::int64_t images = std::min(groups.images, dims.n - first);
    im2col(columns, x + first * image, dims, images, stream);
    const GemmDims product{dims.oc, groups.taps,   groups.pixels, false,
                           true,    groups.pixels, groups.pixels, groups.taps};
    const GemmBatch batch{images, output, groups.columns, groups.weights, false};
    gemm_images(partials, dy + first * output, columns, nullptr, product, Epilogue::none,
                options.mode, batch, stream);
    sum_partials(dw, groups.weights, nullptr, 0, partials, images, groups.weights,
                 first == 0 ? mode : GradientMode::accumulate, stream);
  }
}

std::size_t conv_workspace_im2col_gemm(const ConvProblem& problem) {
  const std::size_t columns = ImageGroups(problem.pass, problem.dims).bytes;
  if (problem.pass != ConvPass::backward_weights) return columns;
  return std::max(columns, weight_chunks(problem.dims).bytes());
}

}  // namespace weft::kernels::cuda

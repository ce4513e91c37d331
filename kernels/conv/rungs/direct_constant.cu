// SPDX-License-Identifier: MIT
// Convolution, rung "direct_constant": forward and backward data with the filters in constant
// memory.
//
// All threads of a warp want the same weight at the same time, which is what the constant cache is
// for: one access, 32 receivers. A thread computes one pixel for kPlanes filters (or channels, for
// the gradient), so that a value of the image is loaded once for kPlanes products; its lanes lie
// along the pixels.
//
// Constant memory holds 16384 floats. More filters than fit go through it in slices: copy, kernel,
// copy, kernel, in stream order. There is one such place on a device: on one stream, or replayed
// from one graph at a time, calls follow each other and are safe; calls on two streams at once
// would overwrite each other's filters.
#include <algorithm>

#include "engine/cuda/cuda_check.h"
#include "engine/error.h"
#include "engine/launch.h"
#include "kernels/conv/parts/implicit_gemm_geometry.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kPlanes = 8;
constexpr std::int64_t kConstantFloats = 16 * 1024;

__constant__ float constant_weights[kConstantFloats];  // (filters of the slice, c, kh, kw)

// What both passes do with the sums of one pixel.
struct PlaneStore {
  float* to;                           // (n, planes, pixels), from the first plane of the slice on
  std::int64_t planes, pixels, count;  // count: pixels of all images
  const float* bias;
  bool relu, accumulate;

  __device__ __forceinline__ void operator()(const float (&sum)[kPlanes], std::int64_t image,
                                             std::int64_t pixel, int plane0, int end) const {
#pragma unroll
    for (int f = 0; f < kPlanes; ++f) {
      if (plane0 + f >= end) return;
      float* at = to + (image * planes + plane0 + f) * pixels + pixel;
      float value = sum[f];
      if (bias != nullptr) value += bias[plane0 + f];
      if (accumulate) value += *at;
      *at = relu && value < 0 ? 0.0f : value;
    }
  }
};

// kKernel: height and width of the kernel, or 0 for any.
template <int kKernel>
__global__ void __launch_bounds__(kThreads)
    constant_forward_kernel(PlaneStore store, const float* __restrict__ x, ConvGeometry g,
                            int filters) {
  const int kernel_height = kKernel > 0 ? kKernel : g.kernel_height;
  const int kernel_width = kKernel > 0 ? kKernel : g.kernel_width;
  const int taps = kernel_height * kernel_width;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= store.count) return;
  const std::int64_t image = at / store.pixels, pixel = at % store.pixels;
  int q = 0;
  const int p = g.by_out_width.divide(static_cast<int>(pixel), q);
  const int top = p * g.stride_h - g.pad_h, left = q * g.stride_w - g.pad_w;
  const int filter0 = static_cast<int>(blockIdx.y) * kPlanes;
  int weights[kPlanes];  // of each filter, the tap that comes next
#pragma unroll
  for (int f = 0; f < kPlanes; ++f) weights[f] = min(filter0 + f, filters - 1) * g.channels * taps;

  float sum[kPlanes] = {};
  const float* plane = x + image * g.channels * g.input_plane();
  for (int c = 0; c < g.channels; ++c, plane += g.input_plane()) {
#pragma unroll
    for (int r = 0; r < kernel_height; ++r) {
      const bool row_inside = static_cast<unsigned>(top + r) < static_cast<unsigned>(g.height);
#pragma unroll
      for (int s = 0; s < kernel_width; ++s) {
        const bool inside =
            row_inside && static_cast<unsigned>(left + s) < static_cast<unsigned>(g.width);
        const float value = inside ? __ldg(plane + (top + r) * g.width + left + s) : 0.0f;
#pragma unroll
        for (int f = 0; f < kPlanes; ++f) {
          sum[f] += value * constant_weights[weights[f] + r * kernel_width + s];
        }
      }
    }
#pragma unroll
    for (int f = 0; f < kPlanes; ++f) weights[f] += taps;
  }
  store(sum, image, pixel, filter0, filters);
}

// Filters [0, filters) of the slice add to all channels; dy begins at the slice's first filter.
template <int kKernel>
__global__ void __launch_bounds__(kThreads)
    constant_backward_kernel(PlaneStore store, const float* __restrict__ dy, ConvGeometry g,
                             int filters) {
  const int kernel_height = kKernel > 0 ? kKernel : g.kernel_height;
  const int kernel_width = kKernel > 0 ? kKernel : g.kernel_width;
  const int taps = kernel_height * kernel_width;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= store.count) return;
  const std::int64_t image = at / store.pixels, pixel = at % store.pixels;
  int j = 0;
  const int i = g.by_width.divide(static_cast<int>(pixel), j);
  const int channel0 = static_cast<int>(blockIdx.y) * kPlanes;
  int weights[kPlanes];  // of each channel, the first tap of the filter that comes next
#pragma unroll
  for (int f = 0; f < kPlanes; ++f) weights[f] = min(channel0 + f, g.channels - 1) * taps;

  float sum[kPlanes] = {};
  const float* plane = dy + image * g.filters * g.output_plane();
  for (int o = 0; o < filters; ++o, plane += g.output_plane()) {
#pragma unroll
    for (int r = 0; r < kernel_height; ++r) {
      int row_rest = 0;
      const int bottom = i + g.pad_h - r;
      const int p = g.by_stride_h.divide(max(bottom, 0), row_rest);
      const bool row_inside = bottom >= 0 && row_rest == 0 && p < g.out_height;
#pragma unroll
      for (int s = 0; s < kernel_width; ++s) {
        int column_rest = 0;
        const int right = j + g.pad_w - s;
        const int q = g.by_stride_w.divide(max(right, 0), column_rest);
        const bool inside = row_inside && right >= 0 && column_rest == 0 && q < g.out_width;
        const float value = inside ? __ldg(plane + p * g.out_width + q) : 0.0f;
#pragma unroll
        for (int f = 0; f < kPlanes; ++f) {
          sum[f] += value * constant_weights[weights[f] + r * kernel_width + s];
        }
      }
    }
#pragma unroll
    for (int f = 0; f < kPlanes; ++f) weights[f] += g.channels * taps;
  }
  store(sum, image, pixel, channel0, g.channels);
}

// Calls start(first filter, filters) for slices of the filters, each in constant memory by then.
template <class Start>
void for_constant_slices(const float* w, const ConvDims& d, const Stream& stream,
                         const Start& start) {
  const std::int64_t filter = d.c * d.kh * d.kw;
  const std::int64_t most = kConstantFloats / filter;
  const Stream::Hold held = stream.hold();  // each slice is read before the next one is copied
  for (std::int64_t first = 0; first < d.oc; first += most) {
    const std::int64_t filters = std::min(most, d.oc - first);
    cuda_check(cudaMemcpyToSymbolAsync(constant_weights, w + first * filter,
                                       static_cast<std::size_t>(filters * filter) * sizeof(float),
                                       0, cudaMemcpyDeviceToDevice, stream.native()),
               "copy of filters to constant memory");
    start(first, static_cast<int>(filters));
  }
}

Launch launch_of(std::int64_t pixels, std::int64_t planes, const Stream& stream) {
  const dim3 grid(blocks_for(pixels, kThreads), blocks_for(planes, kPlanes));
  return {grid, dim3(kThreads), 0, stream};
}

}  // namespace

std::string conv_takes_direct_constant(const ConvProblem& problem) {
  const ConvDims& d = problem.dims;
  if (d.c * d.kh * d.kw > kConstantFloats) {
    return str("constant memory holds filters of at most ", kConstantFloats, " weights, found ",
               d.c * d.kh * d.kw);
  }
  return "";
}

void conv2d_forward_direct_constant(float* y, const float* x, const float* w, const float* bias,
                                    const ConvDims& d, Epilogue epilogue, const ConvOptions&,
                                    Workspace, const Stream& stream) {
  const std::int64_t pixels = d.oh() * d.ow();
  const auto kernel = d.kh == 3 && d.kw == 3   ? constant_forward_kernel<3>
                      : d.kh == 5 && d.kw == 5 ? constant_forward_kernel<5>
                                               : constant_forward_kernel<0>;
  for_constant_slices(w, d, stream, [&](std::int64_t first, int filters) {
    const PlaneStore store{y + first * pixels,
                           d.oc,
                           pixels,
                           d.n * pixels,
                           bias != nullptr ? bias + first : nullptr,
                           epilogue == Epilogue::relu,
                           false};
    launch(kernel, launch_of(store.count, filters, stream), store, x, conv_geometry(d), filters);
  });
}

void conv2d_backward_data_direct_constant(float* dx, const float* dy, const float* w,
                                          const ConvDims& d, GradientMode mode, const ConvOptions&,
                                          Workspace, const Stream& stream) {
  const std::int64_t pixels = d.h * d.w;
  const auto kernel = d.kh == 3 && d.kw == 3   ? constant_backward_kernel<3>
                      : d.kh == 5 && d.kw == 5 ? constant_backward_kernel<5>
                                               : constant_backward_kernel<0>;
  for_constant_slices(w, d, stream, [&](std::int64_t first, int filters) {
    const bool add = mode == GradientMode::accumulate || first > 0;
    const PlaneStore store{dx, d.c, pixels, d.n * pixels, nullptr, false, add};
    launch(kernel, launch_of(store.count, d.c, stream), store, dy + first * d.oh() * d.ow(),
           conv_geometry(d), filters);
  });
}

}  // namespace weft::kernels::cuda

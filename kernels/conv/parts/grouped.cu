// SPDX-License-Identifier: MIT
// Convolution in groups and with dilation, straight from the formula.
//
// A filter of a depthwise convolution reads one channel, so a product has no matrix to be: 9 values
// and 9 weights make an output of a 3 x 3 kernel. Forward and the data gradient have a thread for
// each result, neighbours along a row, so that a warp reads neighbouring pixels and one weight. The
// taps of a thread and of its neighbours meet in the L1 cache. The weight gradient has a block for
// each weight, which sums over all images in a fixed order.
#include "kernels/conv/parts/grouped_launchers.h"

#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kLeastBlocks = 4;  // of a multiprocessor; without it sm_80 spills 16 bytes

// The extents of a plane fit in 31 bits; the number of planes need not.
struct Shape {
  int h, w, oh, ow, kh, kw, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int channels, filters;  // of one group
  int c, oc;
};

Shape shape_of(const GroupedConvDims& d) {
  return {narrow(d.h),
          narrow(d.w),
          narrow(d.oh()),
          narrow(d.ow()),
          narrow(d.kh),
          narrow(d.kw),
          narrow(d.stride_h),
          narrow(d.stride_w),
          narrow(d.pad_h),
          narrow(d.pad_w),
          narrow(d.dilation_h),
          narrow(d.dilation_w),
          narrow(d.group_channels()),
          narrow(d.group_filters()),
          narrow(d.c),
          narrow(d.oc)};
}

template <class Index>
__global__ void __launch_bounds__(kThreads, kLeastBlocks)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ w,
                   const float* __restrict__ bias, Shape d, Index count, bool relu) {
  const Index step = static_cast<Index>(device::grid_threads());
  for (Index at = static_cast<Index>(device::global_thread()); at < count; at += step) {
    const device::PlanePosition<Index> place(at, d.oh, d.ow);
    const std::int64_t image = static_cast<std::int64_t>(place.plane / static_cast<Index>(d.oc));
    const int o = static_cast<int>(place.plane % static_cast<Index>(d.oc));
    const std::int64_t first = image * d.c + o / d.filters * d.channels;
    const float* kernel = w + static_cast<std::int64_t>(o) * d.channels * d.kh * d.kw;
    const int top = place.row * d.stride_h - d.pad_h, left = place.column * d.stride_w - d.pad_w;
    float sum = bias != nullptr ? bias[o] : 0.0f;
    for (int c = 0; c < d.channels; ++c) {
      const float* plane = x + (first + c) * d.h * d.w;
      for (int r = 0; r < d.kh; ++r, kernel += d.kw) {
        const int i = top + r * d.dilation_h;
        if (i < 0 || i >= d.h) continue;
        const float* row = plane + static_cast<std::int64_t>(i) * d.w;
        for (int s = 0; s < d.kw; ++s) {
          const int j = left + s * d.dilation_w;
          if (j >= 0 && j < d.w) sum += row[j] * kernel[s];
        }
      }
    }
    y[at] = relu && sum < 0.0f ? 0.0f : sum;
  }
}

template <class Index>
__global__ void __launch_bounds__(kThreads)
    backward_data_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                         const float* __restrict__ w, Shape d, Index count, bool accumulate) {
  const Index step = static_cast<Index>(device::grid_threads());
  const int taps = d.kh * d.kw;
  for (Index at = static_cast<Index>(device::global_thread()); at < count; at += step) {
    const device::PlanePosition<Index> place(at, d.h, d.w);
    const std::int64_t image = static_cast<std::int64_t>(place.plane / static_cast<Index>(d.c));
    const int channel = static_cast<int>(place.plane % static_cast<Index>(d.c));
    const int group = channel / d.channels, c = channel - group * d.channels;
    float sum = 0.0f;
    for (int k = 0; k < d.filters; ++k) {
      const int o = group * d.filters + k;
      const float* plane = dy + (image * d.oc + o) * d.oh * d.ow;
      const float* kernel = w + (static_cast<std::int64_t>(o) * d.channels + c) * taps;
      for (int r = 0; r < d.kh; ++r, kernel += d.kw) {
        const int i = place.row + d.pad_h - r * d.dilation_h;
        const int p = i / d.stride_h;
        if (i < 0 || p * d.stride_h != i || p >= d.oh) continue;
        const float* row = plane + static_cast<std::int64_t>(p) * d.ow;
        for (int s = 0; s < d.kw; ++s) {
          const int j = place.column + d.pad_w - s * d.dilation_w;
          const int q = j / d.stride_w;
          if (j >= 0 && q * d.stride_w == j && q < d.ow) sum += row[q] * kernel[s];
        }
      }
    }
    dx[at] = accumulate ? dx[at] + sum : sum;
  }
}

// A block for each of several weights in turn.
__global__ void __launch_bounds__(kThreads)
    backward_weights_kernel(float* __restrict__ dw, const float* __restrict__ dy,
                            const float* __restrict__ x, Shape d, std::int64_t images,
                            std::int64_t count, bool accumulate) {
  __shared__ device::BlockReduceStorage<float, kThreads> storage;
  const int taps = d.kh * d.kw, pixels = d.oh * d.ow;
  for (std::int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    const int tap = static_cast<int>(at % taps), r = tap / d.kw, s = tap % d.kw;
    const int c = static_cast<int>(at / taps % d.channels);
    const int o = static_cast<int>(at / taps / d.channels);
    const int channel = o / d.filters * d.channels + c;
    const int top = r * d.dilation_h - d.pad_h, left = s * d.dilation_w - d.pad_w;
    float sum = 0.0f;
    device::visit_channel(images, d.oc, pixels, o, 0, 1, [&](std::int64_t offset) {
      const std::int64_t plane = offset / pixels, image = plane / d.oc;
      const int pixel = static_cast<int>(offset - plane * pixels);
      const int p = pixel / d.ow, i = p * d.stride_h + top;
      const int j = (pixel - p * d.ow) * d.stride_w + left;
      if (i < 0 || i >= d.h || j < 0 || j >= d.w) return;
      sum += dy[offset] * x[((image * d.c + channel) * d.h + i) * d.w + j];
    });
    const float total = device::block_reduce<kThreads>(sum, device::Add(), storage);
    if (threadIdx.x == 0) dw[at] = accumulate ? dw[at] + total : total;
  }
}

constexpr std::int64_t kMostBlocks = 1 << 20;

Launch per_element(std::int64_t count, const Stream& stream) {
  return {blocks_for(count, kThreads, kMostBlocks), kThreads, 0, stream};
}

}  // namespace

void grouped_conv2d_forward(float* y, const float* x, const float* w, const float* bias,
                            const GroupedConvDims& dims, Epilogue epilogue, const Stream& stream) {
  const std::int64_t count = dims.n * dims.oc * dims.oh() * dims.ow();
  const Launch config = per_element(count, stream);
  const bool relu = epilogue == Epilogue::relu;
  if (count < INT32_MAX) {
    launch(forward_kernel<std::uint32_t>, config, y, x, w, bias, shape_of(dims),
           static_cast<std::uint32_t>(count), relu);
  } else {
    launch(forward_kernel<std::int64_t>, config, y, x, w, bias, shape_of(dims), count, relu);
  }
}

void grouped_conv2d_backward_data(float* dx, const float* dy, const float* w,
                                  const GroupedConvDims& dims, GradientMode mode,
                                  const Stream& stream) {
  const std::int64_t count = dims.n * dims.c * dims.h * dims.w;
  const Launch config = per_element(count, stream);
  const bool accumulate = mode == GradientMode::accumulate;
  if (count < INT32_MAX) {
    launch(backward_data_kernel<std::uint32_t>, config, dx, dy, w, shape_of(dims),
           static_cast<std::uint32_t>(count), accumulate);
  } else {
    launch(backward_data_kernel<std::int64_t>, config, dx, dy, w, shape_of(dims), count,
           accumulate);
  }
}

void grouped_conv2d_backward_weights(float* dw, const float* dy, const float* x,
                                     const GroupedConvDims& dims, GradientMode mode,
                                     const Stream& stream) {
  const std::int64_t count = dims.oc * dims.group_channels() * dims.kh * dims.kw;
  launch(backward_weights_kernel, Launch{blocks_for(count, 1, kMostBlocks), kThreads, 0, stream},
         dw, dy, x, shape_of(dims), dims.n, count, mode == GradientMode::accumulate);
}

}  // namespace weft::kernels::cuda

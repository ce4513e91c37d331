// SPDX-License-Identifier: MIT
// Convolution, rung "direct": a first layer of one channel under 3 x 3 kernels with stride 1. Its
// maps are 32 times its image, so storing y and reading dy bound it.
//
// Forward: a thread holds the windows of 4 neighbouring pixels in 36 registers and walks through
// the filters: three loads of weights, the same for the warp, 36 products, one store of 16 bytes.
//
// Weight gradient: a warp owns kFilters filters, and a lane walks over pairs of pixels. The 3 x 4
// values of the image under a pair come from shared memory once and serve all the filters:
//
//        image  . a b c d .        dw[s] += dy0 a + dy1 b,  dy0 b + dy1 c,  dy0 c + dy1 d
//        dy         0 1            for each row of the kernel
//
// A block's images are one row of partial sums (weight_gradient_sums.cu adds those).
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/staged_images.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/warp.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kKernel = 3, kTaps = kKernel * kKernel;
constexpr int kPixels = 4;         // of a thread, forward
constexpr int kWeightFloats = 12;  // of a filter in shared memory: taps, bias, two unused
constexpr int kMaxThreads = 256;
constexpr std::int64_t kSharedBytes = 48 * 1024;

constexpr int kFilters = 2, kWarps = 16;  // backward weights: of a warp; of a block
constexpr int kBlockFilters = kFilters * kWarps;
constexpr std::int64_t kChunks = 256;  // two blocks for each SM of an H200, nearly

struct OneChannel {
  StagedPlanes image;
  int image_floats;  // of one image with its border in shared memory
  int filters, out_plane;
  device::FastDivide by_out_width;
  std::int64_t images;
};

template <class Plan>
__device__ __forceinline__ void clear(float* shared, const Plan& p, int images) {
  for (int i = threadIdx.x; i < images * p.image_floats; i += blockDim.x) shared[i] = 0;
}

struct ForwardPlan : OneChannel {
  int part_filters, parts;  // a block's share of the filters
  bool relu, vector;        // vector: planes of y start on 16-byte boundaries
};

__global__ void __launch_bounds__(kMaxThreads)
    one_channel_forward_kernel(float* __restrict__ y, const float* __restrict__ x,
                               const float* __restrict__ w, const float* __restrict__ bias,
                               ForwardPlan p) {
  auto* weights = device::dynamic_shared<float>();  // (part_filters, kWeightFloats)
  float* image = weights + p.part_filters * kWeightFloats;
  const int part = static_cast<int>(blockIdx.x % p.parts);
  const std::int64_t n = blockIdx.x / p.parts;
  const int filter0 = part * p.part_filters;
  const int filters = min(p.part_filters, p.filters - filter0);
  for (int i = threadIdx.x; i < filters * kWeightFloats; i += blockDim.x) {
    const int filter = filter0 + i / kWeightFloats, tap = i % kWeightFloats;
    float value = tap == kTaps && bias != nullptr ? bias[filter] : 0.0f;
    if (tap < kTaps) value = __ldg(w + filter * kTaps + tap);
    weights[i] = value;
  }
  clear(image, p, 1);
  __syncthreads();  // zeros before pixels
  p.image.copy(image, x + n * p.image.by_height.divisor() * p.image.by_width.divisor());
  __syncthreads();

  for (int pixel = kPixels * static_cast<int>(threadIdx.x); pixel < p.out_plane;
       pixel += kPixels * static_cast<int>(blockDim.x)) {
    float window[kPixels][kTaps];
#pragma unroll
    for (int i = 0; i < kPixels; ++i) {
      int column = 0;
      const int row = p.by_out_width.divide(min(pixel + i, p.out_plane - 1), column);
      const float* from = image + row * p.image.row_stride + column;
#pragma unroll
      for (int tap = 0; tap < kTaps; ++tap) {
        window[i][tap] = from[tap / kKernel * p.image.row_stride + tap % kKernel];
      }
    }
    float* to = y + (n * p.filters + filter0) * p.out_plane + pixel;
    for (int f = 0; f < filters; ++f, to += p.out_plane) {
      float weight[kWeightFloats];
#pragma unroll
      for (int i = 0; i < kWeightFloats; i += 4) {
        const float4 quad = *reinterpret_cast<const float4*>(weights + f * kWeightFloats + i);
        weight[i] = quad.x, weight[i + 1] = quad.y, weight[i + 2] = quad.z, weight[i + 3] = quad.w;
      }
      float sum[kPixels];
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        sum[i] = weight[kTaps];
#pragma unroll
        for (int tap = 0; tap < kTaps; ++tap) sum[i] += window[i][tap] * weight[tap];
        if (p.relu && sum[i] < 0) sum[i] = 0;  // keeps NaN
      }
      if (p.vector) {
        *reinterpret_cast<float4*>(to) = {sum[0], sum[1], sum[2], sum[3]};
        continue;
      }
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        if (pixel + i < p.out_plane) to[i] = sum[i];
      }
    }
  }
}

struct WeightsPlan : OneChannel {
  int stage_images;  // in shared memory at a time
  int filter_blocks;
  std::int64_t chunk_images, partial_row;
  device::FastDivide by_row_units;  // units: kUnit neighbouring pixels of dy
  int units;                        // of an image
};

// kUnit: 2, or 1 where pairs of dy do not lie in 8 aligned bytes of one row.
template <int kUnit>
__global__ void __launch_bounds__(32 * kWarps, 2)
    one_channel_weights_kernel(float* __restrict__ partials, const float* __restrict__ dy,
                               const float* __restrict__ x, WeightsPlan p) {
  auto* staged = device::dynamic_shared<float>();  // (stage_images, image_floats)
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int filter0 =
      static_cast<int>(blockIdx.x % p.filter_blocks) * kBlockFilters + warp * kFilters;
  const std::int64_t chunk = blockIdx.x / p.filter_blocks;
  const std::int64_t first = chunk * p.chunk_images;
  const std::int64_t end = min(first + p.chunk_images, p.images);
  const std::int64_t in_plane =
      std::int64_t{p.image.by_height.divisor()} * p.image.by_width.divisor();
  clear(staged, p, p.stage_images);

  float sum[kFilters][kTaps] = {}, bias_sum[kFilters] = {};
  for (std::int64_t n0 = first; n0 < end; n0 += p.stage_images) {
    const int images = static_cast<int>(min(end - n0, std::int64_t{p.stage_images}));
    __syncthreads();  // zeros before pixels; the images before are used up
    for (int i = 0; i < images; ++i) {
      p.image.copy<2>(staged + i * p.image_floats, x + (n0 + i) * in_plane);
    }
    __syncthreads();
    for (int i = 0; i < images; ++i) {
      const float* planes = dy + ((n0 + i) * p.filters + filter0) * p.out_plane;
#pragma unroll 2
      for (int unit = lane; unit < p.units; unit += 32) {
        float gradient[kFilters][kUnit];
#pragma unroll
        for (int f = 0; f < kFilters; ++f) {
          const float* from = planes + std::int64_t{f} * p.out_plane + kUnit * unit;
          const bool there = filter0 + f < p.filters;
          if constexpr (kUnit == 2) {
            const float2 pair = there ? __ldg(reinterpret_cast<const float2*>(from)) : float2{};
            gradient[f][0] = pair.x, gradient[f][1] = pair.y;
          } else {
            gradient[f][0] = there ? __ldg(from) : 0.0f;
          }
        }
        int column = 0;
        const int row = p.by_row_units.divide(unit, column);
        const float* corner =
            staged + i * p.image_floats + row * p.image.row_stride + kUnit * column;
#pragma unroll
        for (int r = 0; r < kKernel; ++r, corner += p.image.row_stride) {
          float window[kKernel - 1 + kUnit];
          if constexpr (kUnit == 2) {
            const float2 left = *reinterpret_cast<const float2*>(corner);
            const float2 right = *reinterpret_cast<const float2*>(corner + 2);
            window[0] = left.x, window[1] = left.y, window[2] = right.x, window[3] = right.y;
          } else {
#pragma unroll
            for (int s = 0; s < kKernel; ++s) window[s] = corner[s];
          }
#pragma unroll
          for (int f = 0; f < kFilters; ++f) {
#pragma unroll
            for (int s = 0; s < kKernel; ++s) {
#pragma unroll
              for (int j = 0; j < kUnit; ++j) {
                sum[f][r * kKernel + s] += gradient[f][j] * window[s + j];
              }
            }
          }
        }
#pragma unroll
        for (int f = 0; f < kFilters; ++f) {
#pragma unroll
          for (int j = 0; j < kUnit; ++j) bias_sum[f] += gradient[f][j];
        }
      }
    }
  }

  float* partial = partials + chunk * p.partial_row;
#pragma unroll
  for (int f = 0; f < kFilters; ++f) {
    const int filter = filter0 + f;
    if (filter >= p.filters) return;
#pragma unroll
    for (int tap = 0; tap < kTaps; ++tap) {
      const float total = device::warp_reduce(sum[f][tap], device::Add{});
      if (lane == 0) partial[std::int64_t{filter} * kTaps + tap] = total;
    }
    const float total = device::warp_reduce(bias_sum[f], device::Add{});
    if (lane == 0) partial[std::int64_t{p.filters} * kTaps + filter] = total;
  }
}

// Rows in shared memory: of even length, so that pairs are aligned.
std::int64_t row_stride(const ConvDims& d) {
  return round_up(d.w + 2 * d.pad_w, 2);
}
std::int64_t image_floats(const ConvDims& d) {
  return round_up((d.h + 2 * d.pad_h) * row_stride(d), 4);
}

template <class Plan>
void fill(Plan& p, const ConvDims& d) {
  p.image = {1,
             narrow(image_floats(d)),
             narrow(row_stride(d)),
             narrow(d.pad_h * row_stride(d) + d.pad_w),
             device::FastDivide(d.w),
             device::FastDivide(d.h)};
  p.image_floats = narrow(image_floats(d));
  p.filters = narrow(d.oc);
  p.out_plane = narrow(d.oh() * d.ow());
  p.by_out_width = device::FastDivide(d.ow());
  p.images = d.n;
}

bool aligned(const float* planes, std::int64_t plane, std::int64_t floats) {
  return reinterpret_cast<std::uintptr_t>(planes) % (4 * floats) == 0 && plane % floats == 0;
}

}  // namespace

bool one_channel_fits(const ConvDims& d) {
  constexpr std::int64_t kMostFilters = 256;  // whose weights lie beside the image
  return d.c == 1 && d.kh == kKernel && d.kw == kKernel && d.stride_h == 1 && d.stride_w == 1 &&
         d.oc <= kMostFilters &&
         4 * (image_floats(d) + kMostFilters * kWeightFloats) <= kSharedBytes;
}

void conv2d_forward_one_channel(float* y, const float* x, const float* w, const float* bias,
                                const ConvDims& d, Epilogue epilogue, const Stream& stream) {
  constexpr std::int64_t kFewestFilters = 8;  // of a block, for the windows that it loads
  const std::int64_t plane = d.oh() * d.ow();
  const std::int64_t threads = divide_up(plane, kPixels), passes = divide_up(threads, kMaxThreads);
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  const std::int64_t parts =
      std::clamp<std::int64_t>(divide_up(4 * processors, d.n), 1, divide_up(d.oc, kFewestFilters));
  ForwardPlan p{};
  fill(p, d);
  p.part_filters = static_cast<int>(divide_up(d.oc, parts));
  p.parts = static_cast<int>(divide_up(d.oc, p.part_filters));
  p.relu = epilogue == Epilogue::relu;
  p.vector = aligned(y, plane, 4);
  const Launch config{
      dim3(blocks_for(d.n * p.parts, 1)),
      dim3(static_cast<unsigned>(round_up(divide_up(threads, passes), 32))),
      sizeof(float) * static_cast<std::size_t>(p.image_floats + p.part_filters * kWeightFloats),
      stream};
  launch(one_channel_forward_kernel, config, y, x, w, bias, p);
}

void conv2d_backward_weights_one_channel(float* dw, float* db, const float* dy, const float* x,
                                         const ConvDims& d, GradientMode mode, Workspace workspace,
                                         const Stream& stream) {
  auto* partials = static_cast<float*>(workspace.data);
  const std::int64_t images = std::max(divide_up(d.n, kChunks), std::int64_t{1});
  const std::int64_t chunks = divide_up(d.n, images), row = d.oc * (kTaps + 1);
  const bool pairs = d.ow() % 2 == 0 && aligned(dy, d.oh() * d.ow(), 2);
  const std::int64_t unit = pairs ? 2 : 1;
  WeightsPlan p{};
  fill(p, d);
  p.stage_images =
      static_cast<int>(std::min(images, kSharedBytes / 4 / std::int64_t{p.image_floats}));
  p.filter_blocks = static_cast<int>(divide_up(d.oc, kBlockFilters));
  p.chunk_images = images;
  p.partial_row = row;
  p.by_row_units = device::FastDivide(d.ow() / unit);
  p.units = static_cast<int>(d.oh() * d.ow() / unit);
  const Launch config{dim3(blocks_for(chunks * p.filter_blocks, 1)), dim3(32 * kWarps),
                      sizeof(float) * static_cast<std::size_t>(p.stage_images) *
                          static_cast<std::size_t>(p.image_floats),
                      stream};
  launch(pairs ? one_channel_weights_kernel<2> : one_channel_weights_kernel<1>, config, partials,
         dy, x, p);
  sum_partials(dw, d.oc * kTaps, db, db != nullptr ? d.oc : 0, partials, chunks, row, mode, stream);
}

}  // namespace weft::kernels::cuda

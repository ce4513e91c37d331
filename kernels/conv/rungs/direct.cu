// SPDX-License-Identifier: MIT
// Convolution, rung "direct": forward and backward data, straight from the formula.
//
// Square kernels of 3 or 5 with stride 1, when they fit: a block keeps all filters in shared
// memory, brings in one image after another behind a border of zeros, and each thread computes a
// column of kPixels output pixels for kFilters filters. Of an input column of kPixels + kKernel - 1
// values in registers every tap row uses kPixels, so 2 x 2 to 4 x 4 sums cost few shared loads:
//
//        input column      filters: one 8- or 16-byte load for each tap, the same for the warp
//          o |
//          o | r = 0 |     lanes run along the image row: no bank conflicts, coalesced stores
//          o |       | r = 1
//          o         |
//
// The data gradient is the same computation on dy, with the kernels turned around, filters and
// channels exchanged, and a border of kKernel - 1 - pad. direct_one_channel.cu computes one channel
// under 3 x 3 kernels. Any other shape has one thread for each result, which reads through the
// caches.
#include "kernels/conv/parts/staged_images.cuh"

#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kMaxThreads = 512;
constexpr int kGatherThreads = 256;

// The computation as a stride-1 correlation of `channels` planes with `filters` kernels.
struct Correlation {
  StagedPlanes input;     // of one image
  int staged_floats;      // input with its border, and the rows that the last threads overread
  int channels, filters;  // filters: of the result
  int out_height, out_width;
  int weight_stride;  // floats between the taps in shared memory: filters, padded
  int items;          // threads' worth of work in an image
  int items_per_part, parts;
  device::FastDivide by_out_width, by_row_groups;
  device::FastDivide by_planes_of_w;  // the inner ones: channels, or filters when turned
  std::int64_t images;
  bool relu, accumulate;
};

template <int kCount>
struct alignas(4 * kCount) FilterVector {
  float value[kCount];
};

// w (o, c, r, s) to shared (c, s, r, o). kTurned: w is (c, o, r, s), read backwards in r, s.
template <int kKernel, bool kTurned>
__device__ void stage_weights(float* to, const float* w, const Correlation& p) {
  constexpr int kTaps = kKernel * kKernel;
  load_in_batches<8>(w, p.channels * p.filters * kTaps, [&](int i, float value) {
    int inner = 0;
    const int outer = p.by_planes_of_w.divide(i / kTaps, inner);
    const int channel = kTurned ? outer : inner, filter = kTurned ? inner : outer;
    const int tap = kTurned ? kTaps - 1 - i % kTaps : i % kTaps;
    const int r = tap / kKernel, s = tap % kKernel;
    to[((channel * kKernel + s) * kKernel + r) * p.weight_stride + filter] = value;
  });
}

template <int kKernel, int kPixels, int kFilters, bool kTurned>
__global__ void __launch_bounds__(kMaxThreads, 2)
    correlate_kernel(float* y, const float* x, const float* w, const float* bias, Correlation p) {
  device::overlap_allow();
  float4* shared4 = device::dynamic_shared<float4>();
  float* weights = reinterpret_cast<float*>(shared4);  // (channels, s, r, weight_stride)
  float* image = weights + p.channels * kKernel * kKernel * p.weight_stride;
  const int part = static_cast<int>(blockIdx.x % p.parts);
  const int begin = part * p.items_per_part, end = min(begin + p.items_per_part, p.items);
  const std::int64_t first = blockIdx.x / p.parts;
  if (threadIdx.x == 0) device::prefetch(x + first * p.input.floats(), p.input.floats());
  const int floats = static_cast<int>(image - weights) + p.staged_floats;
  for (int i = threadIdx.x; i < floats; i += blockDim.x) weights[i] = 0;
  __syncthreads();  // zeros before weights and pixels
  device::overlap_wait();
  stage_weights<kKernel, kTurned>(weights, w, p);
  for (std::int64_t n = first; n < p.images; n += gridDim.x / p.parts) {
    p.input.copy(image, x + n * p.input.floats());
    __syncthreads();
    for (int item = begin + static_cast<int>(threadIdx.x); item < end; item += blockDim.x) {
      int column = 0, group = 0;
      const int filter0 =
          p.by_row_groups.divide(p.by_out_width.divide(item, column), group) * kFilters;
      const int row0 = group * kPixels;
      float sum[kPixels][kFilters] = {};
      const float* from = image + row0 * p.input.row_stride + column;
      const float* taps = weights + filter0;
      for (int c = 0; c < p.channels; ++c, from += p.input.plane_stride) {
#pragma unroll
        for (int s = 0; s < kKernel; ++s) {
          float in[kPixels + kKernel - 1];
#pragma unroll
          for (int i = 0; i < kPixels + kKernel - 1; ++i) in[i] = from[i * p.input.row_stride + s];
#pragma unroll
          for (int r = 0; r < kKernel; ++r) {
            const auto tap = *reinterpret_cast<const FilterVector<kFilters>*>(taps);
            taps += p.weight_stride;
#pragma unroll
            for (int i = 0; i < kPixels; ++i) {
#pragma unroll
              for (int f = 0; f < kFilters; ++f) sum[i][f] += in[i + r] * tap.value[f];
            }
          }
        }
      }
#pragma unroll
      for (int f = 0; f < kFilters; ++f) {
        const int filter = filter0 + f;
        if (filter >= p.filters) break;
        const float offset = bias != nullptr ? bias[filter] : 0.0f;
        float* to = y + ((n * p.filters + filter) * p.out_height + row0) * p.out_width + column;
#pragma unroll
        for (int i = 0; i < kPixels; ++i, to += p.out_width) {
          if (row0 + i >= p.out_height) break;
          float value = sum[i][f] + offset;
          if (p.accumulate) value += *to;
          *to = p.relu && value < 0 ? 0.0f : value;
        }
      }
    }
    __syncthreads();  // the image is read before the next one overwrites it
  }
}

// The fallbacks: one thread for each result.
__global__ void __launch_bounds__(kGatherThreads)
    forward_gather_kernel(float* __restrict__ y, const float* __restrict__ x,
                          const float* __restrict__ w, const float* __restrict__ bias, ConvDims d,
                          std::int64_t oh, std::int64_t ow, bool relu) {
  const std::int64_t count = d.n * d.oc * oh * ow;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kGatherThreads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kGatherThreads + threadIdx.x;
       at < count; at += step) {
    const std::int64_t q = at % ow, p = at / ow % oh, o = at / ow / oh % d.oc;
    const std::int64_t n = at / ow / oh / d.oc;
    const std::int64_t top = p * d.stride_h - d.pad_h, left = q * d.stride_w - d.pad_w;
    float sum = 0;
    for (std::int64_t c = 0; c < d.c; ++c) {
      const float* plane = x + (n * d.c + c) * d.h * d.w;
      const float* kernel = w + (o * d.c + c) * d.kh * d.kw;
      for (std::int64_t r = 0; r < d.kh; ++r) {
        if (top + r < 0 || top + r >= d.h) continue;
        for (std::int64_t s = 0; s < d.kw; ++s) {
          if (left + s < 0 || left + s >= d.w) continue;
          sum += plane[(top + r) * d.w + left + s] * kernel[r * d.kw + s];
        }
      }
    }
    if (bias != nullptr) sum += bias[o];
    y[at] = relu && sum < 0 ? 0.0f : sum;
  }
}

__global__ void __launch_bounds__(kGatherThreads)
    backward_data_gather_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                                const float* __restrict__ w, ConvDims d, std::int64_t oh,
                                std::int64_t ow, bool accumulate) {
  const std::int64_t count = d.n * d.c * d.h * d.w;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kGatherThreads;
  for (std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kGatherThreads + threadIdx.x;
       at < count; at += step) {
    const std::int64_t j = at % d.w, i = at / d.w % d.h, c = at / d.w / d.h % d.c;
    const std::int64_t n = at / d.w / d.h / d.c;
    float sum = 0;
    for (std::int64_t o = 0; o < d.oc; ++o) {
      const float* plane = dy + (n * d.oc + o) * oh * ow;
      const float* kernel = w + (o * d.c + c) * d.kh * d.kw;
      for (std::int64_t r = 0; r < d.kh; ++r) {
        const std::int64_t row = i + d.pad_h - r;
        if (row < 0 || row % d.stride_h != 0 || row / d.stride_h >= oh) continue;
        for (std::int64_t s = 0; s < d.kw; ++s) {
          const std::int64_t column = j + d.pad_w - s;
          if (column < 0 || column % d.stride_w != 0 || column / d.stride_w >= ow) continue;
          sum += plane[row / d.stride_h * ow + column / d.stride_w] * kernel[r * d.kw + s];
        }
      }
    }
    dx[at] = accumulate ? dx[at] + sum : sum;
  }
}

// The correlation that computes this pass; its border may come out negative: then it does not fit.
struct CorrelationDims {
  std::int64_t channels, height, width, filters, out_height, out_width, border_h, border_w;
};

CorrelationDims correlation_dims(ConvPass pass, const ConvDims& d) {
  if (pass == ConvPass::forward) {
    return {d.c, d.h, d.w, d.oc, d.oh(), d.ow(), d.pad_h, d.pad_w};
  }
  return {d.oc, d.oh(), d.ow(), d.c, d.h, d.w, d.kh - 1 - d.pad_h, d.kw - 1 - d.pad_w};
}

// How a thread's sums are arranged, and what an image costs then.
struct Arrangement {
  std::int64_t pixels, filters;
  std::int64_t row_groups(const CorrelationDims& d) const {
    return divide_up(d.out_height, pixels);
  }
  std::int64_t items(const CorrelationDims& d) const {
    return divide_up(d.filters, filters) * row_groups(d) * d.out_width;
  }
  std::int64_t weight_stride(const CorrelationDims& d) const {
    // An odd number of 16-byte vectors, so that stage_weights() meets more banks.
    const std::int64_t vectors = divide_up(d.filters, 4);
    return 4 * (vectors + 1 - vectors % 2);
  }
  // Lanes run along a row of results and go on `pixels` rows further. Rows of the image that are so
  // far apart let them meet the next banks there.
  bool avoids_conflicts(const CorrelationDims& d) const { return d.out_width % pixels == 0; }
  std::int64_t row_stride(const CorrelationDims& d, std::int64_t kernel) const {
    std::int64_t stride = d.out_width + kernel - 1;  // a row with its border
    while (avoids_conflicts(d) && (pixels * stride - d.out_width) % 32 != 0) ++stride;
    return stride;
  }
  std::int64_t staged_floats(const CorrelationDims& d, std::int64_t kernel) const {
    return d.channels * (row_groups(d) * pixels + kernel - 1) * row_stride(d, kernel);
  }
  std::int64_t shared_bytes(const CorrelationDims& d, std::int64_t kernel) const {
    return 4 * (staged_floats(d, kernel) + d.channels * kernel * kernel * weight_stride(d));
  }
  // Cycles of the inner loop, times warps. Either the four schedulers bound it, or shared memory,
  // which serves one warp at a time. Fewer than 8 warps would leave schedulers idle.
  std::int64_t cost(const CorrelationDims& d, std::int64_t kernel) const {
    const std::int64_t warps = std::max<std::int64_t>(divide_up(items(d), 32), 8);
    const std::int64_t column = kernel + pixels - 1, products = kernel * pixels * filters;
    const std::int64_t reads = column * (avoids_conflicts(d) ? 1 : 2) + kernel;
    return warps * std::max(column + kernel + products, 4 * reads);
  }
};

constexpr Arrangement kArrangements[] = {{2, 2}, {2, 4}, {4, 4}};

const Arrangement& best_arrangement(const CorrelationDims& d, std::int64_t kernel) {
  return *std::ranges::min_element(kArrangements, {}, [&](const Arrangement& arrangement) {
    return arrangement.cost(d, kernel);
  });
}

template <int kKernel, int kPixels, int kFilters, bool kTurned>
void launch_correlation(float* y, const float* x, const float* w, const float* bias,
                        const CorrelationDims& d, std::int64_t images, bool relu, bool accumulate,
                        const Stream& stream) {
  constexpr Arrangement arrangement{kPixels, kFilters};
  const std::int64_t row_groups = arrangement.row_groups(d);
  const std::int64_t row_stride = arrangement.row_stride(d, kKernel);
  const std::int64_t items = arrangement.items(d);
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  // Small batches split an image's work among blocks, down to four warps each.
  const std::int64_t parts =
      std::clamp<std::int64_t>(2 * processors / images, 1, divide_up(items, 128));
  const std::int64_t items_per_part = divide_up(items, parts);
  const std::int64_t passes = divide_up(items_per_part, kMaxThreads);
  const std::int64_t threads = round_up(divide_up(items_per_part, passes), 32);

  Correlation p{};
  p.input = {narrow(d.channels),          narrow((row_groups * kPixels + kKernel - 1) * row_stride),
             narrow(row_stride),          narrow(d.border_h * row_stride + d.border_w),
             device::FastDivide(d.width), device::FastDivide(d.height)};
  p.staged_floats = narrow(arrangement.staged_floats(d, kKernel));
  p.channels = narrow(d.channels);
  p.filters = narrow(d.filters);
  p.out_height = narrow(d.out_height);
  p.out_width = narrow(d.out_width);
  p.weight_stride = narrow(arrangement.weight_stride(d));
  p.items = narrow(items);
  p.items_per_part = narrow(items_per_part);
  p.parts = narrow(parts);
  p.by_out_width = device::FastDivide(d.out_width);
  p.by_row_groups = device::FastDivide(row_groups);
  p.by_planes_of_w = device::FastDivide(kTurned ? d.filters : d.channels);
  p.images = images;
  p.relu = relu;
  p.accumulate = accumulate;
  const std::int64_t groups = std::min(images, std::max<std::int64_t>(4 * processors / parts, 1));
  const Launch config{dim3(static_cast<unsigned>(groups * parts)),
                      dim3(static_cast<unsigned>(threads)),
                      static_cast<std::size_t>(arrangement.shared_bytes(d, kKernel)), stream};
  launch(correlate_kernel<kKernel, kPixels, kFilters, kTurned>, config.overlapped(), y, x, w, bias,
         p);
}

template <int kKernel, bool kTurned>
void correlate(float* y, const float* x, const float* w, const float* bias,
               const CorrelationDims& d, std::int64_t images, bool relu, bool accumulate,
               const Stream& stream) {
  const Arrangement& best = best_arrangement(d, kKernel);
  const auto start = best.filters == 2  ? launch_correlation<kKernel, 2, 2, kTurned>
                     : best.pixels == 2 ? launch_correlation<kKernel, 2, 4, kTurned>
                                        : launch_correlation<kKernel, 4, 4, kTurned>;
  start(y, x, w, bias, d, images, relu, accumulate, stream);
}

}  // namespace

bool direct_fits(ConvPass pass, const ConvDims& dims) {
  if (pass == ConvPass::backward_weights) return direct_weights_fit(dims);
  if (pass == ConvPass::forward && one_channel_fits(dims)) return true;
  if (dims.kh != dims.kw || (dims.kh != 3 && dims.kh != 5)) return false;
  if (dims.stride_h != 1 || dims.stride_w != 1) return false;
  const CorrelationDims d = correlation_dims(pass, dims);
  return d.border_h >= 0 && d.border_w >= 0 &&
         best_arrangement(d, dims.kh).shared_bytes(d, dims.kh) <= kDirectSharedBytes;
}

void conv2d_forward_direct(float* y, const float* x, const float* w, const float* bias,
                           const ConvDims& dims, Epilogue epilogue, const ConvOptions&, Workspace,
                           const Stream& stream) {
  if (one_channel_fits(dims)) {
    return conv2d_forward_one_channel(y, x, w, bias, dims, epilogue, stream);
  }
  const bool relu = epilogue == Epilogue::relu;
  if (!direct_fits(ConvPass::forward, dims)) {
    const std::int64_t count = dims.n * dims.oc * dims.oh() * dims.ow();
    const Launch config{dim3(blocks_for(count, kGatherThreads)), dim3(kGatherThreads), 0, stream};
    launch(forward_gather_kernel, config, y, x, w, bias, dims, dims.oh(), dims.ow(), relu);
    return;
  }
  const CorrelationDims d = correlation_dims(ConvPass::forward, dims);
  const auto start = dims.kh == 3 ? correlate<3, false> : correlate<5, false>;
  start(y, x, w, bias, d, dims.n, relu, false, stream);
}

void conv2d_backward_data_direct(float* dx, const float* dy, const float* w, const ConvDims& dims,
                                 GradientMode mode, const ConvOptions&, Workspace,
                                 const Stream& stream) {
  const bool accumulate = mode == GradientMode::accumulate;
  if (!direct_fits(ConvPass::backward_data, dims)) {
    const std::int64_t count = dims.n * dims.c * dims.h * dims.w;
    const Launch config{dim3(blocks_for(count, kGatherThreads)), dim3(kGatherThreads), 0, stream};
    launch(backward_data_gather_kernel, config, dx, dy, w, dims, dims.oh(), dims.ow(), accumulate);
    return;
  }
  const CorrelationDims d = correlation_dims(ConvPass::backward_data, dims);
  const auto start = dims.kh == 3 ? correlate<3, true> : correlate<5, true>;
  start(dx, dy, w, nullptr, d, dims.n, false, accumulate, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Convolution, rung "direct": the weight gradient and the bias gradient.
//
// Square kernels of 3 or 5 with stride 1, when they fit: a block takes a chunk of images and some
// of the filters and channels. An image's planes of x (with their border) and of dy lie in shared
// memory, in rows of odd length, so that threads on different rows meet different banks. A thread
// owns one kernel row r of one channel for kFilters filters and walks along image rows: one new
// value of x slides into a window of kKernel registers, one of dy for each filter is loaded, and
// kFilters x kKernel products are added:
//
//        dy[o] row p      . . . q . . .          sum[o][s] += dy[o][p][q] * x[c][p + r][q + s]
//        x[c] row p + r   . . . [window] . .
//
// Slices of threads share the rows p, and their sums are added in order at the end. The sums of the
// chunk become one row of partial sums, which weight_gradient_sums.cu adds. Any other shape has one
// block for each weight and chunk.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/staged_images.cuh"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/block.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kMaxThreads = 640;
constexpr int kGatherThreads = 128;

struct WeightsPlan {
  StagedPlanes x, dy;  // planes: of one block; the last block may have fewer
  int dy_floats, bias_floats, shared_floats;
  int channels, filters;              // of the convolution
  int block_channels, block_filters;  // of one block
  int channel_blocks, filter_blocks;
  int out_height, out_width;
  int slices, rows_per_slice, roles;  // roles: threads of one slice
  std::int64_t images, chunk_images, partial_row;
};

// Adds to the sums of kFilters filters what a row of dy gives with the row `in` of x. `out` is that
// row in the first filter's plane.
template <int kKernel, int kFilters>
__device__ __forceinline__ void add_row(float (&sum)[kFilters][kKernel], const float* out,
                                        const float* in, const WeightsPlan& p) {
  float window[kKernel];
#pragma unroll
  for (int s = 1; s < kKernel; ++s) window[s] = in[s - 1];
#pragma unroll kKernel
  for (int q = 0; q < p.out_width; ++q) {
#pragma unroll
    for (int s = 0; s < kKernel - 1; ++s) window[s] = window[s + 1];
    window[kKernel - 1] = in[q + kKernel - 1];
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      const float gradient = out[f * p.dy.plane_stride + q];
#pragma unroll
      for (int s = 0; s < kKernel; ++s) sum[f][s] += gradient * window[s];
    }
  }
}

// Adds the slices' sums, (slices, block_filters, block_channels, taps), in order, and stores them
// in a row of partial sums. block_weights: sums of a slice.
template <int kTaps>
__device__ __forceinline__ void add_slices(float* partial, const float* sums, int block_weights,
                                           const WeightsPlan& p, int filter0, int channel0) {
  for (int i = threadIdx.x; i < block_weights; i += blockDim.x) {
    const int f = i / (p.block_channels * kTaps), tap = i % (p.block_channels * kTaps);
    if (f >= p.dy.planes || tap >= p.x.planes * kTaps) continue;
    float total = 0;
    for (int part = 0; part < p.slices; ++part) total += sums[part * block_weights + i];
    partial[(std::int64_t{filter0} + f) * p.channels * kTaps + channel0 * kTaps + tap] = total;
  }
}

// Shared memory: sums of dy (block_filters), then dy and x, which the slices' sums replace.
template <int kKernel, int kFilters>
__global__ void __launch_bounds__(kMaxThreads)
    weights_kernel(float* partials, const float* dy, const float* x, WeightsPlan p) {
  device::overlap_allow();
  constexpr int kTaps = kKernel * kKernel;
  float4* shared4 = device::dynamic_shared<float4>();
  float* bias_sums = reinterpret_cast<float*>(shared4);
  float* work = bias_sums + p.bias_floats;
  float* dy_planes = work;
  float* x_planes = work + p.dy_floats;

  const int channel_block = static_cast<int>(blockIdx.x % p.channel_blocks);
  const int filter_block = static_cast<int>(blockIdx.x / p.channel_blocks % p.filter_blocks);
  const std::int64_t chunk = blockIdx.x / p.channel_blocks / p.filter_blocks;
  const int channel0 = channel_block * p.block_channels;
  const int filter0 = filter_block * p.block_filters;
  p.x.planes = min(p.block_channels, p.channels - channel0);
  p.dy.planes = min(p.block_filters, p.filters - filter0);
  const std::int64_t x_plane = std::int64_t{p.x.by_height.divisor()} * p.x.by_width.divisor();
  const std::int64_t dy_plane = std::int64_t{p.out_height} * p.out_width;

  // This thread's share; threads beyond the last slice only help with copies and sums.
  const int slice = static_cast<int>(threadIdx.x) / p.roles;
  const int role = static_cast<int>(threadIdx.x) % p.roles;
  const int r = role % kKernel, c = role / kKernel % p.block_channels;
  const int f0 = role / kKernel / p.block_channels * kFilters;
  const int row_begin = slice * p.rows_per_slice;
  const int row_end = slice < p.slices ? min(row_begin + p.rows_per_slice, p.out_height) : 0;

  const std::int64_t begin = chunk * p.chunk_images;
  const std::int64_t end = min(begin + p.chunk_images, p.images);
  if (threadIdx.x == 0) {
    device::prefetch(dy + (begin * p.filters + filter0) * dy_plane, p.dy.floats());
    device::prefetch(x + (begin * p.channels + channel0) * x_plane, p.x.floats());
  }
  for (int i = threadIdx.x; i < p.shared_floats; i += blockDim.x) bias_sums[i] = 0;
  __syncthreads();  // zeros before pixels
  device::overlap_wait();
  float sum[kFilters][kKernel] = {};
  for (std::int64_t n = begin; n < end; ++n) {
    p.dy.copy(dy_planes, dy + (n * p.filters + filter0) * dy_plane);
    p.x.copy(x_planes, x + (n * p.channels + channel0) * x_plane);
    __syncthreads();
    for (int row = row_begin; row < row_end; ++row) {
      const float* in = x_planes + c * p.x.plane_stride + (row + r) * p.x.row_stride;
      const float* out = dy_planes + f0 * p.dy.plane_stride + row * p.dy.row_stride;
      add_row(sum, out, in, p);
    }
    if (channel_block == 0) {  // a warp adds up some filters' planes, always the same ones
      for (int f = static_cast<int>(threadIdx.x) / 32; f < p.dy.planes; f += blockDim.x / 32) {
        const float* plane = dy_planes + f * p.dy.plane_stride;
        const int padded = p.out_height * p.dy.row_stride;  // the padding is 0
        float total = 0;
        for (int i = threadIdx.x % 32; i < padded; i += 32) total += plane[i];
        total = device::warp_reduce(total, device::Add{});
        if (threadIdx.x % 32 == 0) bias_sums[f] += total;
      }
    }
    __syncthreads();  // the planes are read before the next image, or the sums, overwrite them
  }

  // Slices' sums to shared memory, as (slice, f, c, r, s).
  const int block_weights = p.block_filters * p.block_channels * kTaps;
  if (slice < p.slices) {
    float* to = work + slice * block_weights + c * kTaps + r * kKernel;
#pragma unroll
    for (int i = 0; i < kFilters * kKernel; ++i) {
      const int f = i / kKernel, s = i % kKernel;
      to[(f0 + f) * p.block_channels * kTaps + s] = sum[f][s];
    }
  }
  __syncthreads();  // all slices have written
  float* partial = partials + chunk * p.partial_row;
  add_slices<kTaps>(partial, work, block_weights, p, filter0, channel0);
  if (channel_block == 0) {
    partial += std::int64_t{p.filters} * p.channels * kTaps + filter0;
    for (int f = threadIdx.x; f < p.dy.planes; f += blockDim.x) partial[f] = bias_sums[f];
  }
}

// The fallback: one block sums one weight, or one bias, over the images of one chunk.
__global__ void __launch_bounds__(kGatherThreads)
    weights_gather_kernel(float* __restrict__ partials, const float* __restrict__ dy,
                          const float* __restrict__ x, ConvDims d, std::int64_t oh, std::int64_t ow,
                          WeightChunks chunks) {
  __shared__ device::BlockReduceStorage<float, kGatherThreads> storage;
  const std::int64_t chunk = blockIdx.x / chunks.row, column = blockIdx.x % chunks.row;
  const bool is_bias = column >= chunks.weights;
  const std::int64_t s = column % d.kw, r = column / d.kw % d.kh;
  const std::int64_t c = column / d.kw / d.kh % d.c;
  const std::int64_t o = is_bias ? column - chunks.weights : column / d.kw / d.kh / d.c;
  const std::int64_t end = min((chunk + 1) * chunks.images, d.n);
  float sum = 0;
  for (std::int64_t n = chunk * chunks.images; n < end; ++n) {
    const float* gradient = dy + (n * d.oc + o) * oh * ow;
    const float* plane = x + (n * d.c + c) * d.h * d.w;
    for (std::int64_t at = threadIdx.x; at < oh * ow; at += kGatherThreads) {
      const std::int64_t i = at / ow * d.stride_h + r - d.pad_h;
      const std::int64_t j = at % ow * d.stride_w + s - d.pad_w;
      if (is_bias) {
        sum += gradient[at];
      } else if (i >= 0 && i < d.h && j >= 0 && j < d.w) {
        sum += gradient[at] * plane[i * d.w + j];
      }
    }
  }
  const float total = device::block_reduce<kGatherThreads>(sum, device::Add{}, storage);
  if (threadIdx.x == 0) partials[chunk * chunks.row + column] = total;
}

// How the work is cut into blocks and threads; threads == 0 when no cut fits.
struct WeightsCut {
  std::int64_t filters_per_thread = 0, block_filters = 0, block_channels = 0;
  std::int64_t slices = 0, rows_per_slice = 0, roles = 0, threads = 0, work_floats = 0;
  std::int64_t bias_floats() const { return round_up(block_filters, 4); }
  std::int64_t shared_bytes() const { return 4 * (bias_floats() + work_floats); }
};

WeightsCut cut_weights(const ConvDims& d) {
  const std::int64_t x_plane = (d.h + 2 * d.pad_h) * ((d.w + 2 * d.pad_w) | 1);
  const std::int64_t dy_plane = d.oh() * (d.ow() | 1);
  WeightsCut cut;
  cut.filters_per_thread = d.oc * d.c <= 8 ? 2 : 4;
  cut.block_filters = round_up(d.oc, cut.filters_per_thread);
  cut.block_channels = d.c;
  const auto roles = [&] {
    return cut.block_filters / cut.filters_per_thread * cut.block_channels * d.kh;
  };
  const auto planes = [&] { return cut.block_filters * dy_plane + cut.block_channels * x_plane; };
  // 48 KiB of planes leave room for four blocks on an SM of 228 KiB.
  while (roles() > kMaxThreads || 4 * planes() > 48 * 1024) {
    if (cut.block_filters > cut.filters_per_thread && cut.block_filters * dy_plane >= x_plane) {
      cut.block_filters =
          divide_up(cut.block_filters / cut.filters_per_thread, 2) * cut.filters_per_thread;
    } else if (cut.block_channels > 1) {
      cut.block_channels = divide_up(cut.block_channels, 2);
    } else if (cut.block_filters > cut.filters_per_thread) {
      cut.block_filters =
          divide_up(cut.block_filters / cut.filters_per_thread, 2) * cut.filters_per_thread;
    } else {
      return cut;
    }
  }
  cut.roles = roles();
  const std::int64_t most = std::clamp<std::int64_t>(kMaxThreads / cut.roles, 1, d.oh());
  cut.rows_per_slice = divide_up(d.oh(), most);
  cut.slices = divide_up(d.oh(), cut.rows_per_slice);
  const std::int64_t sums = cut.slices * cut.block_filters * cut.block_channels * d.kh * d.kw;
  cut.work_floats = std::max(planes(), sums);
  if (cut.shared_bytes() > kDirectSharedBytes) return cut;
  cut.threads = round_up(cut.slices * cut.roles, 32);
  return cut;
}

template <int kKernel, int kFilters>
void launch_weights(float* partials, const float* dy, const float* x, const ConvDims& d,
                    const WeightChunks& chunks, const WeightsCut& cut, const Stream& stream) {
  const std::int64_t x_row = (d.w + 2 * d.pad_w) | 1, dy_row = d.ow() | 1;
  WeightsPlan p{};
  p.x = {narrow(cut.block_channels),
         narrow((d.h + 2 * d.pad_h) * x_row),
         narrow(x_row),
         narrow(d.pad_h * x_row + d.pad_w),
         device::FastDivide(d.w),
         device::FastDivide(d.h)};
  p.dy = {narrow(cut.block_filters),  narrow(d.oh() * dy_row),   narrow(dy_row), 0,
          device::FastDivide(d.ow()), device::FastDivide(d.oh())};
  p.dy_floats = narrow(cut.block_filters * d.oh() * dy_row);
  p.bias_floats = narrow(cut.bias_floats());
  p.shared_floats = narrow(cut.shared_bytes() / 4);
  p.channels = narrow(d.c);
  p.filters = narrow(d.oc);
  p.block_channels = narrow(cut.block_channels);
  p.block_filters = narrow(cut.block_filters);
  p.channel_blocks = narrow(divide_up(d.c, cut.block_channels));
  p.filter_blocks = narrow(divide_up(d.oc, cut.block_filters));
  p.out_height = narrow(d.oh());
  p.out_width = narrow(d.ow());
  p.slices = narrow(cut.slices);
  p.rows_per_slice = narrow(cut.rows_per_slice);
  p.roles = narrow(cut.roles);
  p.images = d.n;
  p.chunk_images = chunks.images;
  p.partial_row = chunks.row;
  const std::int64_t blocks = chunks.count * p.filter_blocks * p.channel_blocks;
  const Launch config{dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(cut.threads)),
                      static_cast<std::size_t>(cut.shared_bytes()), stream};
  launch(weights_kernel<kKernel, kFilters>, config.overlapped(), partials, dy, x, p);
}

}  // namespace

bool direct_weights_fit(const ConvDims& dims) {
  if (one_channel_fits(dims)) return true;
  return dims.kh == dims.kw && (dims.kh == 3 || dims.kh == 5) && dims.stride_h == 1 &&
         dims.stride_w == 1 && dims.oc > 0 && dims.c > 0 && cut_weights(dims).threads > 0;
}

void conv2d_backward_weights_direct(float* dw, float* db, const float* dy, const float* x,
                                    const ConvDims& dims, GradientMode mode, const ConvOptions&,
                                    Workspace workspace, const Stream& stream) {
  if (one_channel_fits(dims)) {
    return conv2d_backward_weights_one_channel(dw, db, dy, x, dims, mode, workspace, stream);
  }
  const WeightChunks chunks = weight_chunks(dims);
  auto* partials = static_cast<float*>(workspace.data);
  if (direct_weights_fit(dims)) {
    const WeightsCut cut = cut_weights(dims);
    const bool pairs = cut.filters_per_thread == 2;
    const auto start = dims.kh == 3 ? (pairs ? launch_weights<3, 2> : launch_weights<3, 4>)
                                    : (pairs ? launch_weights<5, 2> : launch_weights<5, 4>);
    start(partials, dy, x, dims, chunks, cut, stream);
  } else {
    const Launch config{dim3(blocks_for(chunks.count * chunks.row, 1)), dim3(kGatherThreads), 0,
                        stream};
    launch(weights_gather_kernel, config, partials, dy, x, dims, dims.oh(), dims.ow(), chunks);
  }
  sum_partials(dw, chunks.weights, db, db != nullptr ? dims.oc : 0, partials, chunks.count,
               chunks.row, mode, stream);
}

}  // namespace weft::kernels::cuda

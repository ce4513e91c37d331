// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "staged_images": the weight and bias
// gradients.
//
// Only the argmax of each window has a gradient. A block takes a chunk of images, some filters and
// some channels, for square kernels of 3 or 5 with stride 1 under windows of 2 x 2. Shared memory
// holds planes of x of one image, with a border of zeros, and for each window its dy with the
// offset of its argmax. A thread owns one kernel row r of one channel for one filter:
//
//        for each window (dy, offset):   sum[s] += dy * x[c][offset + r pitch + s]
//
// which is a quarter of a convolution's products. Slices of threads share the windows; their sums
// are added in order at the end, and the chunk's sums become one row of partial sums
// (weight_gradient_sums.cu adds those).
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv_relu_pool/launchers.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kMaxThreads = 512;
constexpr std::int64_t kSharedBytes = 48 * 1024;

// dy of a window and where its argmax begins to read in a plane of x.
struct Window {
  float dy;
  int offset;
};

struct SparsePlan {
  int channels, height, width, pad_h, pad_w, filters, rows, columns;
  int block_channels, block_filters, channel_blocks, filter_blocks;
  int pitch, plane;                      // floats of x in shared memory
  int roles, slices, windows_per_slice;  // roles: threads of one slice
  std::int64_t images, chunk_images, partial_row;
  FastDivide by_pitch, by_plane;      // of a staged element of x
  FastDivide by_windows, by_columns;  // of a staged window
};

// Shared memory: the windows (block_filters, rows columns), then x (block_channels, plane), which
// the slices' sums replace at the end.
template <int kKernel>
__global__ void __launch_bounds__(kMaxThreads)
    sparse_weights_kernel(float* __restrict__ partials, const float* __restrict__ dy,
                          const std::uint8_t* __restrict__ argmax, const float* __restrict__ x,
                          SparsePlan p) {
  constexpr int kTaps = kKernel * kKernel;
  const int windows = p.rows * p.columns;
  auto* staged_windows = device::dynamic_shared<Window>();
  auto* staged_x = reinterpret_cast<float*>(staged_windows + p.block_filters * windows);

  const int channel_block = static_cast<int>(blockIdx.x % p.channel_blocks);
  const int filter_block = static_cast<int>(blockIdx.x / p.channel_blocks % p.filter_blocks);
  const std::int64_t chunk = blockIdx.x / p.channel_blocks / p.filter_blocks;
  const int channel0 = channel_block * p.block_channels;
  const int filter0 = filter_block * p.block_filters;
  const int channels = min(p.block_channels, p.channels - channel0);
  const int filters = min(p.block_filters, p.filters - filter0);

  // This thread's share; threads beyond the last slice only help with copies and sums.
  const int slice = static_cast<int>(threadIdx.x) / p.roles;
  const int role = static_cast<int>(threadIdx.x) % p.roles;
  const int r = role % kKernel, c = role / kKernel % p.block_channels;
  const int f = role / kKernel / p.block_channels;
  const bool active = slice < p.slices && c < channels && f < filters;
  const int begin = slice * p.windows_per_slice;
  const int end = active ? min(begin + p.windows_per_slice, windows) : 0;

  float sum[kKernel] = {}, bias_sum = 0;
  const std::int64_t last = min((chunk + 1) * p.chunk_images, p.images);
  for (std::int64_t n = chunk * p.chunk_images; n < last; ++n) {
    const std::int64_t window0 = (n * p.filters + filter0) * windows;
    for (int i = threadIdx.x; i < filters * windows; i += blockDim.x) {
      int window = 0, v = 0;
      p.by_windows.divide(i, window);
      const int u = p.by_columns.divide(window, v), index = argmax[window0 + i];
      const bool cut = index == kReluPoolCut;
      staged_windows[i] = {cut ? 0.0f : __ldg(dy + window0 + i),
                           cut ? 0 : (2 * u + index / 2) * p.pitch + 2 * v + index % 2};
    }
    const float* image = x + (n * p.channels + channel0) * p.height * p.width;
#pragma unroll 4
    for (int i = threadIdx.x; i < channels * p.plane; i += blockDim.x) {
      int at = 0, column = 0;
      const int channel = p.by_plane.divide(i, at);
      const int row = p.by_pitch.divide(at, column) - p.pad_h;
      column -= p.pad_w;
      const bool inside = static_cast<unsigned>(row) < static_cast<unsigned>(p.height) &&
                          static_cast<unsigned>(column) < static_cast<unsigned>(p.width);
      staged_x[i] = inside ? __ldg(image + (channel * p.height + row) * p.width + column) : 0.0f;
    }
    __syncthreads();
    const float* from = staged_x + c * p.plane + r * p.pitch;
    const Window* window = staged_windows + f * windows;
#pragma unroll 4
    for (int i = begin; i < end; ++i) {
      const Window at = window[i];
      bias_sum += at.dy;
#pragma unroll
      for (int s = 0; s < kKernel; ++s) sum[s] += at.dy * from[at.offset + s];
    }
    __syncthreads();  // the image is used up before the next one, or the sums, overwrite it
  }

  // Slices' sums to shared memory: weights (slice, f, c, r, s), then biases (slice, f).
  auto* sums = device::dynamic_shared<float>();
  const int block_weights = p.block_filters * p.block_channels * kTaps;
  float* bias_sums = sums + p.slices * block_weights;
  if (slice < p.slices) {
#pragma unroll
    for (int s = 0; s < kKernel; ++s) {
      sums[slice * block_weights + (f * p.block_channels + c) * kTaps + r * kKernel + s] = sum[s];
    }
    if (c == 0 && r == 0) bias_sums[slice * p.block_filters + f] = bias_sum;
  }
  __syncthreads();  // all slices have written
  float* partial = partials + chunk * p.partial_row;
  for (int i = threadIdx.x; i < block_weights; i += blockDim.x) {
    const int filter = i / (p.block_channels * kTaps), tap = i % (p.block_channels * kTaps);
    if (filter >= filters || tap >= channels * kTaps) continue;
    float total = 0;
    for (int part = 0; part < p.slices; ++part) total += sums[part * block_weights + i];
    partial[(std::int64_t{filter0} + filter) * p.channels * kTaps + channel0 * kTaps + tap] = total;
  }
  if (channel_block != 0) return;
  partial += std::int64_t{p.filters} * p.channels * kTaps + filter0;
  for (int i = threadIdx.x; i < filters; i += blockDim.x) {
    float total = 0;
    for (int part = 0; part < p.slices; ++part) total += bias_sums[part * p.block_filters + i];
    partial[i] = total;
  }
}

// How the work is cut into blocks and threads; threads == 0 when no cut fits.
struct SparseCut {
  std::int64_t filters, channels;  // of one block
  std::int64_t pitch, plane, roles = 0, slices = 0, windows_per_slice = 0, threads = 0, bytes = 0;
};

SparseCut cut_sparse(const ReluPoolDims& dims) {
  const ConvDims& d = dims.conv;
  const std::int64_t windows = dims.rows() * dims.columns(), taps = d.kh * d.kw;
  SparseCut cut{d.oc, d.c, (2 * dims.columns() + d.kw - 1) | 1, 0};
  cut.plane = ((2 * dims.rows() + d.kh - 1) * cut.pitch) | 1;  // rows and planes in other banks
  const auto roles = [&] { return cut.filters * cut.channels * d.kh; };
  const auto staged = [&] { return 8 * cut.filters * windows + 4 * cut.channels * cut.plane; };
  while (roles() > kMaxThreads || staged() > kSharedBytes) {
    // What is left to halve, the one with more bytes first.
    const bool more_windows = 2 * cut.filters * windows >= cut.channels * cut.plane;
    if (cut.filters > 1 && (more_windows || cut.channels == 1)) {
      cut.filters = divide_up(cut.filters, 2);
    } else if (cut.channels > 1) {
      cut.channels = divide_up(cut.channels, 2);
    } else {
      return cut;
    }
  }
  cut.roles = roles();
  const std::int64_t most = std::clamp<std::int64_t>(kMaxThreads / cut.roles, 1, windows);
  cut.windows_per_slice = divide_up(windows, most);
  cut.slices = divide_up(windows, cut.windows_per_slice);
  const std::int64_t sums = 4 * cut.slices * cut.filters * (cut.channels * taps + 1);
  cut.bytes = std::max(staged(), sums);
  if (cut.bytes <= kSharedBytes) cut.threads = round_up(cut.slices * cut.roles, 32);
  return cut;
}

void launch_sparse(float* partials, const float* dy, const std::uint8_t* argmax, const float* x,
                   const ReluPoolDims& dims, const SparseCut& cut, const WeightChunks& chunks,
                   const Stream& stream) {
  const ConvDims& d = dims.conv;
  SparsePlan p{};
  p.channels = narrow(d.c);
  p.height = narrow(d.h);
  p.width = narrow(d.w);
  p.pad_h = narrow(d.pad_h);
  p.pad_w = narrow(d.pad_w);
  p.filters = narrow(d.oc);
  p.rows = narrow(dims.rows());
  p.columns = narrow(dims.columns());
  p.block_channels = narrow(cut.channels);
  p.block_filters = narrow(cut.filters);
  p.channel_blocks = narrow(divide_up(d.c, cut.channels));
  p.filter_blocks = narrow(divide_up(d.oc, cut.filters));
  p.pitch = narrow(cut.pitch);
  p.plane = narrow(cut.plane);
  p.roles = narrow(cut.roles);
  p.slices = narrow(cut.slices);
  p.windows_per_slice = narrow(cut.windows_per_slice);
  p.images = d.n;
  p.chunk_images = chunks.images;
  p.partial_row = chunks.row;
  p.by_pitch = FastDivide(cut.pitch);
  p.by_plane = FastDivide(cut.plane);
  p.by_windows = FastDivide(dims.rows() * dims.columns());
  p.by_columns = FastDivide(dims.columns());
  const std::int64_t blocks = chunks.count * p.filter_blocks * p.channel_blocks;
  const Launch config{dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(cut.threads)),
                      static_cast<std::size_t>(cut.bytes), stream};
  launch(d.kh == 3 ? sparse_weights_kernel<3> : sparse_weights_kernel<5>, config, partials, dy,
         argmax, x, p);
}

}  // namespace

bool stages_windows(const ReluPoolDims& dims) {
  return cut_sparse(dims).threads > 0;
}

void conv2d_relu_pool_backward_weights_staged_images(float* dw, float* db, const float* dy,
                                                     const std::uint8_t* argmax, const float* x,
                                                     const ReluPoolDims& dims, GradientMode mode,
                                                     const ReluPoolOptions&, Workspace workspace,
                                                     const Stream& stream) {
  const WeightChunks chunks = weight_chunks(dims.conv);
  auto* partials = static_cast<float*>(workspace.data);
  launch_sparse(partials, dy, argmax, x, dims, cut_sparse(dims), chunks, stream);
  sum_partials(dw, chunks.weights, db, db != nullptr ? dims.conv.oc : 0, partials, chunks.count,
               chunks.row, mode, stream);
}

}  // namespace weft::kernels::cuda

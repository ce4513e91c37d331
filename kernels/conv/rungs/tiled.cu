// SPDX-License-Identifier: MIT
// Convolution, rung "tiled": forward and backward data, an input tile with its halo in shared
// memory, for any kernel, stride and padding.
//
// A block computes a tile of output pixels of one image for kPlanes filters. Of kStageChannels or
// fewer channels at a time it brings in what the tile's windows read, zeros where that is padding,
// and the weights, transposed so that the kPlanes of one tap are two 16-byte loads:
//
//        input tile with halo            a thread: kPixels pixels of a column, kPlanes filters
//        +--+--------+--+                  kPixels + 2 shared loads for kPixels x kPlanes products
//        |  | output |  |                lanes run along the image row; the rows' pitch continues
//        |  |  tile  |  |                the banks where the next row of lanes goes on
//        +--+--------+--+
//
// The data gradient is the same computation on dy, spread out by the stride, with the kernels
// turned around and filters and channels exchanged: for strides above 1 most of its
// products are with zeros.
#include <algorithm>
#include <optional>

#include "engine/error.h"
#include "engine/launch.h"
#include "kernels/conv/launchers.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kMaxThreads = 256;
constexpr int kPlanes = 8;
constexpr std::int64_t kSharedBytes = 48 * 1024;  // of one channel at most
constexpr std::int64_t kStageBytes = 24 * 1024, kStageChannels = 8;

// The computation as a correlation of `channels` planes with kernels of kh x kw.
struct TiledConv {
  int channels, height, width;  // of the source
  int planes, out_height, out_width;
  int kernel_height, kernel_width, step_h, step_w;  // step: of the windows, in the spread source
  int top, left;                        // of the window of output (0, 0), in the spread source
  int spread_h, spread_w;               // extents of the source when spread out
  FastDivide by_spread_h, by_spread_w;  // zeros between its elements
  int tile_width, thread_rows, column_tiles, row_tiles, plane_groups;
  int pitch, stage_channels;
  FastDivide by_tile_width, by_input_width, by_input_height;  // input: the tile with its halo
  std::int64_t row_stride, channel_stride;  // of w: from plane to plane, channel to channel
  bool turned;
  std::int64_t images;
  const float* bias;
  bool relu, accumulate;
};

// Brings channels [c0, c0 + channels) of one image's tile, and their weights, to shared memory.
__device__ __forceinline__ void load_stage(float* tile, float* weights, const float* source,
                                           const float* __restrict__ w, const TiledConv& p, int c0,
                                           int channels, int top, int left, int plane0) {
  const int rows = p.by_input_height.divisor(), columns = p.by_input_width.divisor();
  for (int i = threadIdx.x; i < channels * rows * columns; i += blockDim.x) {
    int column = 0, row = 0, row_rest = 0, column_rest = 0;
    const int c = p.by_input_height.divide(p.by_input_width.divide(i, column), row);
    const int u = top + row, v = left + column;
    bool inside = static_cast<unsigned>(u) < static_cast<unsigned>(p.spread_h) &&
                  static_cast<unsigned>(v) < static_cast<unsigned>(p.spread_w);
    const int from_row = p.by_spread_h.divide(inside ? u : 0, row_rest);
    const int from_column = p.by_spread_w.divide(inside ? v : 0, column_rest);
    inside = inside && row_rest == 0 && column_rest == 0;
    const float* from = source + static_cast<std::int64_t>(c0 + c) * p.height * p.width;
    tile[(c * rows + row) * p.pitch + column] =
        inside ? __ldg(from + from_row * p.width + from_column) : 0.0f;
  }
  const int taps = p.kernel_height * p.kernel_width;
  for (int i = threadIdx.x; i < channels * taps * kPlanes; i += blockDim.x) {
    const int plane = plane0 + i % kPlanes, tap = i / kPlanes % taps, c = c0 + i / kPlanes / taps;
    const float* from = w + plane * p.row_stride + c * p.channel_stride;
    weights[i] = plane < p.planes ? __ldg(from + (p.turned ? taps - 1 - tap : tap)) : 0.0f;
  }
}

template <int kKernel, int kPixels>
__global__ void __launch_bounds__(kMaxThreads)
    tiled_kernel(float* __restrict__ to, const float* __restrict__ source,
                 const float* __restrict__ w, TiledConv p) {
  const int kernel_height = kKernel > 0 ? kKernel : p.kernel_height;
  const int kernel_width = kKernel > 0 ? kKernel : p.kernel_width;
  const int taps = kernel_height * kernel_width;
  float* weights = device::dynamic_shared<float>();  // (stage_channels, taps, kPlanes)
  // (stage_channels, input rows, pitch)
  float* tile = weights + p.stage_channels * taps * kPlanes;

  unsigned block = blockIdx.x;
  const auto next = [&](int count) {
    const int index = static_cast<int>(block % count);
    block /= count;
    return index;
  };
  const int column0 = next(p.column_tiles) * p.tile_width;
  const int row0 = next(p.row_tiles) * p.thread_rows * kPixels;
  const int plane0 = next(p.plane_groups) * kPlanes;
  const std::int64_t image_step = gridDim.x / (p.column_tiles * p.row_tiles * p.plane_groups);
  int tx = 0, ty = p.by_tile_width.divide(threadIdx.x, tx);
  const bool active = ty < p.thread_rows;  // the last threads of the last warp only help to copy
  if (!active) ty = 0;
  const int input_rows = p.by_input_height.divisor();
  const int pixel_step = p.thread_rows * p.step_h * p.pitch;  // from one pixel to the next

  for (std::int64_t image = block; image < p.images; image += image_step) {
    const float* from = source + image * p.channels * p.height * p.width;
    float sum[kPixels][kPlanes] = {};
    for (int c0 = 0; c0 < p.channels; c0 += p.stage_channels) {
      const int channels = min(p.stage_channels, p.channels - c0);
      __syncthreads();  // the stage before is used up
      load_stage(tile, weights, from, w, p, c0, channels, row0 * p.step_h + p.top,
                 column0 * p.step_w + p.left, plane0);
      __syncthreads();
      const float* window = tile + ty * p.step_h * p.pitch + tx * p.step_w;
      const float4* tap = reinterpret_cast<const float4*>(weights);
      for (int c = 0; c < channels; ++c, window += input_rows * p.pitch) {
#pragma unroll
        for (int r = 0; r < kernel_height; ++r) {
#pragma unroll
          for (int s = 0; s < kernel_width; ++s, tap += kPlanes / 4) {
            const float4 low = tap[0], high = tap[1];
            const float weight[kPlanes] = {low.x,  low.y,  low.z,  low.w,
                                           high.x, high.y, high.z, high.w};
#pragma unroll
            for (int i = 0; i < kPixels; ++i) {
              const float value = window[i * pixel_step + r * p.pitch + s];
#pragma unroll
              for (int f = 0; f < kPlanes; ++f) sum[i][f] += value * weight[f];
            }
          }
        }
      }
    }
    const int column = active ? column0 + tx : p.out_width;
#pragma unroll
    for (int f = 0; f < kPlanes; ++f) {
      const int plane = plane0 + f;
      if (plane >= p.planes || column >= p.out_width) break;
      const float offset = p.bias != nullptr ? p.bias[plane] : 0.0f;
      float* plane_to = to + (image * p.planes + plane) * p.out_height * p.out_width + column;
#pragma unroll
      for (int i = 0; i < kPixels; ++i) {
        const int row = row0 + ty + i * p.thread_rows;
        if (row >= p.out_height) break;
        float* at = plane_to + row * p.out_width;
        float value = sum[i][f] + offset;
        if (p.accumulate) value += *at;
        *at = p.relu && value < 0 ? 0.0f : value;
      }
    }
  }
}

// How a thread block covers its outputs, and the shared memory that takes.
struct TileCut {
  std::int64_t width, thread_rows, pixels;

  std::int64_t input_width(const TiledConv& p) const {
    return (width - 1) * p.step_w + p.kernel_width;
  }
  std::int64_t input_height(const TiledConv& p) const {
    return (thread_rows * pixels - 1) * p.step_h + p.kernel_height;
  }
  std::int64_t pitch(const TiledConv& p) const {
    const std::int64_t columns = input_width(p);
    return p.step_w == 1 ? columns + ((width - columns) % 32 + 32) % 32 : columns;
  }
  std::int64_t channel_bytes(const TiledConv& p) const {
    const std::int64_t taps = std::int64_t{p.kernel_height} * p.kernel_width;
    return 4 * (input_height(p) * pitch(p) + taps * kPlanes);
  }
};

// Empty when not even a window of one pixel fits.
std::optional<TileCut> cut_tile(const TiledConv& p) {
  const auto evenly = [](std::int64_t extent, std::int64_t most) {
    return divide_up(extent, divide_up(extent, most));
  };
  for (const std::int64_t pixels : {4, 1}) {
    for (std::int64_t width = evenly(p.out_width, 32);; width = divide_up(width, 2)) {
      const std::int64_t rows = evenly(divide_up(p.out_height, pixels), kMaxThreads / width);
      for (std::int64_t thread_rows = rows;; thread_rows = divide_up(thread_rows, 2)) {
        const TileCut cut{width, thread_rows, pixels};
        if (cut.channel_bytes(p) <= kSharedBytes) return cut;
        if (thread_rows == 1) break;
      }
      if (width == 1) break;
    }
  }
  return std::nullopt;
}

void run_tiled(float* to, const float* source, const float* w, TiledConv p, const Stream& stream) {
  const TileCut cut = *cut_tile(p);  // conv_takes_tiled() says that there is one
  p.tile_width = narrow(cut.width);
  p.thread_rows = narrow(cut.thread_rows);
  p.pitch = narrow(cut.pitch(p));
  p.column_tiles = narrow(divide_up(p.out_width, cut.width));
  p.row_tiles = narrow(divide_up(p.out_height, cut.thread_rows * cut.pixels));
  p.plane_groups = narrow(divide_up(p.planes, kPlanes));
  p.by_tile_width = FastDivide(cut.width);
  p.by_input_width = FastDivide(cut.input_width(p));
  p.by_input_height = FastDivide(cut.input_height(p));
  const std::int64_t stage = std::min(kStageChannels, std::int64_t{p.channels});
  p.stage_channels = narrow(std::clamp(kStageBytes / cut.channel_bytes(p), std::int64_t{1}, stage));
  const std::int64_t tiles = std::int64_t{p.column_tiles} * p.row_tiles * p.plane_groups;
  const std::int64_t images = std::min(p.images, std::max(std::int64_t{1}, 0x7fffffff / tiles));
  const std::int64_t threads = round_up(cut.width * cut.thread_rows, 32);
  const Launch config{dim3(static_cast<unsigned>(tiles * images)),
                      dim3(static_cast<unsigned>(std::min<std::int64_t>(threads, kMaxThreads))),
                      static_cast<std::size_t>(p.stage_channels * cut.channel_bytes(p)), stream};
  const int kernel = p.kernel_height == p.kernel_width ? p.kernel_height : 0;
  if (cut.pixels == 1) {
    launch(tiled_kernel<0, 1>, config, to, source, w, p);
  } else if (kernel == 3) {
    launch(tiled_kernel<3, 4>, config, to, source, w, p);
  } else if (kernel == 5) {
    launch(tiled_kernel<5, 4>, config, to, source, w, p);
  } else {
    launch(tiled_kernel<0, 4>, config, to, source, w, p);
  }
}

TiledConv tiled_conv(const ConvDims& d) {
  TiledConv p{};
  p.kernel_height = narrow(d.kh);
  p.kernel_width = narrow(d.kw);
  p.images = d.n;
  return p;
}

TiledConv forward_conv(const ConvDims& d) {
  TiledConv p = tiled_conv(d);
  p.channels = narrow(d.c);
  p.height = p.spread_h = narrow(d.h);
  p.width = p.spread_w = narrow(d.w);
  p.planes = narrow(d.oc);
  p.out_height = narrow(d.oh());
  p.out_width = narrow(d.ow());
  p.step_h = narrow(window_step(d.stride_h, d.h + 2 * d.pad_h));
  p.step_w = narrow(window_step(d.stride_w, d.w + 2 * d.pad_w));
  p.top = narrow(-d.pad_h);
  p.left = narrow(-d.pad_w);
  p.by_spread_h = p.by_spread_w = FastDivide(1);
  p.row_stride = d.c * d.kh * d.kw;
  p.channel_stride = d.kh * d.kw;
  return p;
}

TiledConv backward_conv(const ConvDims& d) {
  TiledConv p = tiled_conv(d);
  p.channels = narrow(d.oc);
  p.height = narrow(d.oh());
  p.width = narrow(d.ow());
  // A single row or column of dy has no neighbours that a stride separates.
  const std::int64_t spread_h = d.oh() > 1 ? d.stride_h : 1, spread_w = d.ow() > 1 ? d.stride_w : 1;
  p.spread_h = narrow((d.oh() - 1) * spread_h + 1);
  p.spread_w = narrow((d.ow() - 1) * spread_w + 1);
  p.by_spread_h = FastDivide(spread_h);
  p.by_spread_w = FastDivide(spread_w);
  p.planes = narrow(d.c);
  p.out_height = narrow(d.h);
  p.out_width = narrow(d.w);
  p.step_h = p.step_w = 1;
  p.top = narrow(d.pad_h - (d.kh - 1));
  p.left = narrow(d.pad_w - (d.kw - 1));
  p.row_stride = d.kh * d.kw;
  p.channel_stride = d.c * d.kh * d.kw;
  p.turned = true;
  return p;
}

}  // namespace

std::string conv_takes_tiled(const ConvProblem& problem) {
  const bool forward = problem.pass == ConvPass::forward;
  if (cut_tile(forward ? forward_conv(problem.dims) : backward_conv(problem.dims))) return "";
  return str("the window of one pixel needs more than ", kSharedBytes, " bytes of shared memory");
}

void conv2d_forward_tiled(float* y, const float* x, const float* w, const float* bias,
                          const ConvDims& d, Epilogue epilogue, const ConvOptions&, Workspace,
                          const Stream& stream) {
  TiledConv p = forward_conv(d);
  p.bias = bias;
  p.relu = epilogue == Epilogue::relu;
  run_tiled(y, x, w, p, stream);
}

void conv2d_backward_data_tiled(float* dx, const float* dy, const float* w, const ConvDims& d,
                                GradientMode mode, const ConvOptions&, Workspace,
                                const Stream& stream) {
  TiledConv p = backward_conv(d);
  p.accumulate = mode == GradientMode::accumulate;
  run_tiled(dx, dy, w, p, stream);
}

}  // namespace weft::kernels::cuda

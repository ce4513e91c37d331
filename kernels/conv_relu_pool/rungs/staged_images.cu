// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "staged_images": forward and the data gradient.
//
// Square kernels of 3 or 5 with stride 1 under windows of 2 x 2, when they fit: a thread computes
// one window for kPlanes filters, so the four values that compete never leave its registers. Some
// channels of some images lie in shared memory behind a border of zeros, and their weights, those
// of one tap in a row:
//
//        rows 2u + r, 2u + r + 1      kKernel + 1 values each; a row is loaded once, as pairs,
//        o  o  o  o  o  o             and serves as the lower row of one r and the upper of the
//        o  o  o  o  o  o             next: 4 kPlanes products for kPlanes weights
//
// Channels that do not fit at once come in turns, while the sums stay in registers. The data
// gradient is the same computation on dz, made on the way into shared memory from dy and the bytes
// of argmax, with the kernels turned around and filters and channels exchanged.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv_relu_pool/launchers.h"
#include "kernels/conv_relu_pool/parts/window_max.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {
namespace {

using device::FastDivide;

constexpr int kMaxThreads = 256;
constexpr std::int64_t kSharedBytes = 48 * 1024;

struct FusedPlan {
  int channels, height, width;  // of the source: x, or dz
  int top, left;                // border in front of it
  int planes, staged_planes;    // of the result; with those of zeros that fill up the last group
  int out_height, out_width;
  int pitch, staged_rows, stage_channels;
  int weight_stride;  // floats between the taps in shared memory
  int items, parts, items_per_part, block_images;
  std::int64_t images;
  bool accumulate;
  // They take apart a thread's item (column, row, group of planes) and a staged element (column,
  // row, channel).
  FastDivide by_item_columns, by_item_rows, by_plane_groups, by_pitch, by_staged_rows, by_channels;
};

struct Source {
  const float* values;         // x (n, c, h, w), or dy (n, oc, rows, columns)
  const std::uint8_t* argmax;  // of dy, or null

  // dz at (i, j) of a plane of height x width: windows of 2 x 2.
  __device__ __forceinline__ float read(std::int64_t plane, int i, int j, int height,
                                        int width) const {
    if (argmax == nullptr) return __ldg(values + (plane * height + i) * width + j);
    const std::int64_t at = (plane * (height / 2) + i / 2) * (width / 2) + j / 2;
    return argmax[at] == i % 2 * 2 + j % 2 ? __ldg(values + at) : 0.0f;
  }
};

template <int kPlanes>
struct alignas(kPlanes % 4 == 0 ? 16 : 8) PlaneVector {
  float value[kPlanes];
};

// Channels [c0, c0 + stage_channels) of the block's images, and their weights (channel, tap,
// weight_stride). kTurned: w is (channels, planes, taps), read backwards.
template <int kKernel, bool kTurned>
__device__ __forceinline__ void load_stage(float* weights, float* images, const Source& source,
                                           const float* __restrict__ w, const FusedPlan& p,
                                           std::int64_t image0, int c0) {
  constexpr int kTaps = kKernel * kKernel;
  for (int i = threadIdx.x; i < p.stage_channels * kTaps * p.staged_planes; i += blockDim.x) {
    int plane = 0, c = 0;
    const int tap = i % kTaps;
    if (kTurned) {
      plane = i / kTaps % p.staged_planes, c = i / kTaps / p.staged_planes;
    } else {
      plane = p.by_channels.divide(i / kTaps, c);
    }
    const std::int64_t from =
        kTurned ? (std::int64_t{c0 + c} * p.planes + plane) * kTaps + kTaps - 1 - tap
                : (std::int64_t{plane} * p.channels + c0 + c) * kTaps + tap;
    weights[(c * kTaps + tap) * p.weight_stride + plane] =
        c0 + c < p.channels && plane < p.planes ? __ldg(w + from) : 0.0f;
  }
  const int count = p.block_images * p.stage_channels * p.staged_rows * p.pitch;
#pragma unroll 4
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    int column = 0, row = 0, c = 0;
    const int image =
        p.by_channels.divide(p.by_staged_rows.divide(p.by_pitch.divide(i, column), row), c);
    const int from_row = row - p.top, from_column = column - p.left;
    const bool inside = static_cast<unsigned>(from_row) < static_cast<unsigned>(p.height) &&
                        static_cast<unsigned>(from_column) < static_cast<unsigned>(p.width) &&
                        c0 + c < p.channels && image0 + image < p.images;
    const std::int64_t plane = (image0 + image) * p.channels + c0 + c;
    images[i] = inside ? source.read(plane, from_row, from_column, p.height, p.width) : 0.0f;
  }
}

// sum[row][column][plane] of the 2 x 2 outputs at `corner` += the stage's products.
template <int kKernel, int kPlanes>
__device__ __forceinline__ void add_products(float (&sum)[2][2][kPlanes], const float* corner,
                                             const float* taps, const FusedPlan& p) {
  constexpr int kWidth = kKernel + 1;
  const auto load_row = [&](float(&row)[kWidth], const float* from) {
#pragma unroll
    for (int i = 0; i < kWidth; i += 2) {
      const float2 pair = *reinterpret_cast<const float2*>(from + i);
      row[i] = pair.x, row[i + 1] = pair.y;
    }
  };
  for (int c = 0; c < p.stage_channels; ++c, corner += p.staged_rows * p.pitch) {
    float upper[kWidth], lower[kWidth];
    load_row(upper, corner);
#pragma unroll
    for (int r = 0; r < kKernel; ++r) {
      load_row(lower, corner + (r + 1) * p.pitch);
#pragma unroll
      for (int s = 0; s < kKernel; ++s, taps += p.weight_stride) {
        const auto weight = *reinterpret_cast<const PlaneVector<kPlanes>*>(taps);
#pragma unroll
        for (int f = 0; f < kPlanes; ++f) {
          sum[0][0][f] += upper[s] * weight.value[f];
          sum[0][1][f] += upper[s + 1] * weight.value[f];
          sum[1][0][f] += lower[s] * weight.value[f];
          sum[1][1][f] += lower[s + 1] * weight.value[f];
        }
      }
#pragma unroll
      for (int i = 0; i < kWidth; ++i) upper[i] = lower[i];
    }
  }
}

// A thread's place: a 2 x 2 square of outputs of kPlanes planes of an image.
struct Item {
  int row, column, plane0;
  std::int64_t image;
  bool active;
};

// Runs the products of one block and hands the sums to finish(item, sum).
template <int kKernel, int kPlanes, bool kTurned, class Finish>
__device__ __forceinline__ void fused_block(const Source& source, const float* __restrict__ w,
                                            const FusedPlan& p, const Finish& finish) {
  float* weights = device::dynamic_shared<float>();  // (stage_channels, taps, weight_stride)
  // (block_images, stage_channels, staged_rows, pitch)
  float* images = weights + p.stage_channels * kKernel * kKernel * p.weight_stride;
  const int part = static_cast<int>(blockIdx.x % p.parts);
  const std::int64_t image0 = std::int64_t{blockIdx.x / p.parts} * p.block_images;
  const int index = part * p.items_per_part + static_cast<int>(threadIdx.x);
  const bool mine = static_cast<int>(threadIdx.x) < p.items_per_part && index < p.items;
  Item item{};
  int group = 0;
  const int image = p.by_plane_groups.divide(
      p.by_item_rows.divide(p.by_item_columns.divide(mine ? index : 0, item.column), item.row),
      group);
  item.plane0 = group * kPlanes;
  item.image = image0 + image;
  item.active = mine && item.image < p.images;

  const int plane = p.staged_rows * p.pitch;
  const float* corner =
      images + image * p.stage_channels * plane + 2 * item.row * p.pitch + 2 * item.column;
  float sum[2][2][kPlanes] = {};
  for (int c0 = 0; c0 < p.channels; c0 += p.stage_channels) {
    __syncthreads();  // the stage before is used up
    load_stage<kKernel, kTurned>(weights, images, source, w, p, image0, c0);
    __syncthreads();
    add_products<kKernel, kPlanes>(sum, corner, weights + item.plane0, p);
  }
  if (item.active) finish(item, sum);
}

template <int kKernel, int kPlanes>
__global__ void __launch_bounds__(kMaxThreads, 2)
    fused_forward_kernel(float* __restrict__ y, std::uint8_t* __restrict__ argmax, Source source,
                         const float* __restrict__ w, const float* __restrict__ bias, FusedPlan p) {
  fused_block<kKernel, kPlanes, false>(
      source, w, p, [&](const Item& item, const float(&sum)[2][2][kPlanes]) {
#pragma unroll
        for (int f = 0; f < kPlanes; ++f) {
          const int plane = item.plane0 + f;
          if (plane >= p.planes) return;
          const float offset = bias != nullptr ? bias[plane] : 0.0f;
          WindowMax window(sum[0][0][f] + offset);
#pragma unroll
          for (int i = 1; i < 4; ++i) window.offer(sum[i / 2][i % 2][f] + offset, i);
          const std::int64_t at =
              ((item.image * p.planes + plane) * p.out_height + item.row) * p.out_width +
              item.column;
          y[at] = window.relu();
          if (argmax != nullptr) argmax[at] = window.argmax();
        }
      });
}

template <int kKernel, int kPlanes>
__global__ void __launch_bounds__(kMaxThreads, 2)
    fused_backward_data_kernel(float* __restrict__ dx, Source source, const float* __restrict__ w,
                               FusedPlan p) {
  fused_block<kKernel, kPlanes, true>(
      source, w, p, [&](const Item& item, const float(&sum)[2][2][kPlanes]) {
#pragma unroll
        for (int f = 0; f < kPlanes; ++f) {
          const int plane = item.plane0 + f;
          if (plane >= p.planes) return;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int row = 2 * item.row + i / 2, column = 2 * item.column + i % 2;
            if (row >= p.out_height || column >= p.out_width) continue;
            float& to =
                dx[((item.image * p.planes + plane) * p.out_height + row) * p.out_width + column];
            to = p.accumulate ? to + sum[i / 2][i % 2][f] : sum[i / 2][i % 2][f];
          }
        }
      });
}

// Planes of one thread: the count that leaves the fewest idle, the larger of equals.
std::int64_t planes_per_thread(std::int64_t planes) {
  std::int64_t best = 8;
  for (const std::int64_t count : {6, 2}) {
    if (round_up(planes, count) < round_up(planes, best)) best = count;
  }
  return best;
}

// The computation as a correlation; item_rows x item_columns squares of 2 x 2 outputs.
struct FusedDims {
  std::int64_t channels, height, width, top, left, planes, out_height, out_width;
  std::int64_t item_rows, item_columns, kernel, images;

  std::int64_t groups() const { return divide_up(planes, planes_per_thread(planes)); }
  std::int64_t weight_stride() const { return round_up(groups() * planes_per_thread(planes), 4); }
  std::int64_t pitch() const { return round_up(2 * item_columns + kernel - 1, 2); }
  std::int64_t rows() const { return 2 * item_rows + kernel - 1; }
  // The shared memory that some channels of some images take.
  std::int64_t bytes(std::int64_t staged_channels, std::int64_t staged_images) const {
    return 4 * staged_channels *
           (kernel * kernel * weight_stride() + staged_images * rows() * pitch());
  }
};

FusedDims forward_dims(const ReluPoolDims& dims) {
  const ConvDims& d = dims.conv;
  return {d.c,         d.h,
          d.w,         d.pad_h,
          d.pad_w,     d.oc,
          dims.rows(), dims.columns(),
          dims.rows(), dims.columns(),
          d.kh,        d.n};
}

FusedDims backward_dims(const ReluPoolDims& dims) {
  const ConvDims& d = dims.conv;
  return {d.oc,
          2 * dims.rows(),
          2 * dims.columns(),
          d.kh - 1 - d.pad_h,
          d.kw - 1 - d.pad_w,
          d.c,
          d.h,
          d.w,
          divide_up(d.h, 2),
          divide_up(d.w, 2),
          d.kh,
          d.n};
}

// How images, channels and items are cut.
FusedPlan make_plan(const FusedDims& d, const Stream& stream) {
  FusedPlan p{};
  const std::int64_t items = d.groups() * d.item_rows * d.item_columns;  // of one image
  const std::int64_t processors = device_properties(stream.device()).multiprocessors;
  std::int64_t images = std::clamp<std::int64_t>(d.images / (2 * processors), 1,
                                                 std::max<std::int64_t>(kMaxThreads / items, 1));
  while (images > 1 && d.bytes(d.channels, images) > kSharedBytes) --images;
  const std::int64_t most = kSharedBytes / d.bytes(1, images);
  const std::int64_t stage = divide_up(d.channels, divide_up(d.channels, most));
  const std::int64_t parts = divide_up(images * items, kMaxThreads);

  p.channels = narrow(d.channels);
  p.height = narrow(d.height);
  p.width = narrow(d.width);
  p.top = narrow(d.top);
  p.left = narrow(d.left);
  p.planes = narrow(d.planes);
  p.staged_planes = narrow(d.groups() * planes_per_thread(d.planes));
  p.out_height = narrow(d.out_height);
  p.out_width = narrow(d.out_width);
  p.pitch = narrow(d.pitch());
  p.staged_rows = narrow(d.rows());
  p.stage_channels = narrow(stage);
  p.weight_stride = narrow(d.weight_stride());
  p.items = narrow(images * items);
  p.parts = narrow(parts);
  p.items_per_part = narrow(divide_up(images * items, parts));
  p.block_images = narrow(images);
  p.images = d.images;
  p.by_item_columns = FastDivide(d.item_columns);
  p.by_item_rows = FastDivide(d.item_rows);
  p.by_plane_groups = FastDivide(d.groups());
  p.by_pitch = FastDivide(d.pitch());
  p.by_staged_rows = FastDivide(d.rows());
  p.by_channels = FastDivide(stage);
  return p;
}

Launch launch_of(const FusedPlan& p, std::int64_t kernel, const Stream& stream) {
  const std::int64_t blocks = divide_up(p.images, p.block_images) * p.parts;
  const std::int64_t threads = round_up(p.items_per_part, 32);
  const std::int64_t floats =
      std::int64_t{p.stage_channels} *
      (kernel * kernel * p.weight_stride + std::int64_t{p.block_images} * p.staged_rows * p.pitch);
  return {dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)),
          static_cast<std::size_t>(4 * floats), stream};
}

// Calls start(integral_constant kernel, integral_constant planes of a thread).
template <class Start>
void specialize(std::int64_t kernel, std::int64_t planes, const Start& start) {
  const auto with_planes = [&](auto k) {
    const std::int64_t count = planes_per_thread(planes);
    if (count == 2) return start(k, std::integral_constant<int, 2>());
    if (count == 6) return start(k, std::integral_constant<int, 6>());
    start(k, std::integral_constant<int, 8>());
  };
  if (kernel == 3) return with_planes(std::integral_constant<int, 3>());
  with_planes(std::integral_constant<int, 5>());
}

}  // namespace

std::string conv2d_relu_pool_takes_staged_images(const ReluPoolProblem& problem) {
  const ReluPoolDims& dims = problem.dims;
  const ConvDims& d = dims.conv;
  if (d.kh != d.kw || (d.kh != 3 && d.kh != 5) || d.stride_h != 1 || d.stride_w != 1 ||
      dims.ph != 2 || dims.pw != 2) {
    return "it takes kernels of 3 x 3 or 5 x 5 with stride 1 under windows of 2 x 2";
  }
  const bool forward = problem.pass == ConvPass::forward;
  const FusedDims fused = forward ? forward_dims(dims) : backward_dims(dims);
  const bool fits = problem.pass == ConvPass::backward_weights ? stages_windows(dims)
                                                               : fused.bytes(1, 1) <= kSharedBytes;
  return fits ? "" : "an image's channel, its windows and their weights do not fit in 48 KiB";
}

void conv2d_relu_pool_forward_staged_images(float* y, std::uint8_t* argmax, const float* x,
                                            const float* w, const float* bias,
                                            const ReluPoolDims& dims, const ReluPoolOptions&,
                                            Workspace, const Stream& stream) {
  const ConvDims& d = dims.conv;
  const FusedPlan p = make_plan(forward_dims(dims), stream);
  specialize(d.kh, d.oc, [&](auto kernel, auto planes) {
    launch(fused_forward_kernel<kernel(), planes()>, launch_of(p, d.kh, stream), y, argmax,
           Source{x, nullptr}, w, bias, p);
  });
}

void conv2d_relu_pool_backward_data_staged_images(float* dx, const float* dy,
                                                  const std::uint8_t* argmax, const float* w,
                                                  const ReluPoolDims& dims, GradientMode mode,
                                                  const ReluPoolOptions&, Workspace,
                                                  const Stream& stream) {
  const ConvDims& d = dims.conv;
  FusedPlan p = make_plan(backward_dims(dims), stream);
  p.accumulate = mode == GradientMode::accumulate;
  specialize(d.kh, d.c, [&](auto kernel, auto planes) {
    launch(fused_backward_data_kernel<kernel(), planes()>, launch_of(p, d.kh, stream), dx,
           Source{dy, argmax}, w, p);
  });
}

}  // namespace weft::kernels::cuda

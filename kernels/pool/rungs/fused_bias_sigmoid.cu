// SPDX-License-Identifier: MIT
// Average pooling, rung "fused_bias_sigmoid": the subsampling layer of LeNet in one kernel.
//
//   forward    a thread per output reads its window, adds the bias of its channel and applies the
//              sigmoid to the sum while it is in a register. As three kernels the map of means
//              would be written and read twice more, 16 bytes for each output.
//   backward   dz = dy y (1 - y) is made again wherever it is needed, and never stored. A thread
//   per
//              input gathers the dz of the windows that cover it, and a block per channel adds all
//              dz of that channel in a fixed order.
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/pool/parts/windows.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    bias_sigmoid_forward_kernel(float* __restrict__ y, const float* __restrict__ x,
                                const float* __restrict__ bias, std::int64_t outputs,
                                std::int64_t channels, Plane s, float weight) {
  for (std::int64_t o = device::global_thread(); o < outputs; o += device::grid_threads()) {
    const device::PlanePosition<std::int64_t> at(o, s.oh, s.ow);
    const float* in = x + at.plane * s.h * s.w;
    const Range rows = window_range(at.row, s.stride_h, s.pad_h, s.kh, s.h);
    const Range cols = window_range(at.column, s.stride_w, s.pad_w, s.kw, s.w);
    float sum = 0.0f;
    for (int i = rows.begin; i < rows.end; ++i) {
      for (int j = cols.begin; j < cols.end; ++j) sum += in[i * s.w + j];
    }
    y[o] = 1.0f / (1.0f + expf(-(sum * weight + bias[at.plane % channels])));
  }
}

__device__ __forceinline__ float sigmoid_gradient(float dy, float y) {
  return dy * y * (1.0f - y);
}

__global__ void __launch_bounds__(kThreads)
    bias_sigmoid_backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                                 const float* __restrict__ y, std::int64_t inputs, Plane s,
                                 float weight, bool accumulate) {
  for (std::int64_t e = device::global_thread(); e < inputs; e += device::grid_threads()) {
    const device::PlanePosition<std::int64_t> at(e, s.h, s.w);
    const std::int64_t base = at.plane * s.oh * s.ow;
    const Range rows = windows_over(at.row, s.stride_h, s.pad_h, s.kh, s.oh);
    const Range cols = windows_over(at.column, s.stride_w, s.pad_w, s.kw, s.ow);
    float sum = 0.0f;
    for (int p = rows.begin; p < rows.end; ++p) {
      for (int q = cols.begin; q < cols.end; ++q) {
        const std::int64_t o = base + p * s.ow + q;
        sum += sigmoid_gradient(dy[o], y[o]);
      }
    }
    dx[e] = accumulate ? dx[e] + sum * weight : sum * weight;
  }
}

__global__ void __launch_bounds__(kThreads)
    bias_gradient_kernel(float* __restrict__ dbias, const float* __restrict__ dy,
                         const float* __restrict__ y, std::int64_t images, std::int64_t channels,
                         std::int64_t plane, bool accumulate) {
  __shared__ device::BlockReduceStorage<float, kThreads> storage;
  for (std::int64_t c = blockIdx.x; c < channels; c += gridDim.x) {
    float sum = 0.0f;
    for (std::int64_t i = threadIdx.x; i < images * plane; i += kThreads) {
      const std::int64_t o = (i / plane * channels + c) * plane + i % plane;
      sum += sigmoid_gradient(dy[o], y[o]);
    }
    sum = device::block_reduce<kThreads>(sum, device::Add(), storage);
    if (threadIdx.x == 0) dbias[c] = accumulate ? dbias[c] + sum : sum;
  }
}

Launch launch_of(std::int64_t elements, const Stream& stream) {
  return {blocks_for(elements, kThreads, 1 << 20), kThreads, 0, stream};
}

}  // namespace

void avg_pool2d_forward_fused_bias_sigmoid(float* y, const float* x, const float* bias,
                                           const PoolDims& dims, const Stream& stream) {
  const std::int64_t outputs = dims.n * dims.c * dims.oh() * dims.ow();
  launch(bias_sigmoid_forward_kernel, launch_of(outputs, stream), y, x, bias, outputs, dims.c,
         plane_of(dims), weight_of(dims));
}

void avg_pool2d_backward_fused_bias_sigmoid(float* dx, float* dbias, const float* dy,
                                            const float* y, const PoolDims& dims, GradientMode mode,
                                            const Stream& stream) {
  const std::int64_t inputs = dims.n * dims.c * dims.h * dims.w;
  const bool accumulate = mode == GradientMode::accumulate;
  launch(bias_sigmoid_backward_kernel, launch_of(inputs, stream), dx, dy, y, inputs, plane_of(dims),
         weight_of(dims), accumulate);
  launch(bias_gradient_kernel, Launch{blocks_for(dims.c, 1), kThreads, 0, stream}, dbias, dy, y,
         dims.n, dims.c, dims.oh() * dims.ow(), accumulate);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Convolution, rung "fused_relu_pool", for shapes that fused_relu_pool.cu is not written for:
// forward and the gradient of the data, one thread for each result, reading through the caches.
#include "engine/launch.h"
#include "kernels/conv/cuda.h"
#include "kernels/conv/window_max.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kGatherThreads = 256;

__global__ void __launch_bounds__(kGatherThreads)
    forward_gather_kernel(float* __restrict__ y, std::uint8_t* __restrict__ argmax,
                          const float* __restrict__ x, const float* __restrict__ w,
                          const float* __restrict__ bias, ReluPoolDims dims, std::int64_t rows,
                          std::int64_t columns) {
  const ConvDims& d = dims.conv;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kGatherThreads + threadIdx.x;
  if (at >= d.n * d.oc * rows * columns) return;
  const std::int64_t v = at % columns, u = at / columns % rows;
  const std::int64_t o = at / columns / rows % d.oc, n = at / columns / rows / d.oc;
  WindowMax window(0);
  for (int index = 0; index < dims.ph * dims.pw; ++index) {
    const std::int64_t top = (u * dims.ph + index / dims.pw) * d.stride_h - d.pad_h;
    const std::int64_t left = (v * dims.pw + index % dims.pw) * d.stride_w - d.pad_w;
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
    if (index == 0) {
      window = WindowMax(sum);
    } else {
      window.offer(sum, index);
    }
  }
  y[at] = window.relu();
  if (argmax != nullptr) argmax[at] = window.argmax();
}

__global__ void __launch_bounds__(kGatherThreads)
    backward_data_gather_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                                const std::uint8_t* __restrict__ argmax,
                                const float* __restrict__ w, ReluPoolDims dims, std::int64_t rows,
                                std::int64_t columns, bool accumulate) {
  const ConvDims& d = dims.conv;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kGatherThreads + threadIdx.x;
  if (at >= d.n * d.c * d.h * d.w) return;
  const std::int64_t j = at % d.w, i = at / d.w % d.h, c = at / d.w / d.h % d.c;
  const std::int64_t n = at / d.w / d.h / d.c;
  float sum = 0;
  for (std::int64_t r = 0; r < d.kh; ++r) {
    const std::int64_t row = i + d.pad_h - r, p = row / d.stride_h;
    if (row < 0 || row % d.stride_h != 0 || p >= rows * dims.ph) continue;
    for (std::int64_t s = 0; s < d.kw; ++s) {
      const std::int64_t column = j + d.pad_w - s, q = column / d.stride_w;
      if (column < 0 || column % d.stride_w != 0 || q >= columns * dims.pw) continue;
      const std::int64_t index = p % dims.ph * dims.pw + q % dims.pw;
      const std::int64_t window = (n * d.oc * rows + p / dims.ph) * columns + q / dims.pw;
      for (std::int64_t o = 0; o < d.oc; ++o) {
        const std::int64_t from = window + o * rows * columns;
        if (argmax[from] == index) sum += dy[from] * w[((o * d.c + c) * d.kh + r) * d.kw + s];
      }
    }
  }
  dx[at] = accumulate ? dx[at] + sum : sum;
}

}  // namespace

void relu_pool_forward_gather(float* y, std::uint8_t* argmax, const float* x, const float* w,
                              const float* bias, const ReluPoolDims& dims, const Stream& stream) {
  const std::int64_t outputs = dims.conv.n * dims.conv.oc * dims.rows() * dims.columns();
  const Launch config{dim3(blocks_for(outputs, kGatherThreads)), dim3(kGatherThreads), 0, stream};
  launch(forward_gather_kernel, config, y, argmax, x, w, bias, dims, dims.rows(), dims.columns());
}

void relu_pool_backward_data_gather(float* dx, const float* dy, const std::uint8_t* argmax,
                                    const float* w, const ReluPoolDims& dims, bool accumulate,
                                    const Stream& stream) {
  const ConvDims& d = dims.conv;
  const Launch config{dim3(blocks_for(d.n * d.c * d.h * d.w, kGatherThreads)), dim3(kGatherThreads),
                      0, stream};
  launch(backward_data_gather_kernel, config, dx, dy, argmax, w, dims, dims.rows(), dims.columns(),
         accumulate);
}

}  // namespace weft::kernels::cuda

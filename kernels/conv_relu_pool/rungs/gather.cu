// SPDX-License-Identifier: MIT
// Convolution with ReLU and pooling, rung "gather": a thread for each result, or a block for each
// weight, which reads through the caches whatever the formula asks for.
#include "engine/launch.h"
#include "kernels/conv/parts/weight_gradient_sums.cuh"
#include "kernels/conv_relu_pool/launchers.h"
#include "kernels/conv_relu_pool/parts/window_max.cuh"
#include "kernels/device/block.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kGatherThreads = 256, kWeightThreads = 128;

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

// One block sums one weight, or one bias, over the images of one chunk.
__global__ void __launch_bounds__(kWeightThreads)
    backward_weights_gather_kernel(float* __restrict__ partials, const float* __restrict__ dy,
                                   const std::uint8_t* __restrict__ argmax,
                                   const float* __restrict__ x, ReluPoolDims dims,
                                   std::int64_t rows, std::int64_t columns, WeightChunks chunks) {
  __shared__ device::BlockReduceStorage<float, kWeightThreads> storage;
  const ConvDims& d = dims.conv;
  const std::int64_t chunk = blockIdx.x / chunks.row, weight = blockIdx.x % chunks.row;
  const bool is_bias = weight >= chunks.weights;
  const std::int64_t s = weight % d.kw, r = weight / d.kw % d.kh;
  const std::int64_t c = weight / d.kw / d.kh % d.c;
  const std::int64_t o = is_bias ? weight - chunks.weights : weight / d.kw / d.kh / d.c;
  const std::int64_t end = min((chunk + 1) * chunks.images, d.n);
  float sum = 0;
  for (std::int64_t n = chunk * chunks.images; n < end; ++n) {
    const float* plane = x + (n * d.c + c) * d.h * d.w;
    for (std::int64_t at = threadIdx.x; at < rows * columns; at += kWeightThreads) {
      const std::int64_t from = (n * d.oc + o) * rows * columns + at, index = argmax[from];
      if (index == kReluPoolCut) continue;
      const std::int64_t p = at / columns * dims.ph + index / dims.pw;
      const std::int64_t q = at % columns * dims.pw + index % dims.pw;
      const std::int64_t i = p * d.stride_h + r - d.pad_h, j = q * d.stride_w + s - d.pad_w;
      if (is_bias) {
        sum += dy[from];
      } else if (i >= 0 && i < d.h && j >= 0 && j < d.w) {
        sum += dy[from] * plane[i * d.w + j];
      }
    }
  }
  const float total = device::block_reduce<kWeightThreads>(sum, device::Add{}, storage);
  if (threadIdx.x == 0) partials[chunk * chunks.row + weight] = total;
}

}  // namespace

void conv2d_relu_pool_forward_gather(float* y, std::uint8_t* argmax, const float* x, const float* w,
                                     const float* bias, const ReluPoolDims& dims,
                                     const ReluPoolOptions&, Workspace, const Stream& stream) {
  const std::int64_t outputs = dims.conv.n * dims.conv.oc * dims.rows() * dims.columns();
  const Launch config{dim3(blocks_for(outputs, kGatherThreads)), dim3(kGatherThreads), 0, stream};
  launch(forward_gather_kernel, config, y, argmax, x, w, bias, dims, dims.rows(), dims.columns());
}

void conv2d_relu_pool_backward_data_gather(float* dx, const float* dy, const std::uint8_t* argmax,
                                           const float* w, const ReluPoolDims& dims,
                                           GradientMode mode, const ReluPoolOptions&, Workspace,
                                           const Stream& stream) {
  const ConvDims& d = dims.conv;
  const Launch config{dim3(blocks_for(d.n * d.c * d.h * d.w, kGatherThreads)), dim3(kGatherThreads),
                      0, stream};
  launch(backward_data_gather_kernel, config, dx, dy, argmax, w, dims, dims.rows(), dims.columns(),
         mode == GradientMode::accumulate);
}

void conv2d_relu_pool_backward_weights_gather(float* dw, float* db, const float* dy,
                                              const std::uint8_t* argmax, const float* x,
                                              const ReluPoolDims& dims, GradientMode mode,
                                              const ReluPoolOptions&, Workspace workspace,
                                              const Stream& stream) {
  const WeightChunks chunks = weight_chunks(dims.conv);
  auto* partials = static_cast<float*>(workspace.data);
  const Launch config{dim3(blocks_for(chunks.count * chunks.row, 1)), dim3(kWeightThreads), 0,
                      stream};
  launch(backward_weights_gather_kernel, config, partials, dy, argmax, x, dims, dims.rows(),
         dims.columns(), chunks);
  sum_partials(dw, chunks.weights, db, db != nullptr ? dims.conv.oc : 0, partials, chunks.count,
               chunks.row, mode, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The textbook's way, for rows of any length: a block per row walks it three times, for the
// maximum, for the sum of exponentials and for the output.
//
// Only the first walk comes from memory as long as the rows in flight fit the L2 cache. With 8
// blocks on each of 132 SMs they do up to some 10k columns; rows of 32000 take 135 MB, and all
// walks come from memory: 16 bytes per element. 8 floats of shared memory per reduction.
#include <climits>

#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/softmax/launchers.h"
#include "kernels/softmax/parts/target.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
using FloatStorage = device::BlockReduceStorage<float, kThreads>;
using IntStorage = device::BlockReduceStorage<int, kThreads>;

// A NaN does not become the maximum; it reaches the result through the sum.
__device__ __forceinline__ float row_max(const float* x, int cols, FloatStorage& storage) {
  float max = -INFINITY;
  for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) max = fmaxf(max, x[c]);
  return device::block_reduce<kThreads>(max, device::MaxNumber(), storage);
}

__device__ __forceinline__ float row_sum_exp(const float* x, float max, int cols,
                                             FloatStorage& storage) {
  float sum = 0.0f;
  for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) sum += expf(x[c] - max);
  return device::block_reduce<kThreads>(sum, device::Add(), storage);
}

__global__ void __launch_bounds__(kThreads)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, int cols) {
  __shared__ FloatStorage storage;
  const float* in = x + static_cast<std::int64_t>(blockIdx.x) * cols;
  float* out = y + static_cast<std::int64_t>(blockIdx.x) * cols;
  const float max = row_max(in, cols, storage);
  const float inverse = 1.0f / row_sum_exp(in, max, cols, storage);
  for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) {
    out[c] = expf(in[c] - max) * inverse;
  }
}

__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                    const float* __restrict__ y, int cols, bool accumulate) {
  __shared__ FloatStorage storage;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  float dot = 0.0f;
  for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) {
    dot += dy[row + c] * y[row + c];
  }
  dot = device::block_reduce<kThreads>(dot, device::Add(), storage);
  for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) {
    const float value = y[row + c] * (dy[row + c] - dot);
    dx[row + c] = accumulate ? dx[row + c] + value : value;
  }
}

__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(float* __restrict__ loss, float* __restrict__ dx,
                         std::int32_t* __restrict__ prediction, const float* __restrict__ x,
                         const std::int32_t* __restrict__ labels, float scale, float smoothing,
                         int cols) {
  __shared__ FloatStorage storage;
  __shared__ IntStorage int_storage;
  const float* in = x + static_cast<std::int64_t>(blockIdx.x) * cols;
  const int label = labels[blockIdx.x];
  const bool valid = label >= 0 && label < cols;
  const float max = row_max(in, cols, storage);
  const float sum = row_sum_exp(in, max, cols, storage);
  if (prediction != nullptr) {
    int best = INT_MAX;  // the lowest column that holds the maximum; none does when all are NaN
    for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) {
      if (in[c] == max && c < best) best = static_cast<int>(c);
    }
    best = device::block_reduce<kThreads>(best, device::MinInt(), int_storage);
    if (threadIdx.x == 0) prediction[blockIdx.x] = best == INT_MAX ? 0 : best;
  }
  if (loss != nullptr && threadIdx.x == 0) {
    loss[blockIdx.x] = logf(sum) - ((valid ? in[label] : NAN) - max);
  }
  if (dx != nullptr) {
    float* out = dx + static_cast<std::int64_t>(blockIdx.x) * cols;
    const float factor = valid ? scale / sum : NAN;
    const Target target(scale, smoothing, cols);
    for (std::int64_t c = threadIdx.x; c < cols; c += kThreads) {
      out[c] = factor * expf(in[c] - max) - (c == label ? target.label : target.other);
    }
  }
}

}  // namespace

void softmax_forward_three_pass(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                                const Stream& stream) {
  launch(forward_kernel, Launch{blocks_for(rows, 1), kThreads, 0, stream}, y, x,
         static_cast<int>(cols));
}

void softmax_backward_three_pass(float* dx, const float* dy, const float* y, std::int64_t rows,
                                 std::int64_t cols, GradientMode mode, const Stream& stream) {
  launch(backward_kernel, Launch{blocks_for(rows, 1), kThreads, 0, stream}, dx, dy, y,
         static_cast<int>(cols), mode == GradientMode::accumulate);
}

void softmax_cross_entropy_three_pass(float* loss, float* dx, std::int32_t* prediction,
                                      const float* x, const std::int32_t* labels, float scale,
                                      float smoothing, std::int64_t rows, std::int64_t cols,
                                      const Stream& stream) {
  launch(cross_entropy_kernel, Launch{blocks_for(rows, 1), kThreads, 0, stream}, loss, dx,
         prediction, x, labels, scale, smoothing, static_cast<int>(cols));
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// A warp per row, for rows of at most 1024 columns: reductions are butterfly shuffles, and there is
// no barrier and no shared memory.
//
// The number of registers per lane is a template argument, so that 10 classes do not pay for 1024.
// With 10 classes 22 lanes idle, which costs nothing: a batch of 256 rows is 64 blocks and the
// kernel is bound by the latency of one load. Blocks are small, 4 rows, so that a finished row soon
// makes room for another: a block leaves when its slowest warp does.
#include <type_traits>

#include "engine/launch.h"
#include "kernels/softmax/launchers.h"
#include "kernels/softmax/parts/row.cuh"
#include "kernels/softmax/parts/warp_group.cuh"

namespace weft::kernels::cuda {

namespace {

using device::kWarpSize;

constexpr int kWarps = 4;  // rows per block
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kBlocksPerSm = 8;  // at most 64 registers; a row takes 32

__device__ __forceinline__ std::int64_t warp_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarpSize;
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, std::int64_t rows,
                   int cols) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  WarpGroup warp;
  forward_row<kPerLane>(y + row * cols, x + row * cols, cols, warp);
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                    const float* __restrict__ y, std::int64_t rows, int cols, bool accumulate) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  WarpGroup warp;
  backward_row<kPerLane>(dx + row * cols, dy + row * cols, y + row * cols, cols, accumulate, warp);
}

template <int kPerLane>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    cross_entropy_kernel(float* __restrict__ loss, float* __restrict__ dx,
                         std::int32_t* __restrict__ prediction, const float* __restrict__ x,
                         const std::int32_t* __restrict__ labels, float scale, float smoothing,
                         std::int64_t rows, int cols) {
  const std::int64_t row = warp_row();
  if (row >= rows) return;  // the whole warp leaves; there is no block barrier
  WarpGroup warp;
  cross_entropy_row<kPerLane>(loss == nullptr ? nullptr : loss + row,
                              dx == nullptr ? nullptr : dx + row * cols,
                              prediction == nullptr ? nullptr : prediction + row, x + row * cols,
                              labels[row], scale, cols, warp, smoothing);
}

// Calls run(integral_constant<int, kPerLane>) with the fewest registers that hold a row.
template <class Run>
void with_per_lane(std::int64_t cols, Run run) {
  if (cols <= 32) return run(std::integral_constant<int, 1>());
  if (cols <= 64) return run(std::integral_constant<int, 2>());
  if (cols <= 128) return run(std::integral_constant<int, 4>());
  if (cols <= 256) return run(std::integral_constant<int, 8>());
  if (cols <= 512) return run(std::integral_constant<int, 16>());
  static_assert(kWarpColumns == 32 * kWarpSize, "the last case must cover the longest row");
  run(std::integral_constant<int, 32>());
}

}  // namespace

void softmax_forward_warp_per_row(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                                  const Stream& stream) {
  const Launch config{blocks_for(rows, kWarps), kThreads, 0, stream};
  with_per_lane(cols, [&](auto per_lane) {
    launch(forward_kernel<decltype(per_lane)::value>, config, y, x, rows, static_cast<int>(cols));
  });
}

void softmax_backward_warp_per_row(float* dx, const float* dy, const float* y, std::int64_t rows,
                                   std::int64_t cols, GradientMode mode, const Stream& stream) {
  const Launch config{blocks_for(rows, kWarps), kThreads, 0, stream};
  with_per_lane(cols, [&](auto per_lane) {
    launch(backward_kernel<decltype(per_lane)::value>, config, dx, dy, y, rows,
           static_cast<int>(cols), mode == GradientMode::accumulate);
  });
}

void softmax_cross_entropy_warp_per_row(float* loss, float* dx, std::int32_t* prediction,
                                        const float* x, const std::int32_t* labels, float scale,
                                        float smoothing, std::int64_t rows, std::int64_t cols,
                                        const Stream& stream) {
  const Launch config{blocks_for(rows, kWarps), kThreads, 0, stream};
  with_per_lane(cols, [&](auto per_lane) {
    launch(cross_entropy_kernel<decltype(per_lane)::value>, config, loss, dx, prediction, x, labels,
           scale, smoothing, rows, static_cast<int>(cols));
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// A block per row, for rows of at most 16384 columns: 16 registers per thread hold the row, and
// reductions go through shuffles and one value per warp in shared memory.
//
// The block has 128 to 1024 threads, the fewest that hold the row. Forward takes 32 registers a
// thread and backward, which holds two rows, 58: at 1024 threads an SM has two blocks or one, and
// one alone has nothing to load while it computes.
#include <type_traits>

#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/softmax/launchers.h"
#include "kernels/softmax/parts/row.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kPerThread = 16;

template <int kThreads>
class Block {
 public:
  struct Storage {
    device::BlockReduceStorage<float, kThreads> values;
    device::BlockReduceStorage<int, kThreads> columns;
  };
  __device__ explicit Block(Storage& storage) : storage_(storage) {}

  static constexpr __device__ int size() { return kThreads; }
  static __device__ int rank() { return static_cast<int>(threadIdx.x); }
  __device__ float max(float value) {
    return device::block_reduce<kThreads>(value, device::MaxNumber(), storage_.values);
  }
  __device__ float sum(float value) {
    return device::block_reduce<kThreads>(value, device::Add(), storage_.values);
  }
  __device__ int lowest(int value) {
    return device::block_reduce<kThreads>(value, device::MinInt(), storage_.columns);
  }

 private:
  Storage& storage_;
};

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, int cols) {
  __shared__ typename Block<kThreads>::Storage storage;
  Block<kThreads> block(storage);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * cols;
  forward_row<kPerThread>(y + first, x + first, cols, block);
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                    const float* __restrict__ y, int cols, bool accumulate) {
  __shared__ typename Block<kThreads>::Storage storage;
  Block<kThreads> block(storage);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * cols;
  backward_row<kPerThread>(dx + first, dy + first, y + first, cols, accumulate, block);
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(float* __restrict__ loss, float* __restrict__ dx,
                         std::int32_t* __restrict__ prediction, const float* __restrict__ x,
                         const std::int32_t* __restrict__ labels, float scale, float smoothing,
                         int cols) {
  __shared__ typename Block<kThreads>::Storage storage;
  Block<kThreads> block(storage);
  const std::int64_t row = blockIdx.x;
  cross_entropy_row<kPerThread>(loss == nullptr ? nullptr : loss + row,
                                dx == nullptr ? nullptr : dx + row * cols,
                                prediction == nullptr ? nullptr : prediction + row, x + row * cols,
                                labels[row], scale, cols, block, smoothing);
}

// Calls run(integral_constant<int, kThreads>) with the fewest threads that hold a row.
template <class Run>
void with_threads(std::int64_t cols, Run run) {
  if (cols <= 128 * kPerThread) return run(std::integral_constant<int, 128>());
  if (cols <= 256 * kPerThread) return run(std::integral_constant<int, 256>());
  if (cols <= 512 * kPerThread) return run(std::integral_constant<int, 512>());
  static_assert(kBlockColumns == 1024 * kPerThread, "the last case must cover the longest row");
  run(std::integral_constant<int, 1024>());
}

}  // namespace

void softmax_forward_block_per_row(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                                   const Stream& stream) {
  with_threads(cols, [&](auto threads) {
    launch(forward_kernel<threads.value>, Launch{blocks_for(rows, 1), threads.value, 0, stream}, y,
           x, static_cast<int>(cols));
  });
}

void softmax_backward_block_per_row(float* dx, const float* dy, const float* y, std::int64_t rows,
                                    std::int64_t cols, GradientMode mode, const Stream& stream) {
  with_threads(cols, [&](auto threads) {
    launch(backward_kernel<threads.value>, Launch{blocks_for(rows, 1), threads.value, 0, stream},
           dx, dy, y, static_cast<int>(cols), mode == GradientMode::accumulate);
  });
}

void softmax_cross_entropy_block_per_row(float* loss, float* dx, std::int32_t* prediction,
                                         const float* x, const std::int32_t* labels, float scale,
                                         float smoothing, std::int64_t rows, std::int64_t cols,
                                         const Stream& stream) {
  with_threads(cols, [&](auto threads) {
    launch(cross_entropy_kernel<threads.value>,
           Launch{blocks_for(rows, 1), threads.value, 0, stream}, loss, dx, prediction, x, labels,
           scale, smoothing, static_cast<int>(cols));
  });
}

}  // namespace weft::kernels::cuda

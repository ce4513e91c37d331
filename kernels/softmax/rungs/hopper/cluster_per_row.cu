// SPDX-License-Identifier: MIT
// A cluster of 4 or 8 blocks per row, for rows of at most 131072 columns (sm_90): the registers of
// the whole cluster hold the row, and warps send their partial results to the shared memory of all
// blocks.
//
//   32000 columns:   8 blocks x 256 threads x 16 registers
//
// A row of 128 KB would fill one SM, which then has nothing to load while it computes. Spread over
// 8 blocks of 16 KB it leaves room for blocks of 5 other rows on each SM, and one row's loads fill
// the time of another's arithmetic and stores.
#include <type_traits>

#include "engine/launch.h"
#include "kernels/device/cluster.cuh"
#include "kernels/softmax/launchers.h"
#include "kernels/softmax/parts/row.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kPerThread = 16;

template <int kThreads, int kBlocks>
class Cluster {
 public:
  struct Storage {
    device::ClusterReduceStorage<float, kThreads, kBlocks> max, sum;
    device::ClusterReduceStorage<int, kThreads, kBlocks> lowest;
  };
  // Loads may start before the other blocks do.
  __device__ explicit Cluster(Storage& storage) : storage_(storage) { device::cluster_arrive(); }

  static constexpr __device__ int size() { return kThreads * kBlocks; }
  static __device__ int rank() {
    return device::cluster_block<kBlocks>() * kThreads + static_cast<int>(threadIdx.x);
  }
  __device__ float max(float value) {
    wait_for_start();
    return device::cluster_reduce<kThreads, kBlocks>(value, device::MaxNumber(), storage_.max);
  }
  __device__ float sum(float value) {
    wait_for_start();
    return device::cluster_reduce<kThreads, kBlocks>(value, device::Add(), storage_.sum);
  }
  __device__ int lowest(int value) {
    wait_for_start();
    return device::cluster_reduce<kThreads, kBlocks>(value, device::MinInt(), storage_.lowest);
  }

 private:
  __device__ __forceinline__ void wait_for_start() {
    if (!started_) device::cluster_wait();
    started_ = true;
  }

  Storage& storage_;
  bool started_ = false;  // known at compile time once everything is inlined
};

template <int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(float* __restrict__ y, const float* __restrict__ x, int cols) {
  __shared__ typename Cluster<kThreads, kBlocks>::Storage storage;
  Cluster<kThreads, kBlocks> cluster(storage);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x / kBlocks) * cols;
  forward_row<kPerThread>(y + first, x + first, cols, cluster);
}

template <int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(float* __restrict__ dx, const float* __restrict__ dy,
                    const float* __restrict__ y, int cols, bool accumulate) {
  __shared__ typename Cluster<kThreads, kBlocks>::Storage storage;
  Cluster<kThreads, kBlocks> cluster(storage);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x / kBlocks) * cols;
  backward_row<kPerThread>(dx + first, dy + first, y + first, cols, accumulate, cluster);
}

template <int kThreads, int kBlocks>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(float* __restrict__ loss, float* __restrict__ dx,
                         std::int32_t* __restrict__ prediction, const float* __restrict__ x,
                         const std::int32_t* __restrict__ labels, float scale, float smoothing,
                         int cols) {
  __shared__ typename Cluster<kThreads, kBlocks>::Storage storage;
  Cluster<kThreads, kBlocks> cluster(storage);
  const std::int64_t row = blockIdx.x / kBlocks;
  cross_entropy_row<kPerThread>(loss == nullptr ? nullptr : loss + row,
                                dx == nullptr ? nullptr : dx + row * cols,
                                prediction == nullptr ? nullptr : prediction + row, x + row * cols,
                                labels[row], scale, cols, cluster, smoothing);
}

template <int kThreads_, int kBlocks_>
struct Size {
  static constexpr int kThreads = kThreads_, kBlocks = kBlocks_;
};

// Calls run(Size) with the smallest cluster that holds a row.
template <class Run>
void with_size(std::int64_t cols, Run run) {
  if (cols <= 4 * 256 * kPerThread) return run(Size<256, 4>());
  if (cols <= 8 * 256 * kPerThread) return run(Size<256, 8>());
  if (cols <= 8 * 512 * kPerThread) return run(Size<512, 8>());
  static_assert(kClusterColumns == 8 * 1024 * kPerThread, "the last must cover the longest row");
  run(Size<1024, 8>());
}

template <class Size>
Launch config_for(Size, std::int64_t rows, const Stream& stream) {
  return {blocks_for(rows * Size::kBlocks, 1), Size::kThreads, 0, stream, Size::kBlocks};
}

}  // namespace

void softmax_forward_cluster_per_row(float* y, const float* x, std::int64_t rows, std::int64_t cols,
                                     const Stream& stream) {
  with_size(cols, [&](auto size) {
    launch(forward_kernel<size.kThreads, size.kBlocks>, config_for(size, rows, stream), y, x,
           static_cast<int>(cols));
  });
}

void softmax_backward_cluster_per_row(float* dx, const float* dy, const float* y, std::int64_t rows,
                                      std::int64_t cols, GradientMode mode, const Stream& stream) {
  with_size(cols, [&](auto size) {
    launch(backward_kernel<size.kThreads, size.kBlocks>, config_for(size, rows, stream), dx, dy, y,
           static_cast<int>(cols), mode == GradientMode::accumulate);
  });
}

void softmax_cross_entropy_cluster_per_row(float* loss, float* dx, std::int32_t* prediction,
                                           const float* x, const std::int32_t* labels, float scale,
                                           float smoothing, std::int64_t rows, std::int64_t cols,
                                           const Stream& stream) {
  with_size(cols, [&](auto size) {
    launch(cross_entropy_kernel<size.kThreads, size.kBlocks>, config_for(size, rows, stream), loss,
           dx, prediction, x, labels, scale, smoothing, static_cast<int>(cols));
  });
}

}  // namespace weft::kernels::cuda

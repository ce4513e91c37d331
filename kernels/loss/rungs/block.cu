// SPDX-License-Identifier: MIT
// Running totals in a single block: 256 threads stride over the rows of a batch in double, a block
// reduction adds them in a fixed order, and one thread updates the totals. A batch has a few
// hundred rows, so one block is enough and no atomics or second launch are needed.
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/loss/loss.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    accumulate_totals_kernel(MetricTotals* __restrict__ totals, const float* __restrict__ loss,
                             const std::int32_t* __restrict__ prediction,
                             const std::int32_t* __restrict__ labels, std::int64_t rows) {
  __shared__ device::BlockReduceStorage<double, kThreads> loss_storage;
  __shared__ device::BlockReduceStorage<long long, kThreads> hits_storage;
  double sum = 0.0;
  long long hits = 0;
  for (std::int64_t r = threadIdx.x; r < rows; r += kThreads) {
    sum += static_cast<double>(loss[r]);
    if (prediction != nullptr && prediction[r] == labels[r]) ++hits;
  }
  sum = device::block_reduce<kThreads>(sum, device::Add(), loss_storage);
  hits = device::block_reduce<kThreads, true>(hits, device::Add(), hits_storage);
  if (threadIdx.x == 0) {
    totals->loss_sum += sum;
    totals->hits += hits;
    totals->rows += rows;
  }
}

}  // namespace

void accumulate_totals_block(MetricTotals* totals, const float* loss,
                             const std::int32_t* prediction, const std::int32_t* labels,
                             std::int64_t rows, const Stream& stream) {
  launch(accumulate_totals_kernel, Launch{1, kThreads, 0, stream}, totals, loss, prediction, labels,
         rows);
}

}  // namespace weft::kernels::cuda

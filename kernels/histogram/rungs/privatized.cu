// SPDX-License-Identifier: MIT
// Histogram, rung "privatized": each block counts in shared memory and adds its counters to memory.
//
//   block: [clear | one value per thread | add]   shared memory: 4 bytes per bin
//
// Shared-memory atomics are local to the SM and many SMs work at once. But a block looks at no more
// values than it has threads: clearing and adding cost as much as counting once there are as many
// bins as threads.
#include "engine/launch.h"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 1024;

template <class Binning>
__global__ void __launch_bounds__(1024)
    privatized_kernel(std::int64_t* __restrict__ counts,
                      const typename Binning::Value* __restrict__ x, std::int64_t n, Binning bins) {
  std::uint32_t* counters = device::dynamic_shared<std::uint32_t>();
  const PrivateCounts mine{counters, 0, bins.bins};
  mine.clear();
  const std::int64_t i = device::global_thread();
  if (i < n) mine.count(bins, x[i]);
  mine.add_to(counts);
}

}  // namespace

void histogram_privatized(const HistogramCall& call, const Stream& stream) {
  const auto threads = static_cast<unsigned>(call.threads(kThreads));
  with_bins(call, [&]<class Binning>(const Binning& bins, const auto* x) {
    launch(privatized_kernel<Binning>,
           Launch{blocks_for(call.n, threads), threads, counter_bytes(bins.bins), stream},
           call.counts, x, call.n, bins);
  });
}

}  // namespace weft::kernels::cuda

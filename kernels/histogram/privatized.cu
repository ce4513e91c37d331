// SPDX-License-Identifier: MIT
// Histogram, rung "privatized": each block counts in shared memory and adds its counters to memory.
//
//   block: [clear | one value per thread | add]   shared memory: 4 bytes per bin
//
// Shared-memory atomics are local to the SM and many SMs work at once. But a block looks at no more
// values than it has threads: clearing and adding cost as much as counting once there are as many
// bins as threads.
#include "engine/launch.h"
#include "kernels/histogram/cuda.h"
#include "kernels/histogram/private_counts.cuh"

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

template <class Binning>
void histogram_privatized(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                          const Binning& bins, const HistogramPlan& plan, const Stream& stream) {
  const unsigned threads = static_cast<unsigned>(plan.block == 0 ? kThreads : plan.block);
  const std::size_t shared = sizeof(std::uint32_t) * static_cast<std::size_t>(bins.bins);
  launch(privatized_kernel<Binning>, Launch{blocks_for(n, threads), threads, shared, stream},
         counts, x, n, bins);
}

template void histogram_privatized(std::int64_t*, const std::uint8_t*, std::int64_t,
                                   const ByteBinning&, const HistogramPlan&, const Stream&);
template void histogram_privatized(std::int64_t*, const std::int32_t*, std::int64_t,
                                   const IntegerBinning&, const HistogramPlan&, const Stream&);
template void histogram_privatized(std::int64_t*, const float*, std::int64_t,
                                   const EvenBinning<float>&, const HistogramPlan&, const Stream&);

}  // namespace weft::kernels::cuda

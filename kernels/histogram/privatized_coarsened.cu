// SPDX-License-Identifier: MIT
// Histogram, rung "privatized_coarsened": as many blocks as fit the machine, each looping over
// many values, so that clearing and adding the private counters is paid once per block.
//
//   value:   0 1 2 ... T-1 | T ... 2T-1 | ...     T threads in the grid
//   thread:  0 1 2 ... T-1 | 0 ... T-1  | ...     neighbours read neighbouring values
//
// Shared memory: 4 bytes per bin. Loads of one value each are the limit: a warp asks for 32 bytes
// at a time when values are bytes.
#include "engine/launch.h"
#include "kernels/histogram/cuda.h"
#include "kernels/histogram/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;

template <class Binning>
__global__ void __launch_bounds__(1024, kBlocksPerSm)
    coarsened_kernel(std::int64_t* __restrict__ counts,
                     const typename Binning::Value* __restrict__ x, std::int64_t n, Binning bins) {
  std::uint32_t* counters = device::dynamic_shared<std::uint32_t>();
  const PrivateCounts mine{counters, 0, bins.bins};
  mine.clear();
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    mine.count(bins, x[i]);
  }
  mine.add_to(counts);
}

}  // namespace

template <class Binning>
void histogram_privatized_coarsened(std::int64_t* counts, const typename Binning::Value* x,
                                    std::int64_t n, const Binning& bins, const HistogramPlan& plan,
                                    const Stream& stream) {
  const int threads = plan.block == 0 ? kThreads : plan.block;
  const std::size_t shared = sizeof(std::uint32_t) * static_cast<std::size_t>(bins.bins);
  const std::int64_t resident = kBlocksPerSm * (1024 / threads) * plan.multiprocessors;
  launch(coarsened_kernel<Binning>,
         Launch{histogram_blocks(n, threads, resident), static_cast<unsigned>(threads), shared,
                stream},
         counts, x, n, bins);
}

template void histogram_privatized_coarsened(std::int64_t*, const std::uint8_t*, std::int64_t,
                                             const ByteBinning&, const HistogramPlan&,
                                             const Stream&);
template void histogram_privatized_coarsened(std::int64_t*, const std::int32_t*, std::int64_t,
                                             const IntegerBinning&, const HistogramPlan&,
                                             const Stream&);
template void histogram_privatized_coarsened(std::int64_t*, const float*, std::int64_t,
                                             const EvenBinning<float>&, const HistogramPlan&,
                                             const Stream&);

}  // namespace weft::kernels::cuda

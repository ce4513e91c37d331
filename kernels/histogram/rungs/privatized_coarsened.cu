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
#include "kernels/histogram/parts/private_counts.cuh"

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

void histogram_privatized_coarsened(const HistogramCall& call, const Stream& stream) {
  const int threads = call.threads(kThreads);
  const std::int64_t resident = kBlocksPerSm * (1024 / threads) * call.multiprocessors;
  const unsigned blocks = histogram_blocks(call.n, threads, resident);
  with_bins(call, [&]<class Binning>(const Binning& bins, const auto* x) {
    launch(coarsened_kernel<Binning>,
           Launch{blocks, static_cast<unsigned>(threads), counter_bytes(bins.bins), stream},
           call.counts, x, call.n, bins);
  });
}

}  // namespace weft::kernels::cuda

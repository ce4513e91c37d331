// SPDX-License-Identifier: MIT
// Histogram, rung "global_atomics": one thread per value, one atomic in memory per value.
//
// Atomics on one address are done one after the other in the L2 cache, so the time is that of the
// fullest bin. With many more bins than fit shared memory and evenly spread values there is little
// to wait for, and this rung is the right one.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

template <class Binning>
__global__ void __launch_bounds__(1024)
    global_atomics_kernel(std::int64_t* __restrict__ counts,
                          const typename Binning::Value* __restrict__ x, std::int64_t n,
                          Binning bins) {
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    const int bin = binning::bin_of(bins, x[i]);
    if (bin != binning::kNotCounted) add_to_bin(counts, bin, 1);
  }
}

}  // namespace

void histogram_global_atomics(const HistogramCall& call, const Stream& stream) {
  const auto threads = static_cast<unsigned>(call.threads(kThreads));
  with_bins(call, [&]<class Binning>(const Binning& bins, const auto* x) {
    launch(global_atomics_kernel<Binning>, Launch{blocks_for(call.n, threads), threads, 0, stream},
           call.counts, x, call.n, bins);
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Histogram, rung "compare_and_swap": one thread per value, and an addition made of atomicCAS.
//
// atomicCAS(address, expected, desired) stores `desired` only where `expected` still is, and
// returns what it found. A thread tries until nobody came between its look and its store. Of the
// threads that want one counter at the same time, one succeeds and the others have to try again, so
// k threads of a warp on one bin take up to k rounds. Any atomic operation can be made this way,
// and only one that the hardware does not have should be.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

// The first look is a guess, 0: a wrong one costs a round and brings the true value.
__device__ __forceinline__ void add_one_by_swaps(std::int64_t* count) {
  auto* const address = reinterpret_cast<unsigned long long*>(count);
  unsigned long long found = 0, expected;
  do {
    expected = found;
    found = atomicCAS(address, expected, expected + 1);
  } while (found != expected);
}

template <class Binning>
__global__ void __launch_bounds__(1024)
    compare_and_swap_kernel(std::int64_t* __restrict__ counts,
                            const typename Binning::Value* __restrict__ x, std::int64_t n,
                            Binning bins) {
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    const int bin = binning::bin_of(bins, x[i]);
    if (bin != binning::kNotCounted) add_one_by_swaps(counts + bin);
  }
}

}  // namespace

void histogram_compare_and_swap(const HistogramCall& call, const Stream& stream) {
  const auto threads = static_cast<unsigned>(call.threads(kThreads));
  with_bins(call, [&]<class Binning>(const Binning& bins, const auto* x) {
    launch(compare_and_swap_kernel<Binning>,
           Launch{blocks_for(call.n, threads), threads, 0, stream}, call.counts, x, call.n, bins);
  });
}

}  // namespace weft::kernels::cuda

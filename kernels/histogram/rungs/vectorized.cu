// SPDX-License-Identifier: MIT
// Histogram, rung "vectorized": privatized and coarsened, with loads of 16 bytes, two in flight.
//
// Shared memory: 4 bytes per bin. With values of 4 bytes memory is the limit. With bytes it is the
// shared-memory atomics: 32 lanes hit 32 banks at random, the fullest bank gets 3.5 of them on
// average, and that many cycles is what a warp's atomic takes. Equal values are added up by the
// hardware and cost less, not more.
#include "engine/launch.h"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;

template <class Binning>
__global__ void __launch_bounds__(1024, kBlocksPerSm)
    vectorized_kernel(std::int64_t* __restrict__ counts,
                      const typename Binning::Value* __restrict__ x, std::int64_t n, Binning bins) {
  std::uint32_t* counters = device::dynamic_shared<std::uint32_t>();
  const VectorSpan<typename Binning::Value> span(x, n);
  const PrivateCounts mine{counters, 0, bins.bins};
  mine.clear();
  count_edges(counts, span, x, n, bins);
  count_vectors(mine, span, bins);
  mine.add_to(counts);
}

}  // namespace

void histogram_vectorized(const HistogramCall& call, const Stream& stream) {
  const int threads = call.threads(kThreads);
  const std::int64_t resident = kBlocksPerSm * (1024 / threads) * call.multiprocessors;
  with_bins(call, [&]<class Binning>(const Binning& bins, const auto* x) {
    const std::int64_t per_block = VectorSpan<typename Binning::Value>::kPerVector * threads;
    launch(vectorized_kernel<Binning>,
           Launch{histogram_blocks(call.n, per_block, resident), static_cast<unsigned>(threads),
                  counter_bytes(bins.bins), stream},
           call.counts, x, call.n, bins);
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Histogram, rung "multi_pass": more bins than fit shared memory, in as many passes as it takes.
//
//   bins:   [0 ........ span) [span ..... 2 span) [2 span ... bins)
//   blocks:  row 0 of the grid  row 1               row 2             all rows read all values
//
// A row of blocks counts its own range of bins and passes over all other values. Rows that are
// resident at the same time share what they read through the L2 cache. A block has all of the
// shared memory of an SM that one block can have.
#include "engine/launch.h"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 1024;

template <class Binning>
__global__ void __launch_bounds__(1024)
    multi_pass_kernel(std::int64_t* __restrict__ counts,
                      const typename Binning::Value* __restrict__ x, std::int64_t n, Binning bins,
                      std::int32_t most) {
  std::uint32_t* counters = device::dynamic_shared<std::uint32_t>();
  const VectorSpan<typename Binning::Value> span(x, n);
  const std::int32_t first = static_cast<std::int32_t>(blockIdx.y) * most;
  const PrivateCounts mine{counters, first, min(most, bins.bins - first)};
  mine.clear();
  count_edges(counts, span, x, n, bins);
  count_vectors(mine, span, bins);
  mine.add_to(counts);
}

}  // namespace

void histogram_multi_pass(const HistogramCall& call, const Stream& stream) {
  const int threads = call.threads(kThreads);
  const std::int64_t fit = call.shared_bytes / std::int64_t{sizeof(std::uint32_t)};
  const std::int64_t resident = std::int64_t{1024} / threads * call.multiprocessors;
  with_bins(call, [&]<class Binning>(const Binning& bins, const auto* x) {
    const unsigned passes = blocks_for(bins.bins, fit);
    const std::int32_t most = static_cast<std::int32_t>(blocks_for(bins.bins, passes));
    const std::int64_t per_block = VectorSpan<typename Binning::Value>::kPerVector * threads;
    const dim3 grid(histogram_blocks(call.n, per_block, resident), passes);
    launch(multi_pass_kernel<Binning>,
           Launch{grid, static_cast<unsigned>(threads), counter_bytes(most), stream}, call.counts,
           x, call.n, bins, most);
  });
}

}  // namespace weft::kernels::cuda

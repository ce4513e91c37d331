// SPDX-License-Identifier: MIT
// Launchers of the histogram rungs. They add to counts, which are zero before; n > 0.
#pragma once

#include "kernels/histogram/bins.h"
#include "kernels/histogram/histogram.h"

namespace weft::kernels::cuda {

// What the launchers need to know about the device and the call.
struct HistogramPlan {
  int multiprocessors;
  std::int64_t shared_bytes;  // most that one block may have
  int block;                  // threads; 0: the rung's own choice
};

// Each template exists for ByteBinning, IntegerBinning and EvenBinning<float>. The rungs with
// counters in shared memory need histogram_fits(), except for multi_pass.
template <class Binning>
void histogram_global_atomics(std::int64_t* counts, const typename Binning::Value* x,
                              std::int64_t n, const Binning& bins, const HistogramPlan& plan,
                              const Stream& stream);
template <class Binning>
void histogram_privatized(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                          const Binning& bins, const HistogramPlan& plan, const Stream& stream);
template <class Binning>
void histogram_privatized_coarsened(std::int64_t* counts, const typename Binning::Value* x,
                                    std::int64_t n, const Binning& bins, const HistogramPlan& plan,
                                    const Stream& stream);
template <class Binning>
void histogram_vectorized(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                          const Binning& bins, const HistogramPlan& plan, const Stream& stream);
template <class Binning>
void histogram_multi_pass(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                          const Binning& bins, const HistogramPlan& plan, const Stream& stream);

void histogram_lane_private(std::int64_t* counts, const std::uint8_t* x, std::int64_t n,
                            const HistogramPlan& plan, const Stream& stream);
void histogram_lane_private_atomics(std::int64_t* counts, const std::uint8_t* x, std::int64_t n,
                                    const HistogramPlan& plan, const Stream& stream);

// Does a 32-bit counter for every bin fit the shared memory of a block?
inline bool histogram_fits(std::int64_t bins, std::int64_t shared_bytes) {
  return bins * std::int64_t{sizeof(std::uint32_t)} <= shared_bytes;
}

}  // namespace weft::kernels::cuda

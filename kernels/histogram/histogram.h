// SPDX-License-Identifier: MIT
// Histogram: counts[b] = how many of n values fall in bin b. Exact, whatever the variant.
//
//   bytes     256 bins, one for each value
//   integers  bin = floor((x - lower) * bins / (upper - lower)), exactly; with bins = upper - lower
//             each value has its own bin, with bins > upper - lower some bins stay empty
//   floats    bin = min(int((x - lower) * scale), bins - 1) with scale = bins / (upper - lower)
//             rounded to float and each operation rounded to float: within rounding of an edge, a
//             value may be counted in the bin beside it, the same on every device
//
// Values outside of [lower, upper) are not counted, nor is NaN; where EvenBins::closed is set, the
// last bin has the values that are equal to upper too. Counts are 64 bits wide; blocks
// count in 32 bits and never see 2^32 values each. counts is overwritten, also for n == 0, and must
// not overlap x, which needs no more alignment than its type. Traffic: n * sizeof(x) bytes, in one
// pass; each further pass of multi_pass reads x again.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

// -2^31 <= lower < upper <= 2^31; 1 <= bins <= kHistogramMaxBins
struct IntegerBins {
  std::int64_t lower = 0, upper = 0;
  std::int64_t bins = 0;
};

// Finite lower < upper with finite upper - lower; 1 <= bins <= kHistogramMaxBins. Above 2^24 bins
// float arithmetic no longer reaches every bin.
struct EvenBins {
  float lower = 0, upper = 1;
  std::int64_t bins = 0;
  bool closed = false;  // the last bin has its right edge, as numpy.histogram's
};

constexpr std::int64_t kHistogramByteBins = 256;
constexpr std::int64_t kHistogramMaxBins = std::int64_t{1} << 30;

struct HistogramOptions {
  std::string_view variant = kAutomatic;
  // Threads per block, a multiple of 32 up to 1024; 0 leaves it to the variant. CUDA only, and the
  // lane_private rungs fix theirs.
  int block = 0;
};

void histogram(std::int64_t* counts,   // (256,)
               const std::uint8_t* x,  // (n,)
               std::int64_t n, const HistogramOptions& options, const Stream& stream);
void histogram(std::int64_t* counts,   // (bins.bins,)
               const std::int32_t* x,  // (n,)
               std::int64_t n, const IntegerBins& bins, const HistogramOptions& options,
               const Stream& stream);
void histogram(std::int64_t* counts,  // (bins.bins,)
               const float* x,        // (n,)
               std::int64_t n, const EvenBins& bins, const HistogramOptions& options,
               const Stream& stream);

// What the choice of a rung depends on.
struct HistogramProblem {
  std::int64_t n = 0;
  std::int64_t bins = kHistogramByteBins;
  bool bytes = true;  // or integers or floats
  int block = 0;      // as in HistogramOptions
};

// What adds to a bin in memory, where the additions are worked out by hand.
enum class HistogramAdds {
  none,
  values_again,  // each value, until no other one comes between
  values,        // each value
  blocks,        // each block of kHistogramBlockValues values that saw the bin
  resident       // each of the two blocks on a multiprocessor
};
constexpr std::int64_t kHistogramBlockValues = 1024;
HistogramAdds histogram_adds(std::string_view rung);  // of another name: none

Rungs histogram_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool histogram_takes(std::string_view variant, const HistogramProblem& problem, Device device);
Choice histogram_choice(const HistogramProblem& problem, Device device);

}  // namespace weft::kernels

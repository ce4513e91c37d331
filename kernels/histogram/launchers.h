// SPDX-License-Identifier: MIT
// The functions behind histogram() on a GPU: the launcher of a rung, which its file in rungs/
// defines.
#pragma once

#include <variant>

#include "kernels/histogram/histogram.h"
#include "kernels/histogram/parts/bins.h"

namespace weft::kernels {

// A call after validation, and what a launcher needs to know about its device.
struct HistogramCall {
  std::int64_t* counts;  // (bins,)
  const void* x;         // (n,)
  std::int64_t n;
  std::variant<ByteBinning, IntegerBinning, EvenBinning<float>> bins;
  int block = 0;  // threads; 0: the rung's own choice
  int multiprocessors = 0;
  std::int64_t shared_bytes = 0;  // most that one block may have

  int threads(int otherwise) const { return block == 0 ? otherwise : block; }
};

// Calls run(bins, x) with the type of the values.
template <class Run>
void with_bins(const HistogramCall& call, Run run) {
  std::visit(
      [&](const auto& bins) {
        using Value = typename std::remove_cvref_t<decltype(bins)>::Value;
        run(bins, static_cast<const Value*>(call.x));
      },
      call.bins);
}

namespace cuda {

// Adds to counts, which are zero before; n > 0.
using HistogramLauncher = void(const HistogramCall& call, const Stream& stream);

}  // namespace cuda
}  // namespace weft::kernels

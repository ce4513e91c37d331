// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/histogram/parts/bins.h"
#include "kernels/isa.h"

namespace weft::kernels {

// Each of `parts` threads fills `tables` tables of bins + 1 counts of its own.
struct HistogramParts {
  std::int64_t* counts;  // parts * tables * (bins + 1)
  int parts;
  int tables;  // 1 or 4
};

template <class Binning>
struct HistogramCpuOf {
  void (*global_atomics)(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                         const Binning& bins);
  void (*privatized)(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                     const Binning& bins, const HistogramParts& parts);
};

struct HistogramCpu {
  HistogramCpuOf<ByteBinning> bytes;
  HistogramCpuOf<IntegerBinning> integers;
  HistogramCpuOf<EvenBinning<float>> floats;
};

WEFT_DECLARE_CPU_TABLE(HistogramCpu, histogram_cpu)

}  // namespace weft::kernels

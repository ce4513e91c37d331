// SPDX-License-Identifier: MIT
// Histograms on the CPU. Counts are integers, so threads may split the work in any way.
#pragma once

#include "kernels/cpu_math.h"
#include "kernels/histogram/cpu/table.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// One table for all threads, each increment atomic.
template <class Binning>
void histogram_global_atomics(std::int64_t* counts, const typename Binning::Value* x,
                              std::int64_t n, const Binning& bins) {
  for (std::int64_t b = 0; b < bins.bins; ++b) counts[b] = 0;
#pragma omp parallel for schedule(static) if (n >= kParallelElements)
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t bin = binning::bin_of(bins, x[i]);
    if (bin == binning::kNotCounted) continue;
#pragma omp atomic
    ++counts[bin];
  }
}

namespace detail {

// Counts x[0, n) into `tables` tables of bins + 1; the last count takes the values that fall in no
// bin, which spares a branch. Bins of a group of values are computed first, in vectors. Neighbours
// go to different tables: in one table a run of equal values would wait for its own stores.
template <int kTables, class Binning>
void count_part(std::int64_t* tables, const typename Binning::Value* x, std::int64_t n,
                const Binning& bins) {
  constexpr int kGroup = 256;
  const std::int64_t size = static_cast<std::int64_t>(bins.bins) + 1;
  for (std::int64_t i = 0; i < kTables * size; ++i) tables[i] = 0;
  std::int32_t place[kGroup];
  for (std::int64_t first = 0; first < n; first += kGroup) {
    const int length = static_cast<int>(n - first < kGroup ? n - first : kGroup);
    for (int i = 0; i < length; ++i) {
      const std::int32_t bin = binning::bin_of(bins, x[first + i]);
      place[i] = bin == binning::kNotCounted ? bins.bins : bin;
    }
    int i = 0;
    for (; i + kTables <= length; i += kTables) {
      for (int t = 0; t < kTables; ++t) ++tables[t * size + place[i + t]];
    }
    for (; i < length; ++i) ++tables[place[i]];
  }
}

}  // namespace detail

// Tables of their own for each thread, added up at the end.
template <class Binning>
void histogram_privatized(std::int64_t* counts, const typename Binning::Value* x, std::int64_t n,
                          const Binning& bins, const HistogramParts& parts) {
  const std::int64_t size = static_cast<std::int64_t>(bins.bins) + 1;
#pragma omp parallel for schedule(static) if (parts.parts > 1)
  for (int part = 0; part < parts.parts; ++part) {
    std::int64_t* tables = parts.counts + part * parts.tables * size;
    // Without n * part, which would overflow for large n.
    const std::int64_t length = n / parts.parts, rest = n % parts.parts;
    const std::int64_t first = part * length + (part < rest ? part : rest);
    const std::int64_t count = length + (part < rest ? 1 : 0);
    if (parts.tables == 4) {
      detail::count_part<4>(tables, x + first, count, bins);
    } else {
      detail::count_part<1>(tables, x + first, count, bins);
    }
  }
  const std::int64_t tables = std::int64_t{1} * parts.parts * parts.tables;
#pragma omp parallel for schedule(static) if (tables * size >= kParallelElements)
  for (std::int64_t b = 0; b < bins.bins; ++b) {
    std::int64_t sum = 0;
    for (std::int64_t t = 0; t < tables; ++t) sum += parts.counts[t * size + b];
    counts[b] = sum;
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

// SPDX-License-Identifier: MIT
// Scans on the CPU, for any operator of the form in kernels/operators.h. y may be x.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/isa.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// One loop, from `before` on; returns what comes after the last element.
template <class T, class Op>
T scan_sequential(T* y, const T* x, std::int64_t n, bool exclusive, Op op, T before) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T after = op(before, x[i]);
    y[i] = exclusive ? before : after;
    before = after;
  }
  return before;
}

// A chunk is scanned as so many pieces at a time, because an operation has to wait for the one
// before it in the same piece only.
constexpr int kScanPieces = 4;

// Three phases: threads reduce chunks of kScanPieces pieces, one thread scans the totals of all
// pieces, threads scan the chunks. `totals` has room for one value per piece. The pieces do not
// depend on the number of threads, so neither does the result.
template <class T, class Op>
void scan_threaded(T* y, const T* x, std::int64_t n, bool exclusive, Op op, T* totals,
                   std::int64_t piece) {
  const std::int64_t chunk = kScanPieces * piece, chunks = divide_up(n, chunk);
#pragma omp parallel for schedule(static) if (chunks > 1)
  for (std::int64_t c = 0; c < chunks; ++c) {
    T total[kScanPieces];
    for (int p = 0; p < kScanPieces; ++p) total[p] = Op::identity();
    const T* first = x + c * chunk;
    if ((c + 1) * chunk <= n) {
      for (std::int64_t i = 0; i < piece; ++i) {
        for (int p = 0; p < kScanPieces; ++p) total[p] = op(total[p], first[p * piece + i]);
      }
    } else {  // the last chunk, where pieces may be short or empty
      for (std::int64_t i = 0; i < n - c * chunk; ++i) {
        total[i / piece] = op(total[i / piece], first[i]);
      }
    }
    for (int p = 0; p < kScanPieces; ++p) totals[c * kScanPieces + p] = total[p];
  }
  static_cast<void>(
      scan_sequential(totals, totals, chunks * kScanPieces, true, op, Op::identity()));
#pragma omp parallel for schedule(static) if (chunks > 1)
  for (std::int64_t c = 0; c < chunks; ++c) {
    T before[kScanPieces];
    for (int p = 0; p < kScanPieces; ++p) before[p] = totals[c * kScanPieces + p];
    const T* from = x + c * chunk;
    T* to = y + c * chunk;
    if ((c + 1) * chunk <= n) {
      for (std::int64_t i = 0; i < piece; ++i) {
        for (int p = 0; p < kScanPieces; ++p) {
          const T after = op(before[p], from[p * piece + i]);
          to[p * piece + i] = exclusive ? before[p] : after;
          before[p] = after;
        }
      }
    } else {
      static_cast<void>(scan_sequential(to, from, n - c * chunk, exclusive, op, before[0]));
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

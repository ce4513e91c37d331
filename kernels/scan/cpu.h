// SPDX-License-Identifier: MIT
// Scans on the CPU, for any operator of the form in kernels/operators.h. y may be x.
#pragma once

#include <cstdint>

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

// Three phases: threads reduce chunks of `chunk` elements, one thread scans their totals, threads
// scan the chunks. `totals` has room for one value per chunk. The chunks do not depend on the
// number of threads, so neither does the result.
template <class T, class Op>
void scan_threaded(T* y, const T* x, std::int64_t n, bool exclusive, Op op, T* totals,
                   std::int64_t chunk) {
  const std::int64_t chunks = (n + chunk - 1) / chunk;
#pragma omp parallel for schedule(static) if (chunks > 1)
  for (std::int64_t c = 0; c < chunks - 1; ++c) {  // nothing comes after the last chunk
    T total = Op::identity();
    for (std::int64_t i = c * chunk; i < (c + 1) * chunk; ++i) total = op(total, x[i]);
    totals[c] = total;
  }
  T before = Op::identity();
  for (std::int64_t c = 0; c < chunks; ++c) {
    const T after = c + 1 < chunks ? op(before, totals[c]) : before;
    totals[c] = before;
    before = after;
  }
#pragma omp parallel for schedule(static) if (chunks > 1)
  for (std::int64_t c = 0; c < chunks; ++c) {
    const std::int64_t first = c * chunk;
    const std::int64_t length = n - first < chunk ? n - first : chunk;
    static_cast<void>(scan_sequential(y + first, x + first, length, exclusive, op, totals[c]));
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

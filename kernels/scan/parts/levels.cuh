// SPDX-License-Identifier: MIT
// How the scan of one block becomes the scan of an array of any length: scan, scan of the totals,
// add.
//
//   level 0   | section 0 | section 1 | section 2 | ...      each block scans its section
//   level 1   | total 0, total 1, total 2, ...               the totals are scanned the same way
//   then      section s gets the total of all sections before it
//
// Traffic: the array is read and written twice, 4n elements where 2n would do.
#pragma once

#include "engine/launch.h"
#include "kernels/scan/parts/workspace.h"

namespace weft::kernels::cuda {

constexpr int kAddThreads = 256;

// y = totals[section - 1] op y, for all sections but the first. `totals` is scanned, inclusive.
template <class T, class Op>
__global__ void __launch_bounds__(kAddThreads)
    scan_add_kernel(T* y, const T* __restrict__ totals, std::int64_t n, std::int64_t section,
                    Op op) {
  const std::int64_t begin = (static_cast<std::int64_t>(blockIdx.x) + 1) * section;
  const std::int64_t end = begin + section < n ? begin + section : n;
  const T before = totals[blockIdx.x];
#pragma unroll 4
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kAddThreads) y[i] = op(before, y[i]);
}

// Technique derives from this and has kThreads, kSection<T> (values of a block) and kernel<T, Op>,
// which scans each section and stores its total to totals[section] unless totals is null.
template <class Technique>
struct ScanByLevels {
  template <class T, class Op>
  static void run(T* y, const T* x, std::int64_t n, bool exclusive, Op op, void* workspace,
                  const Stream& stream) {
    if (n == 0) return;
    constexpr std::int64_t kSection = Technique::template kSection<T>;
    const std::int64_t sections = divide_up(n, kSection);
    T* totals = static_cast<T*>(workspace);
    launch(Technique::template kernel<T, Op>,
           Launch{blocks_for(n, kSection), Technique::kThreads, 0, stream}, y,
           sections > 1 ? totals : nullptr, x, n, exclusive, op);
    if (sections == 1) return;
    run(totals, totals, sections, false, op, totals + sections, stream);
    launch(scan_add_kernel<T, Op>,
           Launch{blocks_for(n - kSection, kSection), kAddThreads, 0, stream}, y, totals, n,
           kSection, op);
  }
};

}  // namespace weft::kernels::cuda

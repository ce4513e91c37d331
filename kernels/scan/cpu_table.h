// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/by_type.h"
#include "kernels/isa.h"
#include "kernels/scan/scan.h"

namespace weft::kernels {

// Elements that one thread scans at a time, and of one of the pieces of cpu.h.
constexpr std::int64_t kScanChunk = 1 << 16;
constexpr std::int64_t kScanPiece = 1 << 14;

template <class T>
struct ScanCpuOf {
  void (*sequential)(T* y, const T* x, std::int64_t n, ScanOp op, bool exclusive);
  void (*threaded)(T* y, const T* x, std::int64_t n, ScanOp op, bool exclusive, T* totals);
};

using ScanCpu = ByType<ScanCpuOf>;

WEFT_DECLARE_CPU_TABLE(ScanCpu, scan_cpu)

}  // namespace weft::kernels

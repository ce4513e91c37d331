// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/scan/launchers.h"

namespace weft::kernels {

// Elements that one thread scans at a time, and of one of the pieces of templates.h.
constexpr std::int64_t kScanChunk = 1 << 16;
constexpr std::int64_t kScanPiece = 1 << 14;

struct ScanCpu {
  void (*sequential)(const ScanCall& call);
  void (*threaded)(const ScanCall& call);  // the workspace has a value for each piece
};

WEFT_DECLARE_CPU_TABLE(ScanCpu, scan_cpu)

}  // namespace weft::kernels

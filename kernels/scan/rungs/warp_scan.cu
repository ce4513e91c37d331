// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/warp_scan.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_warp_scan(const ScanCall& call, const Stream& stream) {
  run_scan<WarpScan>(call, stream);
}

}  // namespace weft::kernels::cuda

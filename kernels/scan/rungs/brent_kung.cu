// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/brent_kung.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_brent_kung(const ScanCall& call, const Stream& stream) {
  run_scan<BrentKung>(call, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/decoupled_lookback.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_decoupled_lookback(const ScanCall& call, const Stream& stream) {
  run_scan<DecoupledLookback>(call, stream);
}

}  // namespace weft::kernels::cuda

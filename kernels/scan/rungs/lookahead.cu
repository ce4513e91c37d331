// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/lookahead.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_lookahead(const ScanCall& call, const Stream& stream) {
  run_scan<Lookahead>(call, stream);
}

}  // namespace weft::kernels::cuda

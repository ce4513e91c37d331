// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/grid_sync.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_grid_sync(const ScanCall& call, const Stream& stream) {
  run_scan<GridSync>(call, stream);
}

}  // namespace weft::kernels::cuda

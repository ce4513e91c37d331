// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/kogge_stone_double_buffered.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_kogge_stone_double_buffered(const ScanCall& call, const Stream& stream) {
  run_scan<KoggeStoneDoubleBuffered>(call, stream);
}

}  // namespace weft::kernels::cuda

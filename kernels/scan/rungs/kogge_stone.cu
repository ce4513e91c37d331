// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/kogge_stone.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_kogge_stone(const ScanCall& call, const Stream& stream) {
  run_scan<KoggeStone>(call, stream);
}

}  // namespace weft::kernels::cuda

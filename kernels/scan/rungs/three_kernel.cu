// SPDX-License-Identifier: MIT
#include "kernels/scan/rungs/three_kernel.cuh"

#include "kernels/scan/launchers.h"

namespace weft::kernels::cuda {

void scan_three_kernel(const ScanCall& call, const Stream& stream) {
  run_scan<ThreeKernel>(call, stream);
}

}  // namespace weft::kernels::cuda

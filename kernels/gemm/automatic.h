// SPDX-License-Identifier: MIT
// What GemmVariant::automatic means on a GPU.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels {

struct GemmDevice {
  int compute_capability = 0;  // 90 is sm_90
  bool hopper = false;         // it runs code for sm_90a, and there is some
};

// `aligned`: rows of A and B start on 16-byte boundaries. A tensor-core mode on a device without
// tf32 tensor cores runs in fp32.
GemmVariant gemm_automatic(const GemmDims& dims, GemmStorage storage, ComputeMode mode,
                           bool aligned, const GemmDevice& device);

}  // namespace weft::kernels

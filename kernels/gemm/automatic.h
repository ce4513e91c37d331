// SPDX-License-Identifier: MIT
// What GemmVariant::automatic means on a GPU.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels {

// For a device of this compute capability (90 is sm_90). A tensor-core mode on a device without
// tf32 tensor cores runs in fp32.
GemmVariant gemm_automatic(const GemmDims& dims, GemmStorage storage, ComputeMode mode,
                           int compute_capability);

}  // namespace weft::kernels

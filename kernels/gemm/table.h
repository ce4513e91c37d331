// SPDX-License-Identifier: MIT
// The table of GEMM variants.
//
// A ComputeMode is the least precision that the caller accepts: fp32 variants serve every mode,
// tensor-core variants need theirs to be asked for.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels {

struct GemmRow {
  GemmVariant variant;
  VariantInfo info;
  bool rounds = false;                           // operands of fp32: only if the mode allows it
  GemmStorage cuda_storage = GemmStorage::fp32;  // CPU variants take both
  bool hopper = false;                           // exactly sm_90, from code built for sm_90a
};

std::span<const GemmRow> gemm_rows();          // in teaching order
const GemmRow& gemm_row(GemmVariant variant);  // throws usage when there is none

}  // namespace weft::kernels

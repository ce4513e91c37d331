// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/transpose/transpose.h"

namespace weft::kernels {

struct TransposeCpu {
  void (*naive)(float* y, const float* x, const TransposeDims& dims);
  void (*tiled)(float* y, const float* x, const TransposeDims& dims);
};

WEFT_DECLARE_CPU_TABLE(TransposeCpu, transpose_cpu)

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// GEMM on bfloat16 on the CPU: operands are widened to floats, multiplied by a variant for floats,
// and the result is rounded. Processors without bfloat16 arithmetic do no less.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels {

// Through cpu/packed.h if `packed`, else through three loops. Leading dimensions are resolved (not
// 0) and m, n > 0.
void gemm_widened(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                  const GemmDims& dims, const GemmOptions& options, bool packed);

}  // namespace weft::kernels

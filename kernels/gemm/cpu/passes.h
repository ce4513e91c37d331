// SPDX-License-Identifier: MIT
// What the CPU variants of GEMM leave to a pass behind the product: GemmOptions::relu_mask and
// row_sums. Leading dimensions are resolved (not 0).
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels {

// c is 0 where mask, (m, n) with leading dimension ldc, is not above 0.
void gemm_apply_mask(float* c, const float* mask, const GemmDims& dims);

// row_sums (m,) = alpha * sums of the rows of op(A) + beta * row_sums; the same bits on any number
// of threads.
void gemm_add_rows(float* row_sums, const float* a, const GemmDims& dims, float alpha, float beta);

}  // namespace weft::kernels

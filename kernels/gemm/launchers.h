// SPDX-License-Identifier: MIT
// The functions behind gemm() on a GPU: the launcher of a rung, which its file in rungs/ defines,
// and what other families call.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels::cuda {

// C (m, n) = op(A) (m, k) op(B) (k, n) as in gemm.h. Leading dimensions are resolved (never 0), m
// and n are positive, k may be 0 unless the rung's row says otherwise. Takes any transposes,
// alignment, alpha, beta, bias, epilogue and mask. A rung may take scratch memory from the pool of
// the stream.
using GemmLauncher = void(float* c, const float* a, const float* b, const float* bias,
                          const GemmDims& dims, const GemmOptions& options, const Stream& stream);
using GemmBfloat16Launcher = void(Bfloat16* c, const Bfloat16* a, const Bfloat16* b,
                                  const float* bias, const GemmDims& dims,
                                  const GemmOptions& options, const Stream& stream);

// row_sums (m,) = alpha * sums of the rows of op(A) + beta * row_sums, in fp32. Takes m, k, lda and
// transpose_a of the dims.
void gemm_row_sums(float* row_sums, const float* a, const GemmDims& dims, float alpha, float beta,
                   const Stream& stream);

// Many products of the same dimensions in one launch, for im2col convolution.
struct GemmBatch {
  std::int64_t count = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // elements from one product to the next
  bool bias_per_row = false;                              // bias has m values instead of n
};

void gemm_register_tiled_batched(float* c, const float* a, const float* b, const float* bias,
                                 const GemmDims& dims, const GemmOptions& options,
                                 const GemmBatch& batch, const Stream& stream);
void gemm_mma_tf32_batched(float* c, const float* a, const float* b, const float* bias,
                           const GemmDims& dims, const GemmOptions& options, const GemmBatch& batch,
                           const Stream& stream);

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The CUDA launchers behind gemm(): one per technique, called by gemm.cpp after validation.
//
// Leading dimensions are resolved (never 0), m and n are positive, k may be 0. Every launcher takes
// any size, transpose, alignment, alpha, beta, bias, epilogue and mask; options.variant is looked
// at by gemm_strip only, options.row_sums by the cluster rungs only.
#pragma once

#include "kernels/gemm/gemm.h"

namespace weft::kernels::cuda {

void gemm_naive(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                const GemmOptions& options, const Stream& stream);
// The strip rungs; options.variant, strip_width and strip_results say which.
void gemm_strip(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                const GemmOptions& options, const Stream& stream);
void gemm_tiled(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                const GemmOptions& options, const Stream& stream);
void gemm_register_tiled(float* c, const float* a, const float* b, const float* bias,
                         const GemmDims& dims, const GemmOptions& options, const Stream& stream);
void gemm_vectorized(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream);
void gemm_warp_tiled(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream);
void gemm_pipelined(float* c, const float* a, const float* b, const float* bias,
                    const GemmDims& dims, const GemmOptions& options, const Stream& stream);
void gemm_operand_reuse(float* c, const float* a, const float* b, const float* bias,
                        const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// Takes scratch memory from the stream's pool when C has few tiles.
void gemm_split_k(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                  const GemmOptions& options, const Stream& stream);
// Needs sm_80. Rounds operands to tf32.
void gemm_wmma_tf32(float* c, const float* a, const float* b, const float* bias,
                    const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// Needs sm_80. Rounds operands to tf32, or to bf16 when options.mode is bf16.
void gemm_mma_tf32(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// Needs sm_80. bfloat16 storage.
void gemm_mma_bf16(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// Needs sm_90, k > 0, and base pointers and leading dimensions that are multiples of 16 bytes.
// Rounds operands to tf32, or to bf16 when options.mode is bf16; row sums too.
void gemm_cluster_tf32(float* c, const float* a, const float* b, const float* bias,
                       const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// The same, as accurate as fp32.
void gemm_cluster_tf32x3(float* c, const float* a, const float* b, const float* bias,
                         const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// Needs sm_80. As accurate as fp32, on tensor cores.
void gemm_tf32x3(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                 const GemmOptions& options, const Stream& stream);
// Need exactly sm_90a and k > 0. Take scratch memory from the stream's pool: wgmma_tf32 for
// operands that do not run along k or are not aligned to 16 bytes, wgmma_tf32x3, which is as
// accurate as fp32, for twice the operands.
void gemm_wgmma_tf32(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream);
void gemm_wgmma_tf32x3(float* c, const float* a, const float* b, const float* bias,
                       const GemmDims& dims, const GemmOptions& options, const Stream& stream);
// The same on bfloat16, in place: base pointers, lda and ldb are multiples of 16 bytes.
void gemm_wgmma_bf16(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream);

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

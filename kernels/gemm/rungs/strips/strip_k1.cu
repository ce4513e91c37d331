// SPDX-License-Identifier: MIT
// GEMM, rung "strip_k1": one result for each thread; A and B come from memory.
#include "kernels/gemm/parts/strip.cuh"

namespace weft::kernels::cuda {

void gemm_strip_k1(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  strip::gemm_strip<1, 1, false>(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

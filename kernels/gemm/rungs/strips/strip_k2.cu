// SPDX-License-Identifier: MIT
// GEMM, rung "strip_k2": a strip of A is staged in shared memory.
#include "kernels/gemm/parts/strip.cuh"

namespace weft::kernels::cuda {

void gemm_strip_k2(float* c, const float* a, const float* b, const float* bias,
                   const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  strip::gemm_strip<1, 1, true>(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM, rung "strip_k3k4": 4 columns by 2 or 4 rows of results for each thread.
#include "kernels/gemm/parts/strip.cuh"

namespace weft::kernels::cuda {

void gemm_strip_k3k4(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const auto run =
      options.strip_results == 4 ? strip::gemm_strip<4, 4, true> : strip::gemm_strip<2, 4, true>;
  run(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

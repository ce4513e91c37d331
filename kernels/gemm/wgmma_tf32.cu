// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_tf32": fp32 operands, rounded to tf32 by the copy engine. sm_90a. The pipeline
// is told in wgmma.cuh.
//
// For this type the tensor core reads operands only along k. One that lies along m or n is
// transposed first into scratch memory of the stream: 8 bytes of traffic per element, 1 to
// 20 % of the whole from 8192 down to 1024 cubed. So is one whose rows are not aligned for TMA.
#include "kernels/gemm/k_major.h"
#include "kernels/gemm/wgmma.cuh"

namespace weft::kernels::cuda {

void gemm_wgmma_tf32(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const auto [left, right, large] =
      k_major({a, dims.m, dims.k, dims.lda, !dims.transpose_a},
              {b, dims.n, dims.k, dims.ldb, dims.transpose_b}, stream);
  GemmDims d = dims;
  d.lda = left.ld;
  d.ldb = right.ld;
  // The kernel before the product is then the copy.
  const bool overlap = options.overlap || left.data != a || right.data != b;
  const auto out = wgmma_output(c, bias, dims, options);
  with_wgmma_shape<256>(dims, stream, [&](auto width, auto share_b) {
    launch_wgmma<WgmmaTile<float, width(), false, true, share_b()>>(out, left.data, right.data, d,
                                                                    overlap, stream);
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_bf16": bf16 operands and results, fp32 sums. sm_90a. The pipeline is told in
// wgmma.cuh. The tensor core reads both orders of an operand, so no transpose costs anything.
#include "kernels/gemm/hopper/wgmma.cuh"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {

void gemm_wgmma_bf16(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const auto out = wgmma_output(c, bias, dims, options);
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    with_wgmma_shape<256>(dims, stream, [&](auto rows, auto columns, auto share_b) {
      using Tile = WgmmaTile<Bfloat16, rows(), columns(), transpose_a(), transpose_b(), share_b()>;
      launch_wgmma<Tile>(out, a, b, dims, options.overlap, stream);
    });
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_bf16": bf16 operands and results, fp32 sums. sm_90a. The pipeline is told in
// wgmma.cuh. The tensor core reads both orders of an operand, so no transpose costs anything.
#include "kernels/gemm/wgmma.cuh"

namespace weft::kernels::cuda {
namespace {

template <int kN, int kCluster>
void launch_tile(const WgmmaOutput<Bfloat16>& out, const Bfloat16* a, const Bfloat16* b,
                 const GemmDims& dims, const Stream& stream) {
  if (dims.transpose_a && dims.transpose_b) {
    launch_wgmma<WgmmaTile<Bfloat16, kN, true, true, kCluster>>(out, a, b, dims, stream);
  } else if (dims.transpose_a) {
    launch_wgmma<WgmmaTile<Bfloat16, kN, true, false, kCluster>>(out, a, b, dims, stream);
  } else if (dims.transpose_b) {
    launch_wgmma<WgmmaTile<Bfloat16, kN, false, true, kCluster>>(out, a, b, dims, stream);
  } else {
    launch_wgmma<WgmmaTile<Bfloat16, kN, false, false, kCluster>>(out, a, b, dims, stream);
  }
}

}  // namespace

void gemm_wgmma_bf16(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const auto out = wgmma_output(c, bias, dims, options);
  switch (wgmma_width(dims, stream)) {
    case 64:
      return launch_tile<64, 1>(out, a, b, dims, stream);
    case 128:
      return launch_tile<128, 1>(out, a, b, dims, stream);
    default:
      if (wgmma_clusters(dims, stream)) return launch_tile<256, 2>(out, a, b, dims, stream);
      return launch_tile<256, 1>(out, a, b, dims, stream);
  }
}

}  // namespace weft::kernels::cuda

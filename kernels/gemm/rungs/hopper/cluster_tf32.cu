// SPDX-License-Identifier: MIT
// GEMM, rung "cluster_tf32": operands rounded to tf32, or to bf16 in ComputeMode bf16. sm_90.
#include "kernels/gemm/hopper/cluster.cuh"

namespace weft::kernels::cuda {

void gemm_cluster_tf32(float* c, const float* a, const float* b, const float* bias,
                       const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const auto run = options.mode == ComputeMode::bf16
                       ? cluster::gemm_cluster<cluster::CopiedBfloat16>
                       : cluster::gemm_cluster<cluster::CopiedTf32>;
  run(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM, rung "cluster_tf32x3": the same as cluster_tf32 with the accuracy of fp32, by three
// products of tf32 on the same bytes. sm_90.
#include "kernels/gemm/hopper/cluster.cuh"

namespace weft::kernels::cuda {

void gemm_cluster_tf32x3(float* c, const float* a, const float* b, const float* bias,
                         const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  cluster::gemm_cluster<cluster::CopiedTf32x3>(c, a, b, bias, dims, options, stream);
}

}  // namespace weft::kernels::cuda

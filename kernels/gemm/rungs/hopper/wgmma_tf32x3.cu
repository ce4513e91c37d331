// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_tf32x3": fp32 accuracy from Hopper's tensor cores. sm_90a. The pipeline is told
// in wgmma.cuh, what is left out of a product in float_math.cuh.
//
// Operands are split before the product, into scratch memory of the stream: 12 bytes of traffic per
// element, 9 % of the whole at 4096 cubed. Whatever their order was, the parts that the tensor core
// reads run along k. For 128 x 128 sums a block then reads 64 KiB and does 12 products of 64
// x 128 x 8 in each warpgroup, 1536 cycles of the tensor core: 43 bytes a cycle from L2. The bound
// is a third of the rate of tf32.
#include "kernels/gemm/hopper/k_major.h"
#include "kernels/gemm/hopper/wgmma.cuh"

namespace weft::kernels::cuda {

void gemm_wgmma_tf32x3(float* c, const float* a, const float* b, const float* bias,
                       const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const auto [left, right, memory] =
      k_major_parts({a, dims.m, dims.k, dims.lda, !dims.transpose_a},
                    {b, dims.n, dims.k, dims.ldb, dims.transpose_b}, stream);
  GemmDims d = dims;
  d.k = left.ld;  // both parts, whole chunks
  d.lda = left.ld;
  d.ldb = right.ld;
  const auto out = wgmma_output(c, bias, dims, options);
  with_wgmma_shape<128>(dims, stream, [&](auto rows, auto columns, auto share_b) {
    using Tile = WgmmaTile<float, rows(), columns(), false, true, share_b(), 2>;
    launch_wgmma<Tile>(out, left.data, right.data, d, true, stream);  // behind the copies
  });
}

}  // namespace weft::kernels::cuda

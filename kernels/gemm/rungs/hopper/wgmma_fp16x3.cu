// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_fp16x3": fp32 accuracy from Hopper's tensor cores at a third of the rate of
// fp16, twice that of wgmma_tf32x3. sm_90a. The pipeline is told in wgmma.cuh.
//
// fp16 has the 11 significant bits of tf32 in half the bytes, but only 5 bits of exponent. So each
// row of op(A) and each column of op(B) is first scaled by a power of two, and its small parts are
// kept 2^11 times too large: see device/halves.cuh. What is left out of a product is, with La and
// Lb the largest values of the row and of the column,
//
//   2^-21 |a b| + 2^-50 (La |b| + |a| Lb)     at most
//
// Splitting takes 12 bytes of traffic per element along k and 16 for an operand that lies the other
// way, whose columns are first searched for their largest values.
#include "kernels/gemm/hopper/k_major.h"
#include "kernels/gemm/hopper/wgmma.cuh"

namespace weft::kernels::cuda {

void gemm_wgmma_fp16x3(float* c, const float* a, const float* b, const float* bias,
                       const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  const KMajorHalves halves =
      k_major_halves({a, dims.m, dims.k, dims.lda, !dims.transpose_a},
                     {b, dims.n, dims.k, dims.ldb, dims.transpose_b}, stream);
  GemmDims d = dims;
  d.k = d.lda = d.ldb = halves.ld;  // both parts, whole chunks
  auto out = wgmma_output(c, bias, dims, options);
  out.scales = halves.scales;
  with_wgmma_shape<128>(dims, stream, [&](auto rows, auto columns, auto share_b) {
    using Tile = WgmmaTile<Half, rows(), columns(), false, true, share_b(), 2>;
    launch_wgmma<Tile>(out, halves.a, halves.b, d, true, stream);  // behind the copies
  });
}

}  // namespace weft::kernels::cuda

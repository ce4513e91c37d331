// SPDX-License-Identifier: MIT
// GEMM, rung "wgmma_tf32": fp32 operands, rounded to tf32 by the copy engine. sm_90a. The pipeline
// is told in wgmma.cuh.
//
// For this type the tensor core reads shared memory only along k. Of the two operands one that lies
// the other way may come through registers, and stays as it is. A second one, and those whose rows
// are not aligned for TMA, are copied first into scratch memory of the stream: 8 bytes of traffic
// for each element.
#include <utility>

#include "kernels/gemm/hopper/k_major.h"
#include "kernels/gemm/hopper/wgmma.cuh"

namespace weft::kernels::cuda {

void gemm_wgmma_tf32(float* c, const float* a, const float* b, const float* bias,
                     const GemmDims& dims, const GemmOptions& options, const Stream& stream) {
  GemmOperand left{a, dims.m, dims.k, dims.lda, !dims.transpose_a};
  GemmOperand right{b, dims.n, dims.k, dims.ldb, dims.transpose_b};
  // The left one may stay. C^T = B^T A^T: so may the right one, the larger where both would.
  const auto may_stay = [](const GemmOperand& x) { return !x.along_k && x.aligned(); };
  auto out = wgmma_output(c, bias, dims, options);
  out.transposed = may_stay(right) && (!may_stay(left) || left.extent <= right.extent);
  if (out.transposed) std::swap(left, right);
  left.stays = may_stay(left);
  const auto [x, y, memory] = k_major(left, right, stream);
  const GemmDims d{
      .m = left.extent, .n = right.extent, .k = dims.k, .lda = x.ld, .ldb = y.ld, .ldc = dims.ldc};
  // Where one was copied, that is the kernel before the product.
  const bool overlap = options.overlap || x.data != left.data || y.data != right.data;
  with_wgmma_shape<256>(d, stream, [&](auto rows, auto columns, auto share_b) {
    const auto start = [&](auto from_panels) {
      using Tile = WgmmaTile<float, rows(), columns(), from_panels(), true, share_b()>;
      launch_wgmma<Tile>(out, x.data, y.data, d, overlap, stream);
    };
    left.stays ? start(std::true_type()) : start(std::false_type());
  });
}

}  // namespace weft::kernels::cuda

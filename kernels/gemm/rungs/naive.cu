// SPDX-License-Identifier: MIT
// GEMM, rung "naive": one thread computes one element of C from global memory.
//
// Neighbouring threads take neighbouring columns, so that the reads of B (when it is not
// transposed) and the writes of C coalesce and A is broadcast. Every element of A is read n times
// and of B m times; only the caches save it from the memory bandwidth.
#include "engine/launch.h"
#include "kernels/gemm/launchers.h"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <bool kTransposeA, bool kTransposeB>
__global__ void __launch_bounds__(kThreads)
    gemm_naive_kernel(GemmOutput out, const float* __restrict__ a, const float* __restrict__ b,
                      std::int64_t k, std::int64_t lda, std::int64_t ldb) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < out.m * out.n; i += step) {
    const std::int64_t row = i / out.n, column = i % out.n;
    float sum = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      const float left = kTransposeA ? a[j * lda + row] : a[row * lda + j];
      const float right = kTransposeB ? b[column * ldb + j] : b[j * ldb + column];
      sum += left * right;
    }
    store_one(out, row, column, sum);
  }
}

}  // namespace

void gemm_naive(float* c, const float* a, const float* b, const float* bias, const GemmDims& dims,
                const GemmOptions& options, const Stream& stream) {
  const GemmOutput out = gemm_output(c, bias, dims, options);
  const Launch config{dim3(blocks_for(dims.m * dims.n, kThreads)), dim3(kThreads), 0, stream};
  with_transposes(dims, [&](auto transpose_a, auto transpose_b) {
    launch(gemm_naive_kernel<transpose_a(), transpose_b()>, config, out, a, b, dims.k, dims.lda,
           dims.ldb);
  });
}

}  // namespace weft::kernels::cuda

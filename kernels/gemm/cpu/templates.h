// SPDX-License-Identifier: MIT
// GEMM on the CPU: the three loops, on any scalar type. In double it is the tests' oracle.
#pragma once

#include <cstdint>

#include "kernels/gemm/gemm.h"
#include "kernels/isa.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// max(v, 0) that lets NaN pass.
template <class T>
inline T apply_epilogue(Epilogue epilogue, T v) {
  return epilogue == Epilogue::relu && v < T(0) ? T(0) : v;
}

// Leading dimensions must be resolved (not 0). Rows of C run in parallel; each element is one
// sum in the order of k, whatever the number of threads.
template <class T>
void gemm_naive(T* c, const T* a, const T* b, const T* bias, const GemmDims& d, T alpha, T beta,
                Epilogue epilogue) {
  const std::int64_t a_row = d.transpose_a ? 1 : d.lda, a_k = d.transpose_a ? d.lda : 1;
  const std::int64_t b_k = d.transpose_b ? 1 : d.ldb, b_col = d.transpose_b ? d.ldb : 1;
#pragma omp parallel for schedule(static) if (2 * d.m * d.n * d.k > 1000000)
  for (std::int64_t i = 0; i < d.m; ++i) {
    for (std::int64_t j = 0; j < d.n; ++j) {
      T sum = 0;
      for (std::int64_t p = 0; p < d.k; ++p) {
        sum += a[i * a_row + p * a_k] * b[p * b_k + j * b_col];
      }
      T& out = c[i * d.ldc + j];
      T value = alpha * sum;
      if (beta != T(0)) value += beta * out;
      if (bias != nullptr) value += bias[j];
      out = apply_epilogue(epilogue, value);
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

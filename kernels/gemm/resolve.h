// SPDX-License-Identifier: MIT
// The dimensions of a product as its launchers take them. A wrong one throws usage.
#pragma once

#include <string>

#include "kernels/checks.h"
#include "kernels/gemm/gemm.h"

namespace weft::kernels {

inline std::string describe(const GemmDims& d) {
  return str("gemm (m, n, k) = (", d.m, ", ", d.n, ", ", d.k, ")", d.transpose_a ? ", A^T" : "",
             d.transpose_b ? ", B^T" : "");
}

// The same dimensions with every leading dimension written out.
inline GemmDims resolved(GemmDims d, std::size_t element_bytes) {
  if (d.m < 0 || d.n < 0 || d.k < 0) {
    throw Error(ErrorKind::usage, str(describe(d), ": extents must not be negative"));
  }
  const auto resolve = [&](const char* name, std::int64_t& ld, std::int64_t rows,
                           std::int64_t row_length) {
    if (ld == 0) ld = row_length;
    std::int64_t bytes = 0;
    if (ld < row_length) {
      throw Error(ErrorKind::usage, str(describe(d), ": ", name, " = ", ld,
                                        " is shorter than a row of ", row_length));
    }
    if (__builtin_mul_overflow(rows, ld, &bytes) ||
        __builtin_mul_overflow(bytes, static_cast<std::int64_t>(element_bytes), &bytes)) {
      throw Error(ErrorKind::usage, str(describe(d), ": ", rows, " rows of ", name, " = ", ld,
                                        " do not fit in memory"));
    }
  };
  resolve("lda", d.lda, d.transpose_a ? d.k : d.m, d.transpose_a ? d.m : d.k);
  resolve("ldb", d.ldb, d.transpose_b ? d.n : d.k, d.transpose_b ? d.k : d.n);
  resolve("ldc", d.ldc, d.m, d.n);
  return d;
}

// Are rows of A and B aligned to 16 bytes, if A and B are?
inline bool rows_aligned(const GemmDims& dims, std::size_t element_bytes) {
  const auto vector = static_cast<std::int64_t>(16 / element_bytes);
  return dims.lda % vector == 0 && dims.ldb % vector == 0;
}

// The problem with leading dimensions written out, and aligned only if its rows are.
inline GemmProblem resolved(GemmProblem problem) {
  const bool bf16 = problem.storage == GemmStorage::bf16;
  const std::size_t bytes = bf16 ? sizeof(Bfloat16) : sizeof(float);
  problem.dims = resolved(problem.dims, bytes);
  problem.aligned = problem.aligned && rows_aligned(problem.dims, bytes);
  return problem;
}

}  // namespace weft::kernels

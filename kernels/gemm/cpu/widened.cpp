// SPDX-License-Identifier: MIT
#include "kernels/gemm/cpu/widened.h"

#include "engine/extent.h"
#include "kernels/gemm/cpu/scratch.h"
#include "kernels/gemm/cpu/table.h"

namespace weft::kernels {
namespace {

// A matrix as it is stored: `rows` rows of `columns` elements, `ld` apart.
struct Stored {
  std::int64_t rows, columns, ld;

  std::int64_t elements() const { return rows * columns; }
  std::size_t scratch() const { return round_up(static_cast<std::size_t>(elements()), 16); }
};

void widen(float* to, const Bfloat16* from, const Stored& shape) {
#pragma omp parallel for schedule(static) if (shape.elements() > 16384)
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      to[i * shape.columns + j] = to_float(from[i * shape.ld + j]);
    }
  }
}

void narrow(Bfloat16* to, const float* from, const Stored& shape) {
#pragma omp parallel for schedule(static) if (shape.elements() > 16384)
  for (std::int64_t i = 0; i < shape.rows; ++i) {
    for (std::int64_t j = 0; j < shape.columns; ++j) {
      to[i * shape.ld + j] = to_bfloat16(from[i * shape.columns + j]);
    }
  }
}

}  // namespace

void gemm_widened(Bfloat16* c, const Bfloat16* a, const Bfloat16* b, const float* bias,
                  const GemmDims& dims, const GemmOptions& options, bool packed) {
  const Stored a_shape{dims.transpose_a ? dims.k : dims.m, dims.transpose_a ? dims.m : dims.k,
                       dims.lda};
  const Stored b_shape{dims.transpose_b ? dims.n : dims.k, dims.transpose_b ? dims.k : dims.n,
                       dims.ldb};
  const Stored c_shape{dims.m, dims.n, dims.ldc};
  GemmDims dense = dims;
  dense.lda = a_shape.columns;
  dense.ldb = b_shape.columns;
  dense.ldc = c_shape.columns;

  const GemmCpu& cpu = select_gemm_cpu();
  float* a_wide = thread_scratch(a_shape.scratch() + b_shape.scratch() + c_shape.scratch() +
                                 (packed ? cpu.packed_scratch(dense) : 0));
  float* b_wide = a_wide + a_shape.scratch();
  float* c_wide = b_wide + b_shape.scratch();
  widen(a_wide, a, a_shape);
  widen(b_wide, b, b_shape);
  if (options.beta != 0) widen(c_wide, c, c_shape);
  if (packed) {
    cpu.packed(c_wide, a_wide, b_wide, bias, dense, options.alpha, options.beta, options.epilogue,
               c_wide + c_shape.scratch());
  } else {
    cpu.naive(c_wide, a_wide, b_wide, bias, dense, options.alpha, options.beta, options.epilogue);
  }
  narrow(c, c_wide, c_shape);
}

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// A linear layer on the CPU, on any scalar type, for kernels that take a network as a whole. In
// double it is part of the tests' oracles.
#pragma once

#include "kernels/activation/cpu/templates.h"
#include "kernels/gemm/cpu/templates.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

// y (rows, out) = x (rows, in) weight^T + bias
template <class T>
void linear_forward(T* y, const T* x, const T* weight, const T* bias, std::int64_t rows,
                    std::int64_t out, std::int64_t in, Epilogue epilogue) {
  GemmDims d{rows, out, in};
  d.transpose_b = true;
  d.lda = in, d.ldb = in, d.ldc = out;
  gemm_naive(y, x, weight, bias, d, T(1), T(0), epilogue);
}

// From dy (rows, out): weight and bias gradients, and dx behind the ReLU that made x, when not
// null.
template <class T>
void linear_backward(T* dweight, T* dbias, T* dx, const T* dy, const T* x, const T* weight,
                     std::int64_t rows, std::int64_t out, std::int64_t in) {
  GemmDims d{out, in, rows};
  d.transpose_a = true;
  d.lda = out, d.ldb = in, d.ldc = in;
  gemm_naive(dweight, dy, x, static_cast<const T*>(nullptr), d, T(1), T(0), Epilogue::none);
  bias_backward(dbias, dy, rows, out, std::int64_t{1}, GradientMode::overwrite);
  GemmDims back{rows, in, out};
  back.lda = out, back.ldb = in, back.ldc = in;
  gemm_naive(dx, dy, weight, static_cast<const T*>(nullptr), back, T(1), T(0), Epilogue::none);
  activation_backward(dx, dx, x, rows * in, Activation::relu, GradientMode::overwrite);
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

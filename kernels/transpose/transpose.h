// SPDX-License-Identifier: MIT
// Out-of-place transpose of a matrix of floats.
//
//   y[j][i] = x[i][j]      x is (rows, cols), y is (cols, rows), both dense and row-major
//
// Every bit pattern is kept, NaNs included. y must not overlap x. Any extent works. It computes
// nothing: 4 bytes are read and 4 written for each element, so a copy of the same bytes is the
// bound.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct TransposeDims {
  std::int64_t rows = 0, cols = 0;  // of x

  std::int64_t elements() const { return rows * cols; }
};

void transpose(float* y,        // (cols, rows)
               const float* x,  // (rows, cols)
               const TransposeDims& dims, std::string_view variant, const Stream& stream);

Rungs transpose_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool transpose_takes(std::string_view variant, const TransposeDims& dims, Device device);
Choice transpose_choice(const TransposeDims& dims, Device device);

}  // namespace weft::kernels

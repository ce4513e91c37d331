// SPDX-License-Identifier: MIT
// Two inputs one behind the other, such as the channels of two images, and their gradients apart.
//
//   concat   y[r] = a[r], then b[r]          split   a[r], then b[r] = y[r]
//
// Every bit pattern is kept. Extents >= 0. Nothing overlaps. Traffic: 8 (|a| + |b|) bytes.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct ConcatDims {
  std::int64_t rows = 0, a = 0, b = 0;  // a and b: values of a row, such as channels x plane

  std::int64_t row() const { return a + b; }
};

void concat(float* y,        // (rows, dims.a + dims.b)
            const float* a,  // (rows, dims.a)
            const float* b,  // (rows, dims.b)
            const ConcatDims& dims, const Stream& stream);
// Each of `a` and `b` is null where nobody needs it.
void split(float* a,        // (rows, dims.a), or null
           float* b,        // (rows, dims.b), or null
           const float* y,  // (rows, dims.a + dims.b)
           const ConcatDims& dims, const Stream& stream);

}  // namespace weft::kernels

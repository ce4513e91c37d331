// SPDX-License-Identifier: MIT
// Padding of images: rows and columns around each plane.
//
//   forward    y[k,p,q] = x[k, row(p - top), column(q - left)], or 0 where there is no such pixel
//   backward   dx[k,i,j] (+)= sum of dy[k,p,q] over all (p, q) that read the pixel
//
// PadMode says what stands outside of the plane, here for a row a b c d with 3 values at each side:
//
//   zero      0 0 0 | a b c d | 0 0 0
//   reflect   d c b | a b c d | c b a     fewer values than the plane has
//   edge      a a a | a b c d | d d d
//
// Extents and pads >= 0; planes have at most 2^31 - 1 values, and only zeros surround a plane
// without values, else Error{usage}. y and x do not overlap. Forward copies bits. Backward sums in
// a fixed order, rows first, each of them from left to right. Traffic: 4 (|x| + |y|) bytes.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

enum class PadMode { zero, reflect, edge };

struct PadDims {
  std::int64_t planes = 0, h = 0, w = 0;  // x (planes, h, w)
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  PadMode mode = PadMode::zero;

  std::int64_t oh() const { return top + h + bottom; }
  std::int64_t ow() const { return left + w + right; }
};

void pad_forward(float* y,        // (planes, oh, ow)
                 const float* x,  // (planes, h, w)
                 const PadDims& dims, const Stream& stream);
void pad_backward(float* dx,        // (planes, h, w)
                  const float* dy,  // (planes, oh, ow)
                  const PadDims& dims, GradientMode mode, const Stream& stream);

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// What pad.h and concat.h do on a GPU, once their arguments are checked. All extents are positive,
// but pads and one of a row's two parts.
#pragma once

#include "kernels/planes/concat.h"
#include "kernels/planes/pad.h"

namespace weft::kernels::cuda {

void pad_forward(float* y, const float* x, const PadDims& dims, const Stream& stream);
void pad_backward(float* dx, const float* dy, const PadDims& dims, GradientMode mode,
                  const Stream& stream);
void concat(float* y, const float* a, const float* b, const ConcatDims& dims, const Stream& stream);
void split(float* a, float* b, const float* y, const ConcatDims& dims, const Stream& stream);

}  // namespace weft::kernels::cuda

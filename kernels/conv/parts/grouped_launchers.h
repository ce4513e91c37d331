// SPDX-License-Identifier: MIT
// What grouped.h does on a GPU, once its arguments are checked. All extents are positive, but n of
// the weight gradient, which may be 0.
#pragma once

#include "kernels/conv/grouped.h"

namespace weft::kernels::cuda {

void grouped_conv2d_forward(float* y, const float* x, const float* w, const float* bias,
                            const GroupedConvDims& dims, Epilogue epilogue, const Stream& stream);
void grouped_conv2d_backward_data(float* dx, const float* dy, const float* w,
                                  const GroupedConvDims& dims, GradientMode mode,
                                  const Stream& stream);
void grouped_conv2d_backward_weights(float* dw, const float* dy, const float* x,
                                     const GroupedConvDims& dims, GradientMode mode,
                                     const Stream& stream);

}  // namespace weft::kernels::cuda

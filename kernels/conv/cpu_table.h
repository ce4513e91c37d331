// SPDX-License-Identifier: MIT
// The CPU versions of convolution, one table per instruction set.
#pragma once

#include "kernels/conv/conv.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct ConvCpu {
  void (*forward_direct)(float* y, const float* x, const float* w, const float* bias,
                         const ConvDims& dims, Epilogue epilogue);
  void (*backward_data_direct)(float* dx, const float* dy, const float* w, const ConvDims& dims,
                               GradientMode mode);
  void (*backward_weights_direct)(float* dw, float* db, const float* dy, const float* x,
                                  const ConvDims& dims, GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(ConvCpu, conv_cpu)

}  // namespace weft::kernels

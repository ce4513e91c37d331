// SPDX-License-Identifier: MIT
// The CPU version of a convolution in groups, one table per instruction set.
#pragma once

#include "kernels/conv/grouped.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct GroupedConvCpu {
  void (*forward)(float* y, const float* x, const float* w, const float* bias,
                  const GroupedConvDims& dims, Epilogue epilogue);
  void (*backward_data)(float* dx, const float* dy, const float* w, const GroupedConvDims& dims,
                        GradientMode mode);
  void (*backward_weights)(float* dw, const float* dy, const float* x, const GroupedConvDims& dims,
                           GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(GroupedConvCpu, grouped_conv_cpu)

}  // namespace weft::kernels

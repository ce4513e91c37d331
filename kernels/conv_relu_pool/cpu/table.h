// SPDX-License-Identifier: MIT
// The CPU versions of convolution with ReLU and max pooling, one table per instruction set.
#pragma once

#include "kernels/conv_relu_pool/conv_relu_pool.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct ReluPoolCpu {
  void (*forward)(float* y, std::uint8_t* argmax, const float* x, const float* w, const float* bias,
                  const ReluPoolDims& dims);
  void (*backward_data)(float* dx, const float* dy, const std::uint8_t* argmax, const float* w,
                        const ReluPoolDims& dims, GradientMode mode);
  void (*backward_weights)(float* dw, float* db, const float* dy, const std::uint8_t* argmax,
                           const float* x, const ReluPoolDims& dims, GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(ReluPoolCpu, relu_pool_cpu)

}  // namespace weft::kernels

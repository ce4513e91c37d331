// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/isa.h"
#include "kernels/softmax/softmax.h"

namespace weft::kernels {

struct SoftmaxCpu {
  void (*forward)(float* y, const float* x, std::int64_t rows, std::int64_t cols);
  void (*backward)(float* dx, const float* dy, const float* y, std::int64_t rows, std::int64_t cols,
                   GradientMode mode);
  void (*cross_entropy)(float* loss, float* dx, std::int32_t* prediction, const float* x,
                        const std::int32_t* labels, float scale, std::int64_t rows,
                        std::int64_t cols, float smoothing);
};

WEFT_DECLARE_CPU_TABLE(SoftmaxCpu, softmax_cpu)

}  // namespace weft::kernels

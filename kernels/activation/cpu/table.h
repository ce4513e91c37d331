// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/activation/activation.h"
#include "kernels/isa.h"

namespace weft::kernels {

struct ActivationCpu {
  void (*forward)(float* y, const float* x, std::int64_t n, const ActivationFunction& function);
  void (*backward)(float* dx, const float* dy, const float* y, std::int64_t n,
                   const ActivationFunction& function, GradientMode mode);
  void (*prelu_forward)(float* y, const float* x, const float* slope, std::int64_t outer,
                        std::int64_t channels, std::int64_t inner);
  void (*prelu_backward)(float* dx, float* dslope, const float* dy, const float* x,
                         const float* slope, std::int64_t outer, std::int64_t channels,
                         std::int64_t inner, GradientMode mode);
  void (*bias_forward)(float* y, const float* x, const float* bias, std::int64_t outer,
                       std::int64_t channels, std::int64_t inner);
  void (*bias_backward)(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                        std::int64_t inner, GradientMode mode);
};

WEFT_DECLARE_CPU_TABLE(ActivationCpu, activation_cpu)

}  // namespace weft::kernels

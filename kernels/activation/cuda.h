// SPDX-License-Identifier: MIT
// Launchers of vectorized.cu; same parameters as the contracts in activation.h.
#pragma once

#include "kernels/activation/activation.h"

namespace weft::kernels::cuda {

void activation_forward(float* y, const float* x, std::int64_t n, Activation kind,
                        const Stream& stream);
void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                         Activation kind, GradientMode mode, const Stream& stream);
void bias_forward(float* y, const float* x, const float* bias, std::int64_t outer,
                  std::int64_t channels, std::int64_t inner, const Stream& stream);
void bias_backward(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner, GradientMode mode, const Stream& stream);

}  // namespace weft::kernels::cuda

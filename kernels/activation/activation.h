// SPDX-License-Identifier: MIT
// Element-wise activations and the bias, forward and backward.
//
//   relu      y = x > 0 ? x : 0 (NaN passes through)   dx (+)= y > 0 ? dy : 0
//   sigmoid   y = 1 / (1 + exp(-x))                    dx (+)= dy y (1 - y)
//   tanh      y = tanh(x)                              dx (+)= dy (1 - y^2)
//
// Backward needs y, not x. In place is allowed: y may be x, dx may be dy.
// Traffic: forward 8n, backward 12n bytes (16n when accumulating).
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

enum class Activation { relu, sigmoid, tanh };

void activation_forward(float* y, const float* x, std::int64_t n, Activation kind,
                        std::string_view variant, const Stream& stream);
void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                         Activation kind, GradientMode mode, std::string_view variant,
                         const Stream& stream);

// y[i,c,j] = x[i,c,j] + bias[c] over (outer, channels, inner); y may be x.
void bias_forward(float* y, const float* x, const float* bias, std::int64_t outer,
                  std::int64_t channels, std::int64_t inner, std::string_view variant,
                  const Stream& stream);
// db[c] (+)= sum over i,j of dy[i,c,j], in a fixed order. outer == 0 with overwrite writes zeros.
void bias_backward(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner, GradientMode mode, std::string_view variant,
                   const Stream& stream);

// The same, by the rung that `automatic` takes.
inline void activation_forward(float* y, const float* x, std::int64_t n, Activation kind,
                               const Stream& stream) {
  activation_forward(y, x, n, kind, kAutomatic, stream);
}
inline void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                                Activation kind, GradientMode mode, const Stream& stream) {
  activation_backward(dx, dy, y, n, kind, mode, kAutomatic, stream);
}
inline void bias_forward(float* y, const float* x, const float* bias, std::int64_t outer,
                         std::int64_t channels, std::int64_t inner, const Stream& stream) {
  bias_forward(y, x, bias, outer, channels, inner, kAutomatic, stream);
}
inline void bias_backward(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                          std::int64_t inner, GradientMode mode, const Stream& stream) {
  bias_backward(db, dy, outer, channels, inner, mode, kAutomatic, stream);
}

Rungs activation_rungs();

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// Element-wise activations and the bias, forward and backward.
//
//   relu          y = x > 0 ? x : 0 (NaN passes through)   dx (+)= y > 0 ? dy : 0
//   sigmoid       y = 1 / (1 + exp(-x))                    dx (+)= dy y (1 - y)
//   tanh          y = tanh(x)                              dx (+)= dy (1 - y^2)
//   leaky_relu    y = x > 0 ? x : alpha x                  dx (+)= y > 0 ? dy : alpha dy
//   elu           y = x > 0 ? x : alpha (exp(x) - 1)       dx (+)= y > 0 ? dy : dy (y + alpha)
//   hard_sigmoid  y = alpha x + beta within 0 and 1        dx (+)= 0 < y < 1 ? alpha dy : 0
//   clip          y = x within alpha and beta              dx (+)= alpha < y < beta ? dy : 0
//   silu          y = x / (1 + exp(-x))
//   gelu          y = x (1 + erf(x / sqrt(2))) / 2
//   gelu_tanh     y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
//   hard_swish    y = x times (x / 6 + 1 / 2 within 0 and 1)
//   prelu         y = x > 0 ? x : slope[c] x               dx (+)= x > 0 ? dy : slope[c] dy
//
// functions.h has them and the gradients of the last ones. Backward needs y of those whose gradient
// stands here, and x of silu, gelu, gelu_tanh, hard_swish and prelu. In place is allowed: y may be
// x, dx may be dy.
// Traffic: forward 8n, backward 12n bytes (16n when accumulating).
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

enum class Activation {
  relu,
  sigmoid,
  tanh,
  leaky_relu,
  elu,
  silu,
  gelu,
  gelu_tanh,
  hard_swish,
  hard_sigmoid,
  clip
};

// An activation with its numbers. alpha of leaky_relu and elu is not negative, that of hard_sigmoid
// is positive, and clip has alpha < beta.
struct ActivationFunction {
  Activation kind = Activation::relu;
  float alpha = 0, beta = 0;

  // One without numbers, such as relu.
  ActivationFunction(Activation of) : kind(of) {}  // NOLINT(google-explicit-constructor)
  ActivationFunction(Activation of, float a, float b = 0) : kind(of), alpha(a), beta(b) {}
};

// Does the gradient need x, and not y?
constexpr bool backward_reads_input(Activation kind) {
  return kind == Activation::silu || kind == Activation::gelu || kind == Activation::gelu_tanh ||
         kind == Activation::hard_swish;
}

void activation_forward(float* y, const float* x, std::int64_t n,
                        const ActivationFunction& function, std::string_view variant,
                        const Stream& stream);
// `y` is x where backward_reads_input().
void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                         const ActivationFunction& function, GradientMode mode,
                         std::string_view variant, const Stream& stream);

// Over (outer, channels, inner), with a slope for each channel: y[i,c,j] = x[i,c,j] where that is
// positive, and slope[c] x[i,c,j] elsewhere. y may be x.
void prelu_forward(float* y, const float* x, const float* slope, std::int64_t outer,
                   std::int64_t channels, std::int64_t inner, std::string_view variant,
                   const Stream& stream);
// dx is null where nobody needs it, and may be dy. dslope[c] (+)= the sum over i, j of dy x where
// x is not positive, in a fixed order; the mode is that of dslope, and dx is overwritten.
void prelu_backward(float* dx, float* dslope, const float* dy, const float* x, const float* slope,
                    std::int64_t outer, std::int64_t channels, std::int64_t inner,
                    GradientMode mode, std::string_view variant, const Stream& stream);

// y[i,c,j] = x[i,c,j] + bias[c] over (outer, channels, inner); y may be x.
void bias_forward(float* y, const float* x, const float* bias, std::int64_t outer,
                  std::int64_t channels, std::int64_t inner, std::string_view variant,
                  const Stream& stream);
// db[c] (+)= sum over i,j of dy[i,c,j], in a fixed order. outer == 0 with overwrite writes zeros.
void bias_backward(float* db, const float* dy, std::int64_t outer, std::int64_t channels,
                   std::int64_t inner, GradientMode mode, std::string_view variant,
                   const Stream& stream);

// The same, by the rung that `automatic` takes.
inline void activation_forward(float* y, const float* x, std::int64_t n,
                               const ActivationFunction& function, const Stream& stream) {
  activation_forward(y, x, n, function, kAutomatic, stream);
}
inline void activation_backward(float* dx, const float* dy, const float* y, std::int64_t n,
                                const ActivationFunction& function, GradientMode mode,
                                const Stream& stream) {
  activation_backward(dx, dy, y, n, function, mode, kAutomatic, stream);
}
inline void prelu_forward(float* y, const float* x, const float* slope, std::int64_t outer,
                          std::int64_t channels, std::int64_t inner, const Stream& stream) {
  prelu_forward(y, x, slope, outer, channels, inner, kAutomatic, stream);
}
inline void prelu_backward(float* dx, float* dslope, const float* dy, const float* x,
                           const float* slope, std::int64_t outer, std::int64_t channels,
                           std::int64_t inner, GradientMode mode, const Stream& stream) {
  prelu_backward(dx, dslope, dy, x, slope, outer, channels, inner, mode, kAutomatic, stream);
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

// SPDX-License-Identifier: MIT
// Activations and the bias, forward and backward, with their oracles.
#pragma once

#include <cmath>

#include "kernels/activation/activation.h"
#include "kernels/activation/cpu/templates.h"
#include "kernels/problem.h"

namespace weft::problems {

struct Activation {
  kernels::Activation kind;
  bool backward;
  std::int64_t n;

  std::string text() const {
    constexpr const char* kNames[] = {"ReLU",      "sigmoid",     "tanh", "leaky ReLU",
                                      "ELU",       "SiLU",        "GELU", "GELU by tanh",
                                      "HardSwish", "HardSigmoid", "clip"};
    return str(kNames[static_cast<int>(kind)], backward ? " backward, " : " forward, ", n,
               " floats");
  }
  double bytes() const { return (backward ? 12.0 : 8.0) * static_cast<double>(n); }
  // Operations of one element as the formulas have them; the exponential counts as one.
  double flops() const {
    using enum kernels::Activation;
    const double each = kind == relu ? 1 : backward ? 3 : kind == sigmoid ? 4 : 5;
    return each * static_cast<double>(n);
  }
  double forward(double x) const {
    double y;
    kernels::cpu::activation_forward<double>(&y, &x, 1, kind);
    return y;
  }
  // y of x, or dx of dy and y.
  double expected(double in, double y) const {
    if (!backward) return forward(in);
    double dx;
    kernels::cpu::activation_backward<double>(&dx, &in, &y, 1, kind,
                                              kernels::GradientMode::overwrite);
    return dx;
  }
  // Sigmoid and tanh are exponentials by approximation, within 16 units in the last place of 1.
  double bound() const { return kind == kernels::Activation::relu ? 0 : std::ldexp(1.0, -20); }
};

// Over (outer, channels, inner).
struct Bias {
  std::int64_t outer, channels, inner;
  bool backward = false;

  std::int64_t elements() const { return outer * channels * inner; }
  std::string text() const {
    return str("bias ", backward ? "backward" : "forward", ", ", outer, " x ", channels, " x ",
               inner);
  }
  double bytes() const {
    return (backward ? 4 : 8) * static_cast<double>(elements()) + 4 * static_cast<double>(channels);
  }
  double footprint() const { return 8.0 * static_cast<double>(elements()); }
  double flops() const { return static_cast<double>(elements()); }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// The updates of a flat parameter buffer, with oracles that make several steps of one parameter
// with the same gradient and learning rate.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/optimizer/optimizer.h"
#include "kernels/problem.h"

namespace weft::problems {

// So small that also after thousands of steps the parameters still move.
constexpr float kLearningRate = 1e-4f;

struct Sgd {
  std::int64_t n;
  kernels::SgdOptions options;

  std::string text() const {
    return str(n, " parameters, ",
               options.nesterov       ? "Nesterov"
               : options.momentum > 0 ? "momentum"
                                      : "no momentum");
  }
  double bytes() const { return (options.momentum > 0 ? 20.0 : 12.0) * static_cast<double>(n); }
  // Weight decay, velocity, look-ahead and step: a multiply and an add each.
  double flops() const {
    return (options.nesterov ? 8.0 : options.momentum > 0 ? 6.0 : 4.0) * static_cast<double>(n);
  }

  struct State {
    double p, v, bound_p, bound_v;
  };
  State after(std::int64_t steps, double start, double gradient) const {
    const double rate = static_cast<double>(kLearningRate);
    const double mu = static_cast<double>(options.momentum);
    const double decay = static_cast<double>(options.weight_decay);
    double p = start, v = 0, most = 1;
    for (std::int64_t k = 0; k < steps; ++k) {
      const double g = gradient + decay * p;
      v = mu * v + g;
      p -= rate * (options.nesterov ? g + mu * v : v);
      most = std::max(most, std::fabs(p));
    }
    // A rounding of p in each step; those of v are forgotten after 1 / (1 - mu) steps.
    const double unit = std::ldexp(1.0, -23) * most;
    return {p, v, unit * (4 + static_cast<double>(steps)), 64 * unit * (1 + std::fabs(v))};
  }
};

struct Adamw {
  static constexpr float kMaxNorm = 1;

  std::int64_t n;
  bool clipped = false;  // by the norm of the gradients, which are read twice then

  std::string text() const { return str(n, " parameters, AdamW", clipped ? ", clipped" : ""); }
  double bytes() const { return (clipped ? 32.0 : 28.0) * static_cast<double>(n); }
  double footprint() const { return 28.0 * static_cast<double>(n); }
  // 2 and 4 of the moments, 2 of the decay, 6 of the step with its root and its quotient; of
  // clipping a product, and a square with its addition.
  double flops() const { return (clipped ? 17.0 : 14.0) * static_cast<double>(n); }

  // What clipping multiplies gradients by that have this sum of squares.
  double scale(double squares) const {
    const double norm = std::sqrt(squares) + 1e-6;
    return clipped && norm > 1 ? static_cast<double>(kMaxNorm) / norm : 1;
  }
  struct State {
    double p, first, second, bound_p, bound_first, bound_second;
  };
  // Every step is the second: its counter stays. The constants are those that a float holds.
  State after(std::int64_t count, double start, double g) const {
    const kernels::AdamwOptions o;
    const auto rounded = [](double value) {
      return static_cast<double>(static_cast<float>(value));
    };
    const double take1 = rounded(1 - o.beta1), keep2 = rounded(o.beta2);
    const double take2 = rounded(1 - o.beta2), rate = static_cast<double>(kLearningRate);
    const double step = rate / (1 - o.beta1 * o.beta1), root = std::sqrt(1 - o.beta2 * o.beta2);
    const double steps = static_cast<double>(count);
    double p = start, first = 0, second = 0, most = 1, moved = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      first += take1 * (g - first);
      second = keep2 * second + take2 * g * g;
      p -= rate * o.weight_decay * p;
      const double by = step * first / (std::sqrt(second) / root + o.epsilon);
      p -= by;
      moved += std::fabs(by);
      most = std::max(most, std::fabs(p));
    }
    // Roundings of p add up; those of a moment are forgotten after 1 / (1 - beta) steps.
    const double unit = std::ldexp(1.0, -23), lost1 = unit * (16 + std::min(steps, 10.0));
    const double lost2 = unit * (16 + std::min(steps, 1000.0));
    return {p,
            first,
            second,
            unit * most * (4 + 2 * steps) + (lost1 + lost2) * moved,
            lost1 * std::fabs(first),
            lost2 * second};
  }
};

}  // namespace weft::problems

// SPDX-License-Identifier: MIT
// Activations and the bias, forward and backward.
#include <cmath>

#include "kernels/activation/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using kernels::Activation;
using kernels::GradientMode;

class ActivationWork final : public ProblemWork<problems::Activation> {
 public:
  using ProblemWork::ProblemWork;

  void call(std::string_view variant, int set) override {
    if (!p.backward) {
      kernels::activation_forward(out_[set], in_[set], p.n, p.kind, variant, context.stream);
      return;
    }
    kernels::activation_backward(out_[set], in_[set], y_[set], p.n, p.kind, GradientMode::overwrite,
                                 variant, context.stream);
  }

 private:
  std::vector<float> activated(const std::vector<float>& x) const {
    std::vector<float> y(x.size());
#pragma omp parallel for schedule(static) if (x.size() > 65536)
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = static_cast<float>(p.forward(static_cast<double>(x[i])));
    }
    return y;
  }
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const auto expect = [&](std::int64_t i) {
      return Exact{p.expected(in_(i), p.backward ? y_(i) : 0), p.bound()};
    };
    compare_each(comparison, out_, set, expect, 1 << 16);
  }

  Array<float>& in_ = p.backward ? input("in", random_values(p.n, seed() + 1))  // dy
                                 : input("in", random_values(p.n, seed(), -4, 4));
  // Backward only, with what it came from, which Weft does without.
  Array<float>& x_ = input("x", random_values(p.backward ? p.n : 0, seed(), -4, 4), 1);
  Array<float>& y_ = input("y", activated(x_.host));
  Array<float>& out_ = output("out", p.n);
};

class BiasWork final : public ProblemWork<problems::Bias> {
 public:
  using ProblemWork::ProblemWork;

  void call(std::string_view variant, int set) override {
    if (!p.backward) {
      kernels::bias_forward(out_[set], in_[set], bias_[set], p.outer, p.channels, p.inner, variant,
                            context.stream);
      return;
    }
    kernels::bias_backward(out_[set], in_[set], p.outer, p.channels, p.inner,
                           GradientMode::overwrite, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    if (!p.backward) {
      const auto expect = [&](std::size_t i) {
        return Exact{in_.host[i] +
                     bias_.host[i / static_cast<std::size_t>(p.inner) % bias_.host.size()]};
      };
      return compare_each(comparison, out_, set, expect, 1 << 16);
    }
    const auto expect = [&](std::int64_t c) {
      double sum = 0, squares = 0;
      for (std::int64_t i = 0; i < p.outer; ++i) {
        for (std::int64_t j = 0; j < p.inner; ++j) {
          const double dy = in_((i * p.channels + c) * p.inner + j);
          sum += dy;
          squares += dy * dy;
        }
      }
      // Partial sums are random walks: their rounding errors add up like their terms.
      const double terms = static_cast<double>(p.outer * p.inner);
      return Exact{sum, std::ldexp(1.0, -23) * (8 + std::sqrt(terms)) * std::sqrt(squares)};
    };
    compare_each(comparison, out_, set, expect, 16);
  }

  Array<float>& in_ = input("in", random_values(p.elements(), seed()));  // x, or dy
  Array<float>& bias_ = input("bias", random_values(p.channels, seed() + 1), 1);
  Array<float>& out_ = output("out", p.backward ? p.channels : p.elements());  // y, or db
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<ActivationWork>({Activation::sigmoid, false, size})(context);
}
std::vector<MakeWork> problems_on(Device device) {
  std::vector<MakeWork> all;
  const std::int64_t n = std::int64_t{1} << (device.is_cpu() ? 20 : 25);
  const std::int64_t outer = device.is_cpu() ? 16 : 128, inner = device.is_cpu() ? 784 : 3136;
  for (const bool backward : {false, true}) {
    for (const Activation kind : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
      all.push_back(made<ActivationWork>({kind, backward, n}));
    }
    all.push_back(made<BiasWork>({outer, 64, inner, backward}));
  }
  return all;
}

}  // namespace

extern const FamilyBench activation_bench = {"activation",          "floats", 1 << 20,
                                             std::int64_t{1} << 31, sized,    problems_on};

}  // namespace weft::measure

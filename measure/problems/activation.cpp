// SPDX-License-Identifier: MIT
#include "measure/problems/activation.h"

#include <cmath>

#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::Activation;
using kernels::GradientMode;

const char* name_of(Activation kind) {
  return kind == Activation::relu ? "ReLU" : kind == Activation::sigmoid ? "sigmoid" : "tanh";
}
const char* name_of(Pass pass) {
  return pass == Pass::forward ? "forward" : "backward";
}

double activated(Activation kind, double x) {
  switch (kind) {
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
    default:
      return std::tanh(x);
  }
}

// dx for one dy, from y.
double gradient(Activation kind, double dy, double y) {
  switch (kind) {
    case Activation::relu:
      return y > 0 ? dy : 0;
    case Activation::sigmoid:
      return dy * y * (1 - y);
    default:
      return dy * (1 - y * y);
  }
}

// Operations of one element as the formulas have them; the exponential counts as one.
double flops_of(Activation kind, Pass pass) {
  if (kind == Activation::relu) return 1;
  return pass == Pass::backward ? 3 : kind == Activation::sigmoid ? 4 : 5;
}

std::vector<float> activated(Activation kind, const std::vector<float>& x) {
  std::vector<float> y(x.size());
#pragma omp parallel for schedule(static) if (x.size() > 65536)
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = static_cast<float>(activated(kind, static_cast<double>(x[i])));
  }
  return y;
}

int sets_of(Pass pass, std::int64_t n, const Context& c) {
  return sets_for((pass == Pass::forward ? 8.0 : 12.0) * static_cast<double>(n), c.stream.device());
}

}  // namespace

ActivationWork::ActivationWork(Activation function, Pass which, std::int64_t n,
                               const Context& made_with)
    : Work(made_with),
      kind(function),
      pass(which),
      host_x_(random_values(n, made_with.seed, -4, 4)),
      host_in_(which == Pass::forward ? host_x_ : random_values(n, made_with.seed + 1)),
      host_y_(which == Pass::forward ? std::vector<float>(1) : activated(function, host_x_)),
      in_(host_in_, sets_of(which, n, made_with), made_with.stream),
      y_(host_y_, sets_of(which, n, made_with), made_with.stream),
      out_(n, sets_of(which, n, made_with), made_with.stream) {
  problem = str(name_of(kind), " ", name_of(pass), ", ", n, " floats");
  bytes = (pass == Pass::forward ? 8.0 : 12.0) * static_cast<double>(n);
  flops = flops_of(kind, pass) * static_cast<double>(n);
  sets = sets_of(which, n, made_with);
}

void ActivationWork::call(std::string_view variant, int set) {
  if (pass == Pass::forward) {
    kernels::activation_forward(out_[set], in_[set], n(), kind, variant, context.stream);
  } else {
    kernels::activation_backward(out_[set], in_[set], y_[set], n(), kind, GradientMode::overwrite,
                                 variant, context.stream);
  }
}

Verdict ActivationWork::check(int set, Arithmetic) {
  const std::vector<float> found = out_.host(set);
  Comparison comparison;
  for (const std::int64_t at : sample_indices(n(), 1 << 16, context.seed)) {
    const std::size_t i = static_cast<std::size_t>(at);
    const double in = static_cast<double>(host_in_[i]);
    const double expected = pass == Pass::forward
                                ? activated(kind, in)
                                : gradient(kind, in, static_cast<double>(host_y_[i]));
    // Sigmoid and tanh are exponentials by approximation, within 16 units in the last place of 1.
    const double bound = kind == Activation::relu ? 0 : std::ldexp(1.0, -20);
    comparison.add(found[i], expected, bound);
  }
  return comparison.verdict();
}

BiasWork::BiasWork(Pass which, std::int64_t n, std::int64_t c, std::int64_t m,
                   const Context& made_with)
    : Work(made_with),
      pass(which),
      outer(n),
      channels(c),
      inner(m),
      host_in_(random_values(n * c * m, made_with.seed)),
      host_bias_(random_values(c, made_with.seed + 1)),
      in_(host_in_, sets_of(Pass::forward, n * c * m, made_with), made_with.stream),
      bias_(host_bias_, 1, made_with.stream),
      out_(which == Pass::forward ? n * c * m : c, sets_of(Pass::forward, n * c * m, made_with),
           made_with.stream) {
  problem = str("bias ", name_of(pass), ", ", n, " x ", c, " x ", m);
  const double elements = static_cast<double>(n * c * m);
  bytes = (pass == Pass::forward ? 8 : 4) * elements + 4 * static_cast<double>(c);
  flops = elements;
  sets = sets_of(Pass::forward, n * c * m, made_with);
}

void BiasWork::call(std::string_view variant, int set) {
  if (pass == Pass::forward) {
    kernels::bias_forward(out_[set], in_[set], bias_[0], outer, channels, inner, variant,
                          context.stream);
  } else {
    kernels::bias_backward(out_[set], in_[set], outer, channels, inner, GradientMode::overwrite,
                           variant, context.stream);
  }
}

Verdict BiasWork::check(int set, Arithmetic) {
  const std::vector<float> found = out_.host(set);
  Comparison comparison;
  if (pass == Pass::forward) {
    for (const std::int64_t at : sample_indices(outer * channels * inner, 1 << 16, context.seed)) {
      const std::size_t i = static_cast<std::size_t>(at);
      comparison.add(found[i],
                     host_in_[i] + host_bias_[static_cast<std::size_t>(at / inner % channels)], 0);
    }
    return comparison.verdict();
  }
  for (const std::int64_t c : sample_indices(channels, 16, context.seed)) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t j = 0; j < inner; ++j) {
        const double dy =
            static_cast<double>(host_in_[static_cast<std::size_t>((i * channels + c) * inner + j)]);
        sum += dy;
        squares += dy * dy;
      }
    }
    // Partial sums are random walks: their rounding errors add up like their terms.
    const double terms = static_cast<double>(outer * inner);
    comparison.add(found[static_cast<std::size_t>(c)], sum,
                   std::ldexp(1.0, -23) * (8 + std::sqrt(terms)) * std::sqrt(squares));
  }
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<ActivationWork>(Activation::sigmoid, Pass::forward, size, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const std::int64_t n = std::int64_t{1} << (device.is_cpu() ? 20 : 25);
  const std::int64_t outer = device.is_cpu() ? 16 : 128, inner = device.is_cpu() ? 784 : 3136;
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    for (const Activation kind : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
      all.push_back(
          [=](const Context& c) { return std::make_unique<ActivationWork>(kind, pass, n, c); });
    }
    all.push_back(
        [=](const Context& c) { return std::make_unique<BiasWork>(pass, outer, 64, inner, c); });
  }
  return all;
}

}  // namespace

extern const FamilyBench activation_bench = {"activation",          "floats", 1 << 20,
                                             std::int64_t{1} << 31, sized,    problems};

}  // namespace weft::measure

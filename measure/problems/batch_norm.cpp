// SPDX-License-Identifier: MIT
// Batch normalisation.
#include <cmath>

#include "kernels/batch_norm/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using kernels::BatchNormDims;
using Pass = problems::BatchNormPass;

class BatchNormWork final : public ProblemWork<problems::BatchNorm> {
 public:
  BatchNormWork(const Problem& of, const Context& made_with) : ProblemWork(of, made_with) {
    if (p.pass == Pass::backward) {
      dgamma_ = &output("dgamma", p.dims.c);
      dbeta_ = &output("dbeta", p.dims.c);
    }
  }

  bool can_run(std::string_view variant) const override {
    if (p.pass == Pass::inference) return kernels::batch_norm_stands_for_inference(variant);
    const kernels::Rung* rung = kernels::batch_norm_rungs().find(variant);
    return device().is_cuda() || (rung != nullptr && rung->on_cpu);
  }
  void call(std::string_view variant, int set) override {
    const Stream& stream = context.stream;
    const kernels::BatchNormOptions options{.variant = variant};
    const kernels::Workspace workspace =
        scratch(kernels::batch_norm_workspace_bytes(p.dims, device()));
    if (p.pass == Pass::forward) {
      kernels::batch_norm_forward(out_[set], mean_[set], inv_std_[set], running_mean_[set],
                                  running_var_[set], x_[set], gamma_[set], beta_[set], p.kEps,
                                  p.kMomentum, p.dims, options, workspace, stream);
    } else if (p.pass == Pass::inference) {
      kernels::batch_norm_inference(out_[set], x_[set], mean_[set], inv_std_[set], gamma_[set],
                                    beta_[set], p.kEps, p.dims, stream);
    } else {
      constexpr auto kOverwrite = kernels::GradientMode::overwrite;
      kernels::batch_norm_backward(out_[set], (*dgamma_)[set], (*dbeta_)[set], dy_[set], x_[set],
                                   gamma_[set], mean_[set], inv_std_[set], p.dims, kOverwrite,
                                   kOverwrite, options, workspace, stream);
    }
  }

 private:
  // One channel by itself, in double.
  std::vector<double> channel_of(const Array<float>& values, std::int64_t channel) const {
    std::vector<double> out;
    for (std::int64_t i = 0; i < p.dims.n; ++i) {
      const std::int64_t row = (i * p.dims.c + channel) * p.dims.inner;
      for (std::int64_t j = 0; j < p.dims.inner; ++j) out.push_back(values(row + j));
    }
    return out;
  }
  // The mean of each channel; else 1 / sqrt(var + eps), or for inference the variance itself.
  std::vector<float> statistics(bool means) const {
    std::vector<float> out(static_cast<std::size_t>(p.dims.c));
#pragma omp parallel for schedule(static)
    for (std::int64_t c = 0; c < p.dims.c; ++c) {
      double sum = 0, squares = 0;
      for (const double x : channel_of(x_, c)) sum += x, squares += x * x;
      const double count = static_cast<double>(p.dims.n * p.dims.inner);
      const double mean = sum / count, variance = squares / count - mean * mean;
      const double spread = p.pass == Pass::backward
                                ? 1 / std::sqrt(variance + static_cast<double>(p.kEps))
                                : variance;
      out[static_cast<std::size_t>(c)] = static_cast<float>(means ? mean : spread);
    }
    return out;
  }
  // Forward writes them, backward reads them; inference reads the running mean and variance.
  Array<float>& statistics_of(std::string_view name, bool means) {
    return p.pass == Pass::forward ? output(name, p.dims.c) : input(name, statistics(means));
  }

  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> found = out_.found(set);
    const BatchNormDims one = {p.dims.n, 1, p.dims.inner};
    const double eps = static_cast<double>(p.kEps), momentum = static_cast<double>(p.kMomentum);
    const double count = static_cast<double>(p.dims.n * p.dims.inner);
    // Roundings of a sum in pieces of a few hundred values, then of the formula of one element.
    const double close = std::ldexp(1.0, -23) * 64;
    for (const std::int64_t c : sample_indices(p.dims.c, 8, seed())) {
      const auto add = [&](const Array<float>& of, double value, double bound) {
        comparison.add(of.found(set)[static_cast<std::size_t>(c)], value, bound);
      };
      const std::vector<double> x = channel_of(x_, c);
      std::vector<double> expected(x.size());
      const double gamma = gamma_(c), beta = beta_(c);
      if (p.pass == Pass::forward) {
        double m = 0, s = 0, running[2] = {0, 0};
        kernels::cpu::batch_norm_forward<double>(expected.data(), &m, &s, &running[0], &running[1],
                                                 x.data(), &gamma, &beta, eps, momentum, one);
        add(mean_, m, close);
        add(inv_std_, s, close * s);
      } else if (p.pass == Pass::inference) {
        const double m = mean_(c), s = inv_std_(c);
        kernels::cpu::batch_norm_inference<double>(expected.data(), x.data(), &m, &s, &gamma, &beta,
                                                   eps, one);
      } else {
        const std::vector<double> dy = channel_of(dy_, c);
        const double m = mean_(c), s = inv_std_(c);
        double scale = 0, shift = 0;
        constexpr auto kOverwrite = kernels::GradientMode::overwrite;
        kernels::cpu::batch_norm_backward<double>(expected.data(), &scale, &shift, dy.data(),
                                                  x.data(), &gamma, &m, &s, one, kOverwrite,
                                                  kOverwrite);
        // A random walk of `count` terms, each at most 2 in size.
        const double bound = std::ldexp(1.0, -23) * (8 + std::sqrt(count)) * 2 * std::sqrt(count);
        add(*dgamma_, scale, bound);
        add(*dbeta_, shift, bound);
      }
      std::size_t k = 0;
      for (std::int64_t i = 0; i < p.dims.n; ++i) {
        for (std::int64_t j = 0; j < p.dims.inner; ++j, ++k) {
          comparison.add(found[static_cast<std::size_t>((i * p.dims.c + c) * p.dims.inner + j)],
                         expected[k], close * (1 + std::fabs(expected[k])));
        }
      }
    }
  }

  Array<float>& x_ = input("x", random_values(p.elements(), seed()));  // (n, c, inner)
  Array<float>& dy_ =
      input("dy", random_values(p.pass == Pass::backward ? p.elements() : 1, seed() + 1));
  Array<float>& gamma_ = input("gamma", random_values(p.dims.c, seed() + 2, 0.5f, 1.5f), 1);
  Array<float>& beta_ = input("beta", random_values(p.dims.c, seed() + 3), 1);
  Array<float>& mean_ = statistics_of("mean", true);
  Array<float>& inv_std_ = statistics_of("inv_std", false);
  Array<float>& running_mean_ =
      input("running_mean", std::vector<float>(static_cast<std::size_t>(p.dims.c)), 1);
  Array<float>& running_var_ =
      input("running_var", std::vector<float>(static_cast<std::size_t>(p.dims.c)), 1);
  Array<float>& out_ = output("out", p.elements());   // y, or dx
  Array<float>*dgamma_ = nullptr, *dbeta_ = nullptr;  // backward
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<BatchNormWork>({{size, 32, 784}})(context);
}

std::vector<MakeWork> problems_on(Device device) {
  const BatchNormDims dims =
      device.is_cpu() ? BatchNormDims{16, 32, 784} : BatchNormDims{128, 64, 3136};
  std::vector<problems::BatchNorm> all = {
      {dims, Pass::forward}, {dims, Pass::inference}, {dims, Pass::backward}};
  if (device.is_cuda()) {
    // What convnet-bn has most of.
    all.push_back({{512, 64, 196}, Pass::forward});
    all.push_back({{512, 64, 196}, Pass::backward});
    // More channels than multiprocessors, as in the deep layers of ResNet.
    all.push_back({{128, 512, 196}, Pass::forward});
  }
  return made_of<BatchNormWork>(all);
}

}  // namespace

extern const FamilyBench batch_norm_bench = {
    "batch_norm", "images of 32 x 28 x 28", 16, 65536, sized, problems_on};

}  // namespace weft::measure

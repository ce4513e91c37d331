// SPDX-License-Identifier: MIT
#include "measure/problems/batch_norm.h"

#include <cmath>

#include "kernels/batch_norm/cpu/templates.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::BatchNormDims;
using Pass = BatchNormWork::Pass;

std::int64_t elements(const BatchNormDims& d) {
  return d.n * d.c * d.inner;
}
double footprint(const BatchNormDims& d, Pass pass) {
  return (pass == Pass::backward ? 12.0 : 8.0) * static_cast<double>(elements(d));
}
int sets_of(const BatchNormDims& d, Pass pass, const Context& c) {
  return sets_for(footprint(d, pass), c.stream.device());
}

// Mean of each channel, and 1 / sqrt(var + eps) or the variance itself.
std::vector<float> statistics(const std::vector<float>& x, const BatchNormDims& d, bool means,
                              bool inverse) {
  std::vector<float> out(static_cast<std::size_t>(d.c));
#pragma omp parallel for schedule(static)
  for (std::int64_t c = 0; c < d.c; ++c) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < d.n; ++i) {
      const float* row = x.data() + (i * d.c + c) * d.inner;
      for (std::int64_t j = 0; j < d.inner; ++j) {
        sum += static_cast<double>(row[j]);
        squares += static_cast<double>(row[j]) * static_cast<double>(row[j]);
      }
    }
    const double count = static_cast<double>(d.n * d.inner);
    const double mean = sum / count, variance = squares / count - mean * mean;
    const double eps = static_cast<double>(BatchNormWork::kEps);
    out[static_cast<std::size_t>(c)] = static_cast<float>(means     ? mean
                                                          : inverse ? 1 / std::sqrt(variance + eps)
                                                                    : variance);
  }
  return out;
}

const char* name_of(Pass pass) {
  return pass == Pass::forward ? "training" : pass == Pass::inference ? "inference" : "backward";
}

}  // namespace

BatchNormWork::BatchNormWork(const BatchNormDims& d, Pass which, const Context& made_with)
    : Work(made_with),
      dims(d),
      pass(which),
      host_x_(random_values(elements(d), made_with.seed)),
      host_dy_(random_values(which == Pass::backward ? elements(d) : 1, made_with.seed + 1)),
      host_gamma_(random_values(d.c, made_with.seed + 2, 0.5f, 1.5f)),
      host_beta_(random_values(d.c, made_with.seed + 3)),
      host_mean_(statistics(host_x_, d, true, false)),
      host_inv_std_(statistics(host_x_, d, false, which == Pass::backward)),
      x_(host_x_, sets_of(d, which, made_with), made_with.stream),
      dy_(host_dy_, sets_of(d, which, made_with), made_with.stream),
      gamma_(host_gamma_, 1, made_with.stream),
      beta_(host_beta_, 1, made_with.stream),
      mean_(host_mean_, sets_of(d, which, made_with), made_with.stream),
      inv_std_(host_inv_std_, sets_of(d, which, made_with), made_with.stream),
      running_(std::vector<float>(static_cast<std::size_t>(d.c)), 2, made_with.stream),
      dgamma_(d.c, sets_of(d, which, made_with), made_with.stream),
      dbeta_(d.c, sets_of(d, which, made_with), made_with.stream),
      out_(elements(d), sets_of(d, which, made_with), made_with.stream) {
  problem = str(name_of(pass), ", ", d.n, " x ", d.c, " x ", d.inner);
  // At best x is read once: the second walk over a channel comes from the cache.
  bytes = footprint(d, pass);
  // Forward: sum; difference, square, sum; difference, scale, shift. Backward: xhat, two sums, dx.
  const double operations = pass == Pass::forward ? 7 : pass == Pass::inference ? 3 : 9;
  flops = operations * static_cast<double>(elements(d));
  sets = sets_of(d, which, made_with);
  const std::size_t needed = kernels::batch_norm_workspace_bytes(d, made_with.stream.device());
  scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, made_with.stream);
}

bool BatchNormWork::can_run(std::string_view variant) const {
  if (pass == Pass::inference) return kernels::batch_norm_stands_for_inference(variant);
  const kernels::Rung* rung = kernels::batch_norm_rungs().find(variant);
  return context.stream.device().is_cuda() || (rung != nullptr && rung->on_cpu);
}

void BatchNormWork::call(std::string_view variant, int set) {
  const Stream& stream = context.stream;
  const kernels::BatchNormOptions options{.variant = variant};
  const kernels::Workspace workspace{scratch_.raw(), scratch_.bytes()};
  if (pass == Pass::forward) {
    kernels::batch_norm_forward(out_[set], mean_[set], inv_std_[set], running_[0], running_[1],
                                x_[set], gamma_[0], beta_[0], kEps, kMomentum, dims, options,
                                workspace, stream);
  } else if (pass == Pass::inference) {
    kernels::batch_norm_inference(out_[set], x_[set], mean_[set], inv_std_[set], gamma_[0],
                                  beta_[0], kEps, dims, stream);
  } else {
    constexpr auto kOverwrite = kernels::GradientMode::overwrite;
    kernels::batch_norm_backward(out_[set], dgamma_[set], dbeta_[set], dy_[set], x_[set], gamma_[0],
                                 mean_[set], inv_std_[set], dims, kOverwrite, kOverwrite, options,
                                 workspace, stream);
  }
}

void BatchNormWork::reset() {
  out_.clear();
  if (pass == Pass::forward) mean_.clear(), inv_std_.clear();
  if (pass == Pass::backward) dgamma_.clear(), dbeta_.clear();
}

std::vector<Bytes> BatchNormWork::written(int set) {
  if (pass == Pass::forward) return {out_.bytes(set), mean_.bytes(set), inv_std_.bytes(set)};
  if (pass == Pass::backward) return {out_.bytes(set), dgamma_.bytes(set), dbeta_.bytes(set)};
  return {out_.bytes(set)};
}

std::vector<double> BatchNormWork::channel_of(const std::vector<float>& values,
                                              std::int64_t channel) const {
  std::vector<double> out;
  for (std::int64_t i = 0; i < dims.n; ++i) {
    const float* row = values.data() + (i * dims.c + channel) * dims.inner;
    for (std::int64_t j = 0; j < dims.inner; ++j) out.push_back(static_cast<double>(row[j]));
  }
  return out;
}

Verdict BatchNormWork::check(int set, Arithmetic) {
  const std::vector<float> found = out_.host(set);
  const std::vector<float> mean = mean_.host(set), inv_std = inv_std_.host(set);
  const std::vector<float> dgamma = dgamma_.host(set), dbeta = dbeta_.host(set);
  const BatchNormDims one = {dims.n, 1, dims.inner};
  const double count = static_cast<double>(dims.n * dims.inner);
  // Roundings of a sum in pieces of a few hundred values, then of the formula of one element.
  const double close = std::ldexp(1.0, -23) * 64;
  Comparison comparison;
  for (const std::int64_t c : sample_indices(dims.c, 8, context.seed)) {
    const std::size_t at = static_cast<std::size_t>(c);
    const std::vector<double> x = channel_of(host_x_, c);
    std::vector<double> expected(x.size());
    const double gamma = static_cast<double>(host_gamma_[at]);
    const double beta = static_cast<double>(host_beta_[at]);
    double m = static_cast<double>(host_mean_[at]), s = static_cast<double>(host_inv_std_[at]);
    if (pass == Pass::forward) {
      double running[2] = {0, 0};
      kernels::cpu::batch_norm_forward<double>(expected.data(), &m, &s, &running[0], &running[1],
                                               x.data(), &gamma, &beta, static_cast<double>(kEps),
                                               static_cast<double>(kMomentum), one);
      comparison.add(mean[at], m, close);
      comparison.add(inv_std[at], s, close * s);
    } else if (pass == Pass::inference) {
      kernels::cpu::batch_norm_inference<double>(expected.data(), x.data(), &m, &s, &gamma, &beta,
                                                 static_cast<double>(kEps), one);
    } else {
      const std::vector<double> dy = channel_of(host_dy_, c);
      double scale = 0, shift = 0;
      constexpr auto kOverwrite = kernels::GradientMode::overwrite;
      kernels::cpu::batch_norm_backward<double>(expected.data(), &scale, &shift, dy.data(),
                                                x.data(), &gamma, &m, &s, one, kOverwrite,
                                                kOverwrite);
      // A random walk of `count` terms, each at most 2 in size.
      const double bound = std::ldexp(1.0, -23) * (8 + std::sqrt(count)) * 2 * std::sqrt(count);
      comparison.add(dgamma[at], scale, bound);
      comparison.add(dbeta[at], shift, bound);
    }
    std::size_t k = 0;
    for (std::int64_t i = 0; i < dims.n; ++i) {
      for (std::int64_t j = 0; j < dims.inner; ++j, ++k) {
        comparison.add(found[static_cast<std::size_t>((i * dims.c + c) * dims.inner + j)],
                       expected[k], close * (1 + std::fabs(expected[k])));
      }
    }
  }
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<BatchNormWork>(BatchNormDims{size, 32, 784}, Pass::forward, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const BatchNormDims dims =
      device.is_cpu() ? BatchNormDims{16, 32, 784} : BatchNormDims{128, 64, 3136};
  for (const Pass pass : {Pass::forward, Pass::inference, Pass::backward}) {
    all.push_back([=](const Context& c) { return std::make_unique<BatchNormWork>(dims, pass, c); });
  }
  if (device.is_cpu()) return all;
  // What convnet-bn has most of.
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    all.push_back([=](const Context& c) {
      return std::make_unique<BatchNormWork>(BatchNormDims{512, 64, 196}, pass, c);
    });
  }
  // More channels than multiprocessors, as in the deep layers of ResNet.
  all.push_back([](const Context& c) {
    return std::make_unique<BatchNormWork>(BatchNormDims{128, 512, 196}, Pass::forward, c);
  });
  return all;
}

}  // namespace

extern const FamilyBench batch_norm_bench = {
    "batch_norm", "images of 32 x 28 x 28", 16, 65536, sized, problems};

}  // namespace weft::measure

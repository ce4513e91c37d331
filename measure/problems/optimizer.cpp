// SPDX-License-Identifier: MIT
// The problems of the optimizer, and the SGD update of a flat parameter buffer. It works in place,
// so what the timed calls leave behind depends on how many there were: the oracle makes as many
// steps, for a sample of elements.
#include <algorithm>
#include <cmath>

#include "kernels/optimizer/optimizer.h"
#include "measure/families.h"
#include "measure/problems/adamw.h"

namespace weft::measure {
namespace {

// So small that also after thousands of steps the parameters still move.
constexpr float kRate = 1e-4f;

class SgdWork final : public Work {
 public:
  SgdWork(std::int64_t n, const kernels::SgdOptions& options, const Context& made_with)
      : Work(made_with),
        options_(options),
        host_p_(random_values(n, made_with.seed)),
        host_g_(random_values(n, made_with.seed + 1)),
        p_(host_p_, sets_of(n, options, made_with), made_with.stream),
        v_(options.momentum > 0 ? n : 1, sets_of(n, options, made_with), made_with.stream),
        g_(host_g_, sets_of(n, options, made_with), made_with.stream),
        lr_(std::vector<float>{0, kRate}, 1, made_with.stream),
        step_(std::vector<std::int64_t>{1}, 1, made_with.stream) {
    problem = str(n, " parameters, ",
                  options.nesterov       ? "Nesterov"
                  : options.momentum > 0 ? "momentum"
                                         : "no momentum");
    bytes = footprint(n, options);
    // Weight decay, velocity, look-ahead and step: a multiply and an add each.
    flops = (options.nesterov ? 8.0 : options.momentum > 0 ? 6.0 : 4.0) * static_cast<double>(n);
    sets = sets_of(n, options, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::optimizer_takes(variant, kernels::UpdateRule::sgd, context.stream.device());
  }
  void call(std::string_view, int set) override {
    kernels::sgd_update(p_[set], options_.momentum > 0 ? v_[set] : nullptr, g_[set], p_.size(),
                        lr_[0], step_[0], options_, context.stream);
  }
  void reset() override {
    for (int set = 0; set < sets; ++set) {
      const Device device = context.stream.device();
      copy_bytes(p_[set], device, host_p_.data(), Device::cpu(), p_.bytes(set).count,
                 context.stream);
      zero_bytes(v_[set], v_.bytes(set).count, context.stream);
    }
    context.stream.synchronize();
  }

  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found_p = p_.host(set), found_v = v_.host(set);
    const double rate = static_cast<double>(kRate), mu = static_cast<double>(options_.momentum);
    const double decay = static_cast<double>(options_.weight_decay);
    Comparison comparison;
    for (const std::int64_t at : sample_indices(p_.size(), 2048, context.seed)) {
      const std::size_t i = static_cast<std::size_t>(at);
      double p = static_cast<double>(host_p_[i]), v = 0, most = 1;
      for (std::int64_t k = 0; k < runs; ++k) {
        const double g = static_cast<double>(host_g_[i]) + decay * p;
        v = mu * v + g;
        p -= rate * (options_.nesterov ? g + mu * v : v);
        most = std::max(most, std::fabs(p));
      }
      // A rounding of p in each step; those of v are forgotten after 1 / (1 - mu) steps.
      const double unit = std::ldexp(1.0, -23) * most;
      comparison.add(found_p[i], p, unit * (4 + static_cast<double>(runs)));
      if (mu > 0) comparison.add(found_v[i], v, 64 * unit * (1 + std::fabs(v)));
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override {
    if (options_.momentum > 0) return {p_.bytes(set), v_.bytes(set)};
    return {p_.bytes(set)};
  }

 private:
  static double footprint(std::int64_t n, const kernels::SgdOptions& options) {
    return (options.momentum > 0 ? 20.0 : 12.0) * static_cast<double>(n);
  }
  static int sets_of(std::int64_t n, const kernels::SgdOptions& options, const Context& c) {
    return sets_for(footprint(n, options), c.stream.device());
  }

  kernels::SgdOptions options_;
  std::vector<float> host_p_, host_g_;
  Rotated<float> p_, v_, g_, lr_;
  Rotated<std::int64_t> step_;
};

constexpr kernels::SgdOptions kPlain = {}, kMomentum = {0.9f, 5e-4f, false},
                              kNesterov = {0.9f, 5e-4f, true};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return adamw_work(size, true, context);  // all rungs compute it
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto problem = [](std::int64_t n, const kernels::SgdOptions& options) {
    return [=](const Context& c) { return std::make_unique<SgdWork>(n, options, c); };
  };
  const auto adamw = [](std::int64_t n, bool clipped) {
    return [=](const Context& c) { return adamw_work(n, clipped, c); };
  };
  constexpr std::int64_t kLenet = 61706, kConvnet = 1199882;
  if (device.is_cpu()) {
    return {problem(kLenet, kNesterov), problem(kConvnet, kNesterov), adamw(kLenet, false),
            adamw(kConvnet, false), adamw(kConvnet, true)};
  }
  constexpr std::int64_t kLarge = std::int64_t{1} << 25;
  return {problem(kLenet, kNesterov), problem(kConvnet, kNesterov), problem(kLarge, kPlain),
          problem(kLarge, kMomentum), problem(kLarge, kNesterov),   adamw(kLenet, false),
          adamw(kConvnet, false),     adamw(kConvnet, true),        adamw(kLarge, false),
          adamw(kLarge, true)};
}

}  // namespace

extern const FamilyBench optimizer_bench = {"optimizer",           "parameters", 1 << 20,
                                            std::int64_t{1} << 30, sized,        problems};

}  // namespace weft::measure

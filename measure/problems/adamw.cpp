// SPDX-License-Identifier: MIT
// AdamW over a flat parameter buffer. It works in place, so what the timed calls leave behind
// depends on how many there were: the oracle makes as many steps, for a sample of elements.
#include "measure/problems/adamw.h"

#include <algorithm>
#include <cmath>

#include "kernels/optimizer/optimizer.h"
#include "kernels/reduce/reduce.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

constexpr float kRate = 1e-4f, kMaxNorm = 1;

class AdamwWork final : public Work {
 public:
  AdamwWork(std::int64_t n, bool clipped, const Context& made_with)
      : Work(made_with),
        clipped_(clipped),
        host_p_(random_values(n, made_with.seed)),
        host_g_(random_values(n, made_with.seed + 1)),
        p_(host_p_, sets_of(n, made_with), made_with.stream),
        first_(n, sets_of(n, made_with), made_with.stream),
        second_(n, sets_of(n, made_with), made_with.stream),
        g_(host_g_, sets_of(n, made_with), made_with.stream),
        lr_(std::vector<float>{0, kRate}, 1, made_with.stream),
        squares_(1, 1, made_with.stream),
        step_(std::vector<std::int64_t>{1}, 1, made_with.stream),
        scratch_(kernels::reduce_workspace_bytes(n, made_with.stream.device()), made_with.stream) {
    problem = str(n, " parameters, AdamW", clipped ? ", clipped" : "");
    bytes = (clipped ? 32.0 : 28.0) * static_cast<double>(n);
    // 2 and 4 of the moments, 2 of the decay, 6 of the step with its root and its quotient; of
    // clipping a product, and a square with its addition.
    flops = (clipped ? 17.0 : 14.0) * static_cast<double>(n);
    sets = sets_of(n, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::optimizer_takes(variant, kernels::UpdateRule::adamw, context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::GradientClip clip;
    if (clipped_) {
      kernels::reduce(squares_[0], g_[set], p_.size(), kernels::Reduction::sum_of_squares,
                      {scratch_.data(), scratch_.bytes()}, context.stream);
      clip = {squares_[0], kMaxNorm};
    }
    kernels::adamw_update(p_[set], first_[set], second_[set], g_[set], p_.size(), lr_[0], step_[0],
                          {}, clip, variant, context.stream);
  }
  void reset() override {
    const Device device = context.stream.device();
    for (int set = 0; set < sets; ++set) {
      copy_bytes(p_[set], device, host_p_.data(), Device::cpu(), p_.bytes(set).count,
                 context.stream);
      zero_bytes(first_[set], first_.bytes(set).count, context.stream);
      zero_bytes(second_[set], second_.bytes(set).count, context.stream);
    }
    context.stream.synchronize();
  }
  Verdict check(int set, Arithmetic) override;
  std::vector<Bytes> written(int set) override {
    return {p_.bytes(set), first_.bytes(set), second_.bytes(set)};
  }

 private:
  static int sets_of(std::int64_t n, const Context& c) {
    return sets_for(28.0 * static_cast<double>(n), c.stream.device());
  }

  bool clipped_;
  std::vector<float> host_p_, host_g_;
  Rotated<float> p_, first_, second_, g_, lr_, squares_;
  Rotated<std::int64_t> step_;
  Buffer scratch_;
};

// Every call is step 2: the counter stays. The constants are those that a float holds.
Verdict AdamwWork::check(int set, Arithmetic) {
  const kernels::AdamwOptions o;
  const auto rounded = [](double value) { return static_cast<double>(static_cast<float>(value)); };
  const double take1 = rounded(1 - o.beta1), keep2 = rounded(o.beta2), take2 = rounded(1 - o.beta2);
  const double rate = static_cast<double>(kRate), step = rate / (1 - o.beta1 * o.beta1);
  const double root = std::sqrt(1 - o.beta2 * o.beta2), steps = static_cast<double>(runs);
  double squares = 0;
  for (const float g : host_g_) squares += static_cast<double>(g) * static_cast<double>(g);
  const double norm = std::sqrt(squares) + 1e-6;
  const double scale = clipped_ && norm > 1 ? static_cast<double>(kMaxNorm) / norm : 1;
  const std::vector<float> found_p = p_.host(set), found_first = first_.host(set);
  const std::vector<float> found_second = second_.host(set);
  Comparison comparison;
  for (const std::int64_t at : sample_indices(p_.size(), 2048, context.seed)) {
    const std::size_t i = static_cast<std::size_t>(at);
    const double g = scale * static_cast<double>(host_g_[i]);
    double p = static_cast<double>(host_p_[i]), first = 0, second = 0, most = 1, moved = 0;
    for (std::int64_t k = 0; k < runs; ++k) {
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
    comparison.add(found_first[i], first, lost1 * std::fabs(first));
    comparison.add(found_second[i], second, lost2 * second);
    comparison.add(found_p[i], p, unit * most * (4 + 2 * steps) + (lost1 + lost2) * moved);
  }
  return comparison.verdict();
}

}  // namespace

std::unique_ptr<Work> adamw_work(std::int64_t n, bool clipped, const Context& context) {
  return std::make_unique<AdamwWork>(n, clipped, context);
}

}  // namespace weft::measure

// SPDX-License-Identifier: MIT
// The updates of a flat parameter buffer. They work in place, so what the timed calls leave behind
// depends on how many there were: the oracle makes as many steps, for a sample of elements.
#include "kernels/optimizer/problem.h"
#include "kernels/reduce/reduce.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

constexpr std::int64_t kSamples = 2048;

std::vector<float> zeros(std::int64_t n) {
  return std::vector<float>(static_cast<std::size_t>(n));
}
std::vector<float> learning_rates() {
  return {0, problems::kLearningRate};
}

class SgdWork final : public ProblemWork<problems::Sgd> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::optimizer_takes(variant, kernels::UpdateRule::sgd, device());
  }
  void call(std::string_view, int set) override {
    kernels::sgd_update(p_[set], v_ != nullptr ? (*v_)[set] : nullptr, g_[set], p.n, lr_[set],
                        step_[set], p.options, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> found_p = p_.found(set);
    const std::vector<float> found_v = v_ != nullptr ? v_->found(set) : std::vector<float>();
    for (const std::int64_t at : sample_indices(p.n, kSamples, seed())) {
      const std::size_t i = static_cast<std::size_t>(at);
      const auto state = p.after(runs, p_(at), g_(at));
      comparison.add(found_p[i], state.p, state.bound_p);
      if (v_ != nullptr) comparison.add(found_v[i], state.v, state.bound_v);
    }
  }

  Array<float>& p_ = updated("p", random_values(p.n, seed()));
  Array<float>* v_ = p.options.momentum > 0 ? &updated("v", zeros(p.n)) : nullptr;
  Array<float>& g_ = input("g", random_values(p.n, seed() + 1));
  Array<float>& lr_ = input("lr", learning_rates(), 1);
  Array<std::int64_t>& step_ = input("step", std::vector<std::int64_t>{1}, 1);
};

class AdamwWork final : public ProblemWork<problems::Adamw> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::optimizer_takes(variant, kernels::UpdateRule::adamw, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::GradientClip clip;
    if (p.clipped) {
      kernels::reduce(squares_[set], g_[set], p.n, kernels::Reduction::sum_of_squares,
                      scratch(kernels::reduce_workspace_bytes(p.n, device())), context.stream);
      clip = {squares_[set], p.kMaxNorm};
    }
    kernels::adamw_update(p_[set], first_[set], second_[set], g_[set], p.n, lr_[set], step_[set],
                          {}, clip, variant, context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    double squares = 0;
    for (const float g : g_.host) squares += static_cast<double>(g) * static_cast<double>(g);
    const double scale = p.scale(squares);
    const std::vector<float> found_p = p_.found(set), found_first = first_.found(set);
    const std::vector<float> found_second = second_.found(set);
    for (const std::int64_t at : sample_indices(p.n, kSamples, seed())) {
      const std::size_t i = static_cast<std::size_t>(at);
      const auto state = p.after(runs, p_(at), scale * g_(at));
      comparison.add(found_first[i], state.first, state.bound_first);
      comparison.add(found_second[i], state.second, state.bound_second);
      comparison.add(found_p[i], state.p, state.bound_p);
    }
  }

  Array<float>& p_ = updated("p", random_values(p.n, seed()));
  Array<float>& first_ = updated("first", zeros(p.n));
  Array<float>& second_ = updated("second", zeros(p.n));
  Array<float>& g_ = input("g", random_values(p.n, seed() + 1));
  Array<float>& lr_ = input("lr", learning_rates(), 1);
  Array<float>& squares_ = input("squares", zeros(1), 1);
  Array<std::int64_t>& step_ = input("step", std::vector<std::int64_t>{1}, 1);
};

constexpr kernels::SgdOptions kPlain = {}, kMomentum = {0.9f, 5e-4f, false},
                              kNesterov = {0.9f, 5e-4f, true};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<AdamwWork>({size, true})(context);  // all rungs compute it
}

std::vector<MakeWork> problems_on(Device device) {
  const auto sgd = made<SgdWork>;
  const auto adamw = made<AdamwWork>;
  constexpr std::int64_t kLenet = 61706, kConvnet = 1199882;
  if (device.is_cpu()) {
    return {sgd({kLenet, kNesterov}), sgd({kConvnet, kNesterov}), adamw({kLenet}),
            adamw({kConvnet}), adamw({kConvnet, true})};
  }
  constexpr std::int64_t kLarge = std::int64_t{1} << 25;
  return {sgd({kLenet, kNesterov}), sgd({kConvnet, kNesterov}), sgd({kLarge, kPlain}),
          sgd({kLarge, kMomentum}), sgd({kLarge, kNesterov}),   adamw({kLenet}),
          adamw({kConvnet}),        adamw({kConvnet, true}),    adamw({kLarge}),
          adamw({kLarge, true})};
}

}  // namespace

extern const FamilyBench optimizer_bench = {"optimizer",           "parameters", 1 << 20,
                                            std::int64_t{1} << 30, sized,        problems_on};

}  // namespace weft::measure

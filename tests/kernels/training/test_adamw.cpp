// SPDX-License-Identifier: MIT
// AdamW and clipping by the global norm, step by step against their rules in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/optimizer/optimizer.h"
#include "kernels/reduce/reduce.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::AdamwOptions;
using kernels::GradientClip;
using kernels::UpdateRule;

// PyTorch's torch.optim.AdamW and clip_grad_norm_, with powers where the product has none.
struct AdamwReference {
  std::vector<double> p, first, second;

  void step(const std::vector<float>& gradients, double lr, std::int64_t t, double max_norm,
            const AdamwOptions& o) {
    double squares = 0;
    for (const float g : gradients) squares += static_cast<double>(g) * static_cast<double>(g);
    const double scale = max_norm > 0 ? std::min(1.0, max_norm / (std::sqrt(squares) + 1e-6)) : 1;
    const double correction1 = 1 - std::pow(o.beta1, t), correction2 = 1 - std::pow(o.beta2, t);
    for (std::size_t i = 0; i < p.size(); ++i) {
      const double g = scale * static_cast<double>(gradients[i]);
      p[i] *= 1 - lr * o.weight_decay;
      first[i] = o.beta1 * first[i] + (1 - o.beta1) * g;
      second[i] = o.beta2 * second[i] + (1 - o.beta2) * g * g;
      const double root = std::sqrt(second[i]) / std::sqrt(correction2) + o.epsilon;
      p[i] -= lr / correction1 * first[i] / root;
    }
  }
};

// The buffers of a model on the device, between guard bands.
class AdamwProblem {
 public:
  AdamwProblem(const std::vector<float>& start, std::vector<float> rates, const Stream& stream)
      : n(static_cast<std::int64_t>(start.size())),
        stream_(stream),
        p(start, stream, n % 3),
        first(std::vector<float>(start.size()), stream),
        second(std::vector<float>(start.size()), stream, n % 2),
        gradients(n, stream, n % 4),
        lr(rates, stream),
        step(std::vector<std::int64_t>{0}, stream),
        squares_(1, stream),
        scratch_(kernels::reduce_workspace_bytes(n, stream.device()), stream) {}

  GradientClip clip(float max_norm) {
    if (max_norm == 0) return {};
    kernels::reduce(squares_.data(), gradients.data(), n, kernels::Reduction::sum_of_squares,
                    {scratch_.data(), scratch_.bytes()}, stream_);
    return {squares_.data(), max_norm};
  }
  void update(const AdamwOptions& options, float max_norm, std::string_view variant) {
    kernels::adamw_update(p.data(), first.data(), second.data(), gradients.data(), n, lr.data(),
                          step.data(), options, clip(max_norm), variant, stream_);
  }

  std::int64_t n;

 private:
  Stream stream_;

 public:
  Guarded<float> p, first, second, gradients, lr;
  Guarded<std::int64_t> step;

 private:
  Guarded<float> squares_;
  Buffer scratch_;
};

class AdamwTest : public DeviceTest {
 protected:
  std::vector<std::string_view> rungs() const {
    std::vector<std::string_view> names;
    for (const kernels::Rung& rung : kernels::optimizer_rungs()) {
      if (kernels::optimizer_takes(rung.name, UpdateRule::adamw, device())) {
        names.push_back(rung.name);
      }
    }
    return names;
  }
};

struct AdamwCase {
  AdamwOptions options;
  float max_norm;  // 0: not clipped
};

constexpr AdamwCase kAdamwCases[] = {
    {{}, 0},
    {{.weight_decay = 0}, 0.25f},
    {{.beta1 = 0, .beta2 = 0.5, .epsilon = 0.1, .weight_decay = 0.5}, 1e6f},
    {{.beta1 = 0.95, .beta2 = 0, .epsilon = 1e-3}, 0.25f},
};

TEST_P(AdamwTest, FollowsTheReferenceStepByStep) {
  const std::vector<float> rates = {0.01f, 0.005f, 0.1f, 0.02f};
  ASSERT_FALSE(rungs().empty());
  for (const std::string_view rung : rungs()) {
    for (const AdamwCase& c : kAdamwCases) {
      for (const std::int64_t n : linear_sizes()) {
        const std::vector<float> start = random_floats(n, 1);
        const std::vector<double> zeros(start.size());
        AdamwReference expected{to_double(start), zeros, zeros};
        AdamwProblem problem(start, rates, stream());
        for (std::size_t k = 0; k < rates.size(); ++k) {
          const std::vector<float> gradient = random_floats(n, 10 + k);
          problem.gradients.set(gradient);
          problem.update(c.options, c.max_norm, rung);
          kernels::advance_step(problem.step.data(), stream());
          expected.step(gradient, static_cast<double>(rates[k]), static_cast<std::int64_t>(k) + 1,
                        static_cast<double>(c.max_norm), c.options);
          const std::string where =
              str(rung, ", n ", n, ", clipped to ", c.max_norm, ", step ", k + 1);
          // A few roundings of parameters and gradients near 1. A step is long where the last
          // gradients are near 0, and then its own roundings count.
          ASSERT_TRUE(compare(problem.p.get(), expected.p, {3e-6, 4e-6, false}, where));
          ASSERT_TRUE(compare(problem.first.get(), expected.first, {5e-7, 2e-6, false},
                              "first moment, " + where));
          ASSERT_TRUE(compare(problem.second.get(), expected.second, {1e-20, 4e-6, false},
                              "second moment, " + where));
        }
      }
    }
  }
}

// The corrections of the bias end, and the first step is that of the sign of the gradient.
TEST_P(AdamwTest, CorrectsTheBiasFromTheFirstStepToTheLast) {
  std::vector<float> rates(20002, 0.01f);
  const std::vector<float> start = {1, -1, 0.5f, 2}, gradient = {1e-3f, -5, 3e4f, 0};
  for (const std::string_view rung : rungs()) {
    for (const std::int64_t t : {1, 2, 10, 1000, 20000}) {
      AdamwProblem problem(start, rates, stream());
      AdamwReference expected{to_double(start), {1e-3, 2, 3, 4}, {1e-6, 5, 6, 7}};
      problem.first.set({1e-3f, 2, 3, 4});
      problem.second.set({1e-6f, 5, 6, 7});
      problem.gradients.set(gradient);
      problem.step.set({t - 1});
      problem.update({}, 0, rung);
      expected.step(gradient, static_cast<double>(0.01f), t, 0, {});
      EXPECT_TRUE(compare(problem.p.get(), expected.p, {0, 2e-6, false}, str(rung, ", t ", t)));
    }
  }
}

TEST_P(AdamwTest, NanStaysInItsElementAndABrokenNormBreaksAll) {
  const std::size_t n = 1031;
  for (const std::string_view rung : rungs()) {
    for (const float broken : {kNan, kInf, -kInf}) {
      std::vector<float> gradient(n, 0.3f);
      gradient[517] = broken;
      AdamwProblem problem(std::vector<float>(n, 2.0f), {0.1f}, stream());
      problem.gradients.set(gradient);
      problem.update({}, 0, rung);
      const std::vector<float> found = problem.p.get();
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_EQ(std::isnan(found[i]), i == 517) << rung << " " << i;
        ASSERT_TRUE(i == 517 || found[i] == found[0]) << rung << " " << i;
      }
      AdamwProblem clipped(std::vector<float>(n, 2.0f), {0.1f}, stream());
      clipped.gradients.set(gradient);
      clipped.update({}, 1, rung);
      for (const float p : clipped.p.get()) ASSERT_TRUE(std::isnan(p)) << rung << " " << broken;
    }
  }
}

// Finite gradients whose squares are more than a float holds: no step of length 0 is taken.
TEST_P(AdamwTest, AnOverflowOfTheNormIsNoSilentStep) {
  AdamwProblem problem(std::vector<float>(9, 1.0f), {0.1f}, stream());
  problem.gradients.set(std::vector<float>(9, 1e25f));
  problem.update({}, 1, kernels::kAutomatic);
  for (const float p : problem.p.get()) EXPECT_TRUE(std::isnan(p));
  Guarded<float> sgd(std::vector<float>(9, 1.0f), stream());
  kernels::sgd_update(sgd.data(), nullptr, problem.gradients.data(), 9, problem.lr.data(),
                      problem.step.data(), {}, problem.clip(1), stream());
  for (const float p : sgd.get()) EXPECT_TRUE(std::isnan(p));
}

TEST_P(AdamwTest, RepeatsToTheBitAndAWideNormChangesNoBit) {
  const std::int64_t n = 10007;
  const std::vector<float> start = random_floats(n, 2), gradient = random_floats(n, 3);
  std::vector<std::vector<float>> results;
  for (const float max_norm : {0.5f, 0.5f, 0.0f, 1e9f}) {
    AdamwProblem problem(start, {0.01f}, stream());
    problem.gradients.set(gradient);
    problem.update({}, max_norm, kernels::kAutomatic);
    results.push_back(problem.first.get());
    const std::vector<float> p = problem.p.get();
    results.back().insert(results.back().end(), p.begin(), p.end());
  }
  EXPECT_TRUE(same_bits(results[0], results[1]));
  EXPECT_TRUE(same_bits(results[2], results[3]));
  EXPECT_FALSE(same_bits(results[0], results[2]));
}

TEST_P(AdamwTest, SgdClipsByTheSameNorm) {
  for (const kernels::SgdOptions& options :
       {kernels::SgdOptions{}, kernels::SgdOptions{0.9f, 5e-4f, false},
        kernels::SgdOptions{0.9f, 5e-4f, true}}) {
    for (const std::int64_t n : linear_sizes()) {
      const std::vector<float> start = random_floats(n, 4), gradient = random_floats(n, 5);
      double squares = 0;
      for (const float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
      const double scale = std::min(1.0, 0.5 / (std::sqrt(squares) + 1e-6));
      AdamwProblem problem(start, {0.1f}, stream());
      problem.gradients.set(gradient);
      kernels::sgd_update(problem.p.data(), problem.first.data(), problem.gradients.data(), n,
                          problem.lr.data(), problem.step.data(), options, problem.clip(0.5f),
                          stream());
      std::vector<double> expected;
      const double mu = static_cast<double>(options.momentum);
      for (std::size_t i = 0; i < start.size(); ++i) {
        const double p = static_cast<double>(start[i]);
        const double g = scale * static_cast<double>(gradient[i]) +
                         static_cast<double>(options.weight_decay) * p;
        expected.push_back(p - 0.1 * (options.nesterov ? g + mu * g : g));
      }
      EXPECT_TRUE(compare(problem.p.get(), expected, {1e-6, 0, false}, str("n ", n)));
    }
  }
}

// The same gradient ten million times, where a plain sum of floats would lose a tenth.
TEST_P(AdamwTest, TheNormOfManyParametersLosesNothing) {
  const std::int64_t n = built_for_host_cuda() ? 1'000'003 : 10'000'019;
  const std::vector<float> start(static_cast<std::size_t>(n), 0.1f);
  AdamwProblem problem(start, {1.0f}, stream());
  problem.gradients.set(start);
  kernels::sgd_update(problem.p.data(), nullptr, problem.gradients.data(), n, problem.lr.data(),
                      problem.step.data(), {}, problem.clip(1), stream());
  const double g = static_cast<double>(0.1f);
  const double step = g / (g * std::sqrt(static_cast<double>(n)) + 1e-6);
  EXPECT_NEAR(static_cast<double>(problem.p.get()[0]), g - step, 1e-8);
}

TEST_P(AdamwTest, NothingDependsOnTheNumberOfThreads) {
  if (!device().is_cpu()) return;
  const auto [one, three] = with_thread_counts([&] {
    AdamwProblem problem(random_floats(100003, 6), {0.01f}, stream());
    problem.gradients.set(random_floats(100003, 7));
    problem.update({}, 1, kernels::kAutomatic);
    return problem.p.get();
  });
  EXPECT_TRUE(same_bits(one, three));
}

TEST_P(AdamwTest, EmptyAndRefused) {
  AdamwProblem problem({1, 2, 3, 4}, {0.1f}, stream());
  problem.gradients.set({1, 1, 1, 1});
  const auto run = [&](const AdamwOptions& options, const GradientClip& clip,
                       std::string_view variant, std::int64_t n = 4) {
    kernels::adamw_update(problem.p.data(), problem.first.data(), problem.second.data(),
                          problem.gradients.data(), n, problem.lr.data(), problem.step.data(),
                          options, clip, variant, stream());
  };
  run({}, {}, kernels::kAutomatic, 0);
  EXPECT_USAGE_ERROR(run({.beta1 = 1}, {}, kernels::kAutomatic), "found 1");
  EXPECT_USAGE_ERROR(run({.beta2 = -0.5}, {}, kernels::kAutomatic), "found -0.5");
  EXPECT_USAGE_ERROR(run({.beta2 = std::nan("")}, {}, kernels::kAutomatic), "nan");
  EXPECT_USAGE_ERROR(run({.epsilon = 0}, {}, kernels::kAutomatic), "epsilon above 0");
  EXPECT_USAGE_ERROR(run({.epsilon = 1e-60}, {}, kernels::kAutomatic), "epsilon above 0");
  EXPECT_USAGE_ERROR(run({}, {problem.lr.data(), 0}, kernels::kAutomatic), "a norm above 0");
  EXPECT_USAGE_ERROR(run({}, {}, "frobnicate"), "separate_passes, fused, vectorized");
  EXPECT_USAGE_ERROR(run({}, {}, kernels::kAutomatic, -1), "negative extent");
  EXPECT_FALSE(kernels::optimizer_takes("fused", UpdateRule::sgd, device()));
  EXPECT_EQ(problem.p.get(), (std::vector<float>{1, 2, 3, 4}));
}

WEFT_ON_EACH_DEVICE(AdamwTest);

}  // namespace
}  // namespace weft::test

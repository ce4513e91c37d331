// SPDX-License-Identifier: MIT
#include "kernels/optimizer/optimizer.h"

#include <algorithm>
#include <limits>

#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::SgdOptions;

// The rule of the contract in double, element by element.
void reference_step(std::vector<double>& p, std::vector<double>& v, const std::vector<float>& g,
                    double lr, const SgdOptions& options) {
  const double momentum = static_cast<double>(options.momentum);
  const double decay = static_cast<double>(options.weight_decay);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double gradient = static_cast<double>(g[i]) + decay * p[i];
    v[i] = momentum * v[i] + gradient;
    p[i] -= lr * (options.nesterov ? gradient + momentum * v[i] : v[i]);
  }
}

class OptimizerTest : public DeviceTest {};

TEST_P(OptimizerTest, FollowsTheReferenceForSeveralSteps) {
  const std::vector<float> schedule = {0.1f, 0.05f, 0.2f, 0.01f, 0.1f};
  for (const SgdOptions& options :
       {SgdOptions{}, SgdOptions{0.9f, 0, false}, SgdOptions{0.9f, 5e-4f, false},
        SgdOptions{0.9f, 5e-4f, true}, SgdOptions{0, 0.1f, false}}) {
    for (const std::int64_t n : linear_sizes()) {
      const std::vector<float> start = random_floats(n, 1);
      std::vector<double> expected = to_double(start), velocity(start.size());
      Guarded<float> p(start, stream(), n % 3), g(n, stream(), n % 2);
      Guarded<float> v(std::vector<float>(start.size()), stream());
      Guarded<float> lr(schedule, stream());
      Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
      for (std::size_t k = 0; k < schedule.size(); ++k) {
        const std::vector<float> gradient = random_floats(n, 10 + k);
        g.set(gradient);
        kernels::sgd_update(p.data(), options.momentum == 0 ? nullptr : v.data(), g.data(), n,
                            lr.data(), step.data(), options, stream());
        kernels::advance_step(step.data(), stream());
        reference_step(expected, velocity, gradient, static_cast<double>(schedule[k]), options);
      }
      EXPECT_EQ(step.get()[0], 5);
      EXPECT_TRUE(compare(p.get(), expected, {2e-6, 0, false}, str("n ", n)));
      if (options.momentum != 0) {
        EXPECT_TRUE(compare(v.get(), velocity, {2e-6, 0, false}, str("velocity, n ", n)));
      }
    }
  }
}

TEST_P(OptimizerTest, EqualElementsStayEqualAndNanStaysInItsElement) {
  const std::int64_t n = 1031;
  std::vector<float> gradient(static_cast<std::size_t>(n), 0.3f);
  gradient[517] = std::numeric_limits<float>::quiet_NaN();
  Guarded<float> p(std::vector<float>(gradient.size(), 2.0f), stream()), g(gradient, stream());
  Guarded<float> v(std::vector<float>(gradient.size()), stream());
  Guarded<float> lr(std::vector<float>{0.1f}, stream());
  Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  kernels::sgd_update(p.data(), v.data(), g.data(), n, lr.data(), step.data(), {0.9f, 5e-4f, true},
                      stream());
  const std::vector<float> found = p.get();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(std::isnan(found[i]), i == 517) << i;
    EXPECT_TRUE(i == 517 || found[i] == found[0]) << i;
  }
}

TEST_P(OptimizerTest, RepeatsToTheBit) {
  const std::int64_t n = 10007;
  const std::vector<float> start = random_floats(n, 2), gradient = random_floats(n, 3);
  Guarded<float> lr(std::vector<float>{0.1f}, stream()), g(gradient, stream());
  Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  std::vector<std::vector<float>> results;
  for (int run = 0; run < 2; ++run) {
    Guarded<float> p(start, stream()), v(gradient, stream());
    kernels::sgd_update(p.data(), v.data(), g.data(), n, lr.data(), step.data(),
                        {0.9f, 5e-4f, true}, stream());
    results.push_back(p.get());
  }
  EXPECT_TRUE(same_bits(results[0], results[1]));
}

TEST_P(OptimizerTest, AverageFollowsTheReferenceForSeveralSteps) {
  for (const float decay : {0.0f, 0.5f, 0.995f, 1.0f}) {
    for (const std::int64_t n : linear_sizes()) {
      const std::vector<float> start = random_floats(n, 20);
      std::vector<double> expected = to_double(start);
      Guarded<float> average(start, stream(), n % 3), values(n, stream(), n % 2);
      Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
      // Decays of 0.1, 0.18, 0.25, ... up to `decay`; then the step is far on.
      for (const std::int64_t s : {0, 1, 2, 3, 40, 1'000'000}) {
        const std::vector<float> now = random_floats(n, 21 + static_cast<std::uint64_t>(s));
        values.set(now);
        step.set({s});
        kernels::ema_update(average.data(), values.data(), n, decay, step.data(), stream());
        const double age = static_cast<double>(s);
        const double d = std::min(static_cast<double>(decay), (1 + age) / (10 + age));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          expected[i] += (1 - d) * (static_cast<double>(now[i]) - expected[i]);
        }
      }
      EXPECT_TRUE(compare(average.get(), expected, {2e-6, 0, false}, str("n ", n)));
    }
  }
}

TEST_P(OptimizerTest, AverageOfEqualValuesStaysAndNanStaysInItsElement) {
  std::vector<float> now(1031, 0.3f);
  now[517] = std::numeric_limits<float>::quiet_NaN();
  Guarded<float> average(std::vector<float>(now.size(), 0.3f), stream()), values(now, stream());
  Guarded<std::int64_t> step(std::vector<std::int64_t>{7}, stream());
  kernels::ema_update(average.data(), values.data(), 1031, 0.9f, step.data(), stream());
  const std::vector<float> found = average.get();
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_TRUE(i == 517 ? std::isnan(found[i]) : found[i] == 0.3f) << i;
  }
}

TEST_P(OptimizerTest, EmptyAndRefused) {
  Guarded<float> p(4, stream());
  const std::vector<float> before = p.get();
  Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  kernels::sgd_update(p.data(), nullptr, p.data(), 0, p.data(), step.data(), {}, stream());
  EXPECT_TRUE(same_bits(p.get(), before));
  EXPECT_USAGE_ERROR(kernels::sgd_update(p.data(), nullptr, p.data(), 4, p.data(), step.data(),
                                         {0.9f, 0, false}, stream()),
                     "velocity");
  kernels::ema_update(p.data(), nullptr, 0, 0.5f, step.data(), stream());
  EXPECT_USAGE_ERROR(kernels::ema_update(p.data(), p.data(), 4, 1.5f, step.data(), stream()),
                     "found 1.5");
  EXPECT_USAGE_ERROR(kernels::ema_update(p.data(), p.data(), 4, NAN, step.data(), stream()), "nan");
  EXPECT_TRUE(same_bits(p.get(), before));
}

WEFT_ON_EACH_DEVICE(OptimizerTest);

}  // namespace
}  // namespace weft::test

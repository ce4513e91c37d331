// SPDX-License-Identifier: MIT
#include <algorithm>

#include "kernels/batch_norm/batch_norm.h"

#include "kernels/batch_norm/cpu/templates.h"
#include "tests/cases/batch_norm_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"

namespace weft::test {
namespace {

using kernels::BatchNormDims;
using kernels::BatchNormOptions;
using kernels::GradientMode;

constexpr float kEps = 1e-5f, kMomentum = 0.1f;

struct Oracle {
  std::vector<double> y, mean, inv_std, running_mean, running_var;

  Oracle(const std::vector<double>& x, const std::vector<double>& gamma,
         const std::vector<double>& beta, const BatchNormDims& d)
      : y(x.size()),
        mean(gamma.size()),
        inv_std(gamma.size()),
        running_mean(gamma.size(), 0.25),
        running_var(gamma.size(), 2) {
    kernels::cpu::batch_norm_forward<double>(y.data(), mean.data(), inv_std.data(),
                                             running_mean.data(), running_var.data(), x.data(),
                                             gamma.data(), beta.data(), kEps, kMomentum, d);
  }
};

TEST(BatchNormOracle, GradientsMatchCentralDifferences) {
  for (const BatchNormDims& d : {BatchNormDims{4, 3, 1}, BatchNormDims{3, 2, 5}}) {
    const std::int64_t n = d.n * d.c * d.inner;
    const std::vector<double> x = to_double(random_floats(n, 1)),
                              dy = to_double(random_floats(n, 2));
    const std::vector<double> gamma = to_double(random_floats(d.c, 3, 0.5f, 2));
    const std::vector<double> beta = to_double(random_floats(d.c, 4));
    const Oracle at(x, gamma, beta, d);
    std::vector<double> dx(x.size()), dgamma(gamma.size()), dbeta(gamma.size());
    kernels::cpu::batch_norm_backward<double>(
        dx.data(), dgamma.data(), dbeta.data(), dy.data(), x.data(), gamma.data(), at.mean.data(),
        at.inv_std.data(), d, GradientMode::overwrite, GradientMode::overwrite);
    const auto of_x = [&](const std::vector<double>& v) { return Oracle(v, gamma, beta, d).y; };
    const auto of_gamma = [&](const std::vector<double>& v) { return Oracle(x, v, beta, d).y; };
    const auto of_beta = [&](const std::vector<double>& v) { return Oracle(x, gamma, v, d).y; };
    EXPECT_TRUE(compare(dx, numeric_gradient(of_x, x, dy), {1e-7, 1e-6, false}));
    EXPECT_TRUE(compare(dgamma, numeric_gradient(of_gamma, gamma, dy), gradient_bound()));
    EXPECT_TRUE(compare(dbeta, numeric_gradient(of_beta, beta, dy), gradient_bound()));
  }
}

TEST(BatchNormOracle, KnownValues) {
  const Oracle o({1, 3}, {2}, {5}, {2, 1, 1});  // mean 2, biased variance 1, unbiased 2
  EXPECT_NEAR(o.mean[0], 2, 1e-15);
  EXPECT_NEAR(o.inv_std[0], 1 / std::sqrt(1 + static_cast<double>(kEps)), 1e-15);
  EXPECT_NEAR(o.y[1], 5 + 2 * o.inv_std[0], 1e-15);
  EXPECT_NEAR(o.running_mean[0], 0.9 * 0.25 + 0.1 * 2, 1e-8);
  EXPECT_NEAR(o.running_var[0], 0.9 * 2 + 0.1 * 2, 1e-8);
}

class BatchNormTest : public DeviceTest {
 protected:
  std::vector<std::string_view> variants() {
    if (stream().device().is_cpu()) return {"two_pass"};
    std::vector<std::string_view> names = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::batch_norm_rungs()) {
      const bool runs =
          kernels::ladder::refusal(rung, kernels::ComputeMode::fp32, device()).empty();
      if (taken(rung, device(), runs)) names.push_back(rung.name);
    }
    return names;
  }
  // Filled with NaN.
  Guarded<double> workspace(const BatchNormDims& d) {
    const std::size_t bytes = kernels::batch_norm_workspace_bytes(d, stream().device());
    return Guarded<double>(static_cast<std::int64_t>(bytes / sizeof(double)), stream());
  }
};

kernels::Workspace lent(Guarded<double>& memory, const BatchNormDims& d, Device device) {
  return {memory.data(), kernels::batch_norm_workspace_bytes(d, device)};
}

TEST_P(BatchNormTest, ForwardMatchesOracle) {
  for (const problems::BatchNorm& c :
       all_or_few(cases::kBatchNormCases, cases::kFewBatchNormCases)) {
    for (const float offset : {0.0f, 100.0f}) {
      const BatchNormDims& d = c.dims;
      const std::vector<float> x = random_floats(c.elements(), 5, offset - 1, offset + 1);
      const std::vector<float> gamma = random_floats(d.c, 6, 0.5f, 2), beta = random_floats(d.c, 7);
      const Oracle expected(to_double(x), to_double(gamma), to_double(beta), d);
      Guarded<float> gamma_in(gamma, stream()), beta_in(beta, stream());
      for (const std::string_view variant : variants()) {
        std::vector<float> first_y;
        for (int run = 0; run < 2; ++run) {  // where units of 16 bytes are aligned, and not
          Guarded<float> x_in(x, stream(), run);
          Guarded<double> scratch = workspace(d);
          Guarded<float> y(c.elements(), stream()), mean(d.c, stream()), inv_std(d.c, stream());
          Guarded<float> running_mean(std::vector<float>(static_cast<std::size_t>(d.c), 0.25f),
                                      stream());
          Guarded<float> running_var(std::vector<float>(static_cast<std::size_t>(d.c), 2.0f),
                                     stream());
          kernels::batch_norm_forward(y.data(), mean.data(), inv_std.data(), running_mean.data(),
                                      running_var.data(), x_in.data(), gamma_in.data(),
                                      beta_in.data(), kEps, kMomentum, d, {.variant = variant},
                                      lent(scratch, d, stream().device()), stream());
          // Rounding of x - mean is relative to the offset; 1 / std of two near values magnifies
          // it.
          double amplify = 1;
          for (const double s : expected.inv_std) amplify = std::max(amplify, s);
          const double error = 6e-7 * (1 + static_cast<double>(offset)) * amplify;
          EXPECT_TRUE(compare(y.get(), expected.y, {2 * error, 1e-5 + 2 * error, false}, str(c)));
          EXPECT_TRUE(compare(mean.get(), expected.mean, {1e-6, 1e-6, false}, str(c)));
          EXPECT_TRUE(compare(inv_std.get(), expected.inv_std, {0, 1e-6 + error, false}, str(c)));
          EXPECT_TRUE(compare(running_mean.get(), expected.running_mean, {1e-6, 1e-6, false}));
          EXPECT_TRUE(compare(running_var.get(), expected.running_var, {error, 1e-6, false}));
          if (run == 0) first_y = y.get();
          EXPECT_TRUE(same_bits(y.get(), first_y)) << c;
        }
      }
    }
  }
}

TEST_P(BatchNormTest, InferenceUsesTheRunningStatistics) {
  for (const problems::BatchNorm& c :
       all_or_few(cases::kBatchNormCases, cases::kFewBatchNormCases)) {
    const BatchNormDims& d = c.dims;
    const std::vector<float> x = random_floats(c.elements(), 8), mean = random_floats(d.c, 9),
                             var = random_floats(d.c, 10, 0.1f, 2), gamma = random_floats(d.c, 11),
                             beta = random_floats(d.c, 12);
    std::vector<double> expected(x.size());
    kernels::cpu::batch_norm_inference<double>(
        expected.data(), to_double(x).data(), to_double(mean).data(), to_double(var).data(),
        to_double(gamma).data(), to_double(beta).data(), kEps, d);
    Guarded<float> x_in(x, stream()), mean_in(mean, stream()), var_in(var, stream()),
        gamma_in(gamma, stream()), beta_in(beta, stream());
    std::vector<float> first_y;
    for (const std::int64_t misalign : {0, 1}) {
      Guarded<float> y(c.elements(), stream(), misalign);
      kernels::batch_norm_inference(y.data(), x_in.data(), mean_in.data(), var_in.data(),
                                    gamma_in.data(), beta_in.data(), kEps, d, stream());
      EXPECT_TRUE(compare(y.get(), expected, {2e-6, 1e-6, false}, str(c)));
      if (misalign == 0) first_y = y.get();
      EXPECT_TRUE(same_bits(y.get(), first_y)) << c;
    }
  }
}

TEST_P(BatchNormTest, BackwardMatchesOracle) {
  for (const problems::BatchNorm& c :
       all_or_few(cases::kBatchNormCases, cases::kFewBatchNormCases)) {
    const BatchNormDims& d = c.dims;
    const std::vector<float> x = random_floats(c.elements(), 13),
                             dy = random_floats(c.elements(), 14),
                             gamma = random_floats(d.c, 15, 0.5f, 2),
                             mean = random_floats(d.c, 16, -0.1f, 0.1f),
                             inv_std = random_floats(d.c, 17, 1, 3),
                             start = random_floats(c.elements(), 18);
    Guarded<float> x_in(x, stream()), gamma_in(gamma, stream()), mean_in(mean, stream()),
        inv_std_in(inv_std, stream());
    for (const std::string_view variant : variants()) {
      for (const bool mask : {false, true}) {
        Guarded<float> dy_in(dy, stream(), mask ? 1 : 0);
        for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
          std::vector<double> dx = to_double(start), dgamma = to_double(gamma),
                              dbeta = to_double(mean);
          kernels::cpu::batch_norm_backward<double>(dx.data(), dgamma.data(), dbeta.data(),
                                                    to_double(dy).data(), to_double(x).data(),
                                                    to_double(gamma).data(), to_double(mean).data(),
                                                    to_double(inv_std).data(), d, mode, mode);
          for (std::size_t i = 0; mask && i < dx.size(); ++i) {
            if (!(x[i] > 0))
              dx[i] = mode == GradientMode::accumulate ? static_cast<double>(start[i]) : 0;
          }
          Guarded<double> scratch = workspace(d);
          Guarded<float> dx_out(c.elements(), stream()), dgamma_out(d.c, stream()),
              dbeta_out(d.c, stream());
          if (mode == GradientMode::accumulate) {
            dx_out.set(start);
            dgamma_out.set(gamma);
            dbeta_out.set(mean);
          }
          kernels::batch_norm_backward(dx_out.data(), dgamma_out.data(), dbeta_out.data(),
                                       dy_in.data(), x_in.data(), gamma_in.data(), mean_in.data(),
                                       inv_std_in.data(), d, mode, mode,
                                       {.variant = variant, .relu_mask = mask},
                                       lent(scratch, d, stream().device()), stream());
          const double length = static_cast<double>(d.n * d.inner);
          EXPECT_TRUE(compare(dx_out.get(), dx, {1e-5, 1e-6, false}, str(c)));
          EXPECT_TRUE(
              compare(dbeta_out.get(), dbeta, sum_bound(length, std::sqrt(length)), str(c)));
          EXPECT_TRUE(
              compare(dgamma_out.get(), dgamma, sum_bound(length, 3 * std::sqrt(length)), str(c)));
        }
      }
    }
  }
}

// Whole numbers, of which a thread's sums are exact in float and a block's are not: the statistics
// and the gradients of the parameters are the exact ones, rounded once.
TEST_P(BatchNormTest, WholeNumbersRoundOnce) {
  for (const BatchNormDims& d : {BatchNormDims{64, 16, 5}, BatchNormDims{40, 16, 8}}) {
    const std::int64_t count = d.n * d.inner;
    const std::vector<float> any = random_floats(d.n * d.c * d.inner, 21, -1, 1);
    std::vector<float> large(any.size()), even(any.size()), dy(any.size());
    std::vector<std::int64_t> sum(at(d.c)), squares(at(d.c)), dy_sum(at(d.c)), product(at(d.c));
    for (std::int64_t i = 0; i < std::ssize(any); ++i) {
      const std::int64_t c = i / d.inner % d.c, row = i / d.inner / d.c;
      // The first value, from which `split` counts, is the least: what it adds grows.
      large[at(i)] = row == 0 && i % d.inner == 0 ? 0 : std::round((1 + any[at(i)]) * 0x1p17f);
      // A row and the next one lie around 3, at the same distance.
      const std::int64_t twin = (row - row % 2) * d.c * d.inner + c * d.inner + i % d.inner;
      const float distance = std::round(any[at(twin)] * 1000);
      even[at(i)] = 3 + (row % 2 == 0 ? distance : -distance);
      dy[at(i)] = std::round(any[at(std::ssize(any) - 1 - i)] * 1000);
      sum[at(c)] += static_cast<std::int64_t>(large[at(i)]);
      squares[at(c)] += static_cast<std::int64_t>(distance * distance);
      dy_sum[at(c)] += static_cast<std::int64_t>(large[at(i)]);
      product[at(c)] += static_cast<std::int64_t>(dy[at(i)] * even[at(i)]);
    }
    std::vector<float> mean, inv_std, dbeta, dgamma;
    for (std::int64_t c = 0; c < d.c; ++c) {
      const double n = static_cast<double>(count);
      mean.push_back(static_cast<float>(static_cast<double>(sum[at(c)]) / n));
      inv_std.push_back(static_cast<float>(
          1 / std::sqrt(static_cast<double>(squares[at(c)]) / n + static_cast<double>(kEps))));
      dbeta.push_back(static_cast<float>(dy_sum[at(c)]));
      dgamma.push_back(static_cast<float>(product[at(c)]));
    }
    const std::vector<float> ones(at(d.c), 1.0f), zeros(at(d.c), 0.0f);
    for (const std::string_view variant : variants()) {
      Guarded<double> scratch = workspace(d);
      Guarded<float> y(std::ssize(any), stream()), found(d.c, stream()), deviation(d.c, stream()),
          running_mean(zeros, stream()), running_var(ones, stream()), gamma(ones, stream()),
          beta(zeros, stream()), x(large, stream()), pairs(even, stream());
      const auto forward = [&](const Guarded<float>& input) {
        kernels::batch_norm_forward(y.data(), found.data(), deviation.data(), running_mean.data(),
                                    running_var.data(), input.data(), gamma.data(), beta.data(),
                                    kEps, kMomentum, d, {.variant = variant},
                                    lent(scratch, d, stream().device()), stream());
      };
      forward(x);
      EXPECT_TRUE(same_bits(found.get(), mean)) << variant;
      forward(pairs);
      EXPECT_TRUE(same_bits(found.get(), std::vector<float>(at(d.c), 3.0f))) << variant;
      EXPECT_TRUE(same_bits(deviation.get(), inv_std)) << variant;

      Guarded<float> gradient(dy, stream()), no_mean(zeros, stream()), one(ones, stream()),
          dx(std::ssize(any), stream()), dgamma_out(d.c, stream()), dbeta_out(d.c, stream());
      const auto backward = [&](const Guarded<float>& of_y, const Guarded<float>& of_x) {
        kernels::batch_norm_backward(
            dx.data(), dgamma_out.data(), dbeta_out.data(), of_y.data(), of_x.data(), gamma.data(),
            no_mean.data(), one.data(), d, GradientMode::overwrite, GradientMode::overwrite,
            {.variant = variant}, lent(scratch, d, stream().device()), stream());
      };
      backward(x, pairs);
      EXPECT_TRUE(same_bits(dbeta_out.get(), dbeta)) << variant;
      backward(gradient, pairs);
      EXPECT_TRUE(same_bits(dgamma_out.get(), dgamma)) << variant;
    }
  }
}

// The variance is 0, and what is left of the input is rounding divided by sqrt(eps).
TEST_P(BatchNormTest, EqualValuesBecomeBeta) {
  const BatchNormDims d{40, 2, 9};
  std::vector<float> x;
  for (std::int64_t i = 0; i < 720; ++i) x.push_back(i / 9 % 2 == 0 ? 2.5f : -1024.0f);
  Guarded<float> in(x, stream()), y(720, stream()), mean(2, stream()), inv_std(2, stream()),
      running_mean(std::vector<float>{0, 0}, stream()),
      running_var(std::vector<float>{1, 1}, stream()), gamma(std::vector<float>{3, 3}, stream()),
      beta(std::vector<float>{0.75f, -7}, stream());
  kernels::batch_norm_forward(y.data(), mean.data(), inv_std.data(), running_mean.data(),
                              running_var.data(), in.data(), gamma.data(), beta.data(), kEps,
                              kMomentum, d, stream());
  std::vector<double> expected;
  for (std::int64_t i = 0; i < 720; ++i) expected.push_back(i / 9 % 2 == 0 ? 0.75 : -7.0);
  EXPECT_TRUE(compare(y.get(), expected, {1e-4, 0, false}));
  EXPECT_TRUE(compare(mean.get(), std::vector<double>{2.5, -1024}, {0, 1e-7, false}));
  EXPECT_TRUE(compare(running_var.get(), std::vector<double>{0.9, 0.9}, {0, 1e-6, false}));
}

// The pilot of a part must not be thrown off by one value far from all others.
TEST_P(BatchNormTest, OutliersCostNoAccuracy) {
  const BatchNormDims d{1, 1, 9000};
  for (const std::size_t place : {0u, 1u, 4500u}) {
    std::vector<float> x = random_floats(9000, 30);
    x[place] = 1e4f;
    const std::vector<double> one = {1}, zero = {0};
    const Oracle expected(to_double(x), one, zero, d);
    for (const std::string_view variant : variants()) {
      Guarded<double> scratch = workspace(d);
      Guarded<float> in(x, stream()), y(9000, stream()), mean(1, stream()), inv_std(1, stream()),
          running_mean(std::vector<float>{0.25f}, stream()),
          running_var(std::vector<float>{2}, stream()), gamma(std::vector<float>{1}, stream()),
          beta(std::vector<float>{0}, stream());
      kernels::batch_norm_forward(y.data(), mean.data(), inv_std.data(), running_mean.data(),
                                  running_var.data(), in.data(), gamma.data(), beta.data(), kEps,
                                  kMomentum, d, {.variant = variant},
                                  lent(scratch, d, stream().device()), stream());
      EXPECT_TRUE(compare(mean.get(), expected.mean, {1e-4, 1e-5, false}, str(place)));
      EXPECT_TRUE(compare(inv_std.get(), expected.inv_std, {0, 1e-5, false}, str(place)));
      EXPECT_TRUE(compare(y.get(), expected.y, {1e-5, 1e-5, false}, str(place)));
    }
  }
}

TEST_P(BatchNormTest, SplitNeedsItsWorkspace) {
  const BatchNormDims d{100, 3, 49};
  Guarded<float> v(3 * 4900, stream());
  const auto train = [&] {
    kernels::batch_norm_forward(v.data(), v.data(), v.data(), v.data(), v.data(), v.data(),
                                v.data(), v.data(), kEps, kMomentum, d, {.variant = "split"}, {},
                                stream());
  };
  EXPECT_USAGE_ERROR(train(), stream().device().is_cpu() ? "does not run" : "workspace");
}

TEST(BatchNormCpu, DoesNotDependOnThreads) {
  const BatchNormDims d{16, 5, 784};
  const std::vector<float> x = random_floats(d.n * d.c * d.inner, 19);
  const std::vector<float> ones(5, 1.0f);
  const Stream stream(Device::cpu());
  const auto [one, three] = with_thread_counts([&] {
    std::vector<float> y(x.size()), mean(5), inv_std(5), running_mean(5), running_var(5);
    kernels::batch_norm_forward(y.data(), mean.data(), inv_std.data(), running_mean.data(),
                                running_var.data(), x.data(), ones.data(), ones.data(), kEps,
                                kMomentum, d, stream);
    return y;
  });
  EXPECT_TRUE(same_bits(one, three));
}

TEST_P(BatchNormTest, OneValuePerChannelCannotTrain) {
  Guarded<float> v(4, stream());
  const std::vector<float> before = v.get();
  const auto train = [&](const BatchNormDims& d) {
    kernels::batch_norm_forward(v.data(), v.data(), v.data(), v.data(), v.data(), v.data(),
                                v.data(), v.data(), kEps, kMomentum, d, stream());
  };
  EXPECT_USAGE_ERROR(train({1, 3, 1}), "(1, 3, 1)");
  EXPECT_USAGE_ERROR(train({0, 3, 1}), "more than one value");
  train({2, 0, 5});
  kernels::batch_norm_inference(v.data(), v.data(), v.data(), v.data(), v.data(), v.data(), kEps,
                                {0, 2, 2}, stream());
  EXPECT_TRUE(same_bits(v.get(), before));
}

WEFT_ON_EACH_DEVICE(BatchNormTest);

}  // namespace
}  // namespace weft::test

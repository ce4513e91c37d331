// SPDX-License-Identifier: MIT
// Normalisation of each input alone against the formula of its contract, in double. Its gradients
// are held against central differences by tests/layers/test_gradients.cpp.
#include "kernels/batch_norm/group_norm.h"

#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::GradientMode;
using kernels::GroupNormDims;

constexpr float kGroupNormEps = 1e-3f;

// n, c, inner, groups
constexpr GroupNormDims kGroupNormCases[] = {
    {1, 1, 1, 1}, {3, 6, 20, 2}, {2, 4, 2, 4}, {5, 7, 1, 1}, {2, 3, 1009, 3}, {4, 8, 33, 1},
};

struct GroupNormResults {
  std::vector<double> y, dx, dgamma, dbeta;
};

GroupNormResults expected_norm(const GroupNormDims& d, const std::vector<double>& x,
                               const std::vector<double>& dy, const std::vector<double>& gamma,
                               const std::vector<double>& beta) {
  GroupNormResults all{std::vector<double>(x.size()), std::vector<double>(x.size()),
                       std::vector<double>(gamma.size()), std::vector<double>(gamma.size())};
  const auto values = static_cast<std::size_t>(d.group_values());
  const auto inner = static_cast<std::size_t>(d.inner);
  for (std::size_t first = 0; first < x.size(); first += values) {
    double mean = 0, variance = 0, mean_g = 0, mean_p = 0;
    const double share = 1 / static_cast<double>(values);
    for (std::size_t i = first; i < first + values; ++i) mean += x[i] * share;
    for (std::size_t i = first; i < first + values; ++i) {
      variance += (x[i] - mean) * (x[i] - mean) * share;
    }
    const double factor = 1 / std::sqrt(variance + double{kGroupNormEps});
    const auto xhat = [&](std::size_t i) { return (x[i] - mean) * factor; };
    const auto channel = [&](std::size_t i) { return i / inner % gamma.size(); };
    for (std::size_t i = first; i < first + values; ++i) {
      const std::size_t c = channel(i);
      all.y[i] = gamma[c] * xhat(i) + beta[c];
      all.dgamma[c] += dy[i] * xhat(i);
      all.dbeta[c] += dy[i];
      mean_g += dy[i] * gamma[c] * share;
      mean_p += dy[i] * gamma[c] * xhat(i) * share;
    }
    for (std::size_t i = first; i < first + values; ++i) {
      all.dx[i] = factor * (dy[i] * gamma[channel(i)] - mean_g - xhat(i) * mean_p);
    }
  }
  return all;
}

struct GroupNormTest : DeviceTest {};

TEST_P(GroupNormTest, MatchesTheFormula) {
  for (const GroupNormDims& d : kGroupNormCases) {
    SCOPED_TRACE(str(d.n, " x ", d.c, " x ", d.inner, " in ", d.groups, " groups"));
    const std::int64_t n = d.n * d.c * d.inner, rows = d.n * d.groups;
    // Far from 0, where a variance of squares would cancel.
    const std::vector<float> x = random_floats(n, 1, 99, 101), dy = random_floats(n, 2);
    const std::vector<float> gamma = random_floats(d.c, 3, 0.5f, 2), beta = random_floats(d.c, 4);
    const GroupNormResults want =
        expected_norm(d, to_double(x), to_double(dy), to_double(gamma), to_double(beta));
    Guarded<float> in(x, stream(), 1), gradient(dy, stream()), weight(gamma, stream()),
        bias(beta, stream()), y(n, stream(), 3), mean(rows, stream()), inv_std(rows, stream());
    kernels::group_norm_forward(y.data(), mean.data(), inv_std.data(), in.data(), weight.data(),
                                bias.data(), kGroupNormEps, d, stream());
    // x and its mean are rounded to 2^-18, and the factor is at most 32.
    const double rounding = 64 * std::ldexp(1.0, -18);
    EXPECT_TRUE(compare(y.get(), want.y, {2 * rounding, 1e-5}, "y"));
    for (const bool adds : {false, true}) {
      const std::vector<float> start(gamma.size(), adds ? 20.0f : 7.0f);
      Guarded<float> dx(n, stream()), dgamma(start, stream()), dbeta(start, stream());
      kernels::group_norm_backward(dx.data(), dgamma.data(), dbeta.data(), gradient.data(),
                                   in.data(), weight.data(), mean.data(), inv_std.data(), d,
                                   adds ? GradientMode::accumulate : GradientMode::overwrite,
                                   stream());
      std::vector<double> sums = want.dgamma, of_beta = want.dbeta;
      for (double& value : sums) value += adds ? 20 : 0;
      for (double& value : of_beta) value += adds ? 20 : 0;
      const double terms = static_cast<double>(d.n * d.inner);
      if (n > 1) {
        EXPECT_TRUE(compare(dx.get(), want.dx, {32 * 2 * rounding, 1e-4}, "dx"));
      }
      if (n > 1 || adds) {
        EXPECT_TRUE(compare(dgamma.get(), sums, {terms * rounding, 1e-5}, "dgamma"));
      }
      EXPECT_TRUE(compare(dbeta.get(), of_beta, {terms * 1e-6, 1e-5}, "dbeta"));
    }
  }
}

TEST_P(GroupNormTest, OfAnEmptyBatchHasNoGradient) {
  Guarded<float> dgamma({7, 7, 7, 7}, stream()), dbeta({7, 7, 7, 7}, stream()),
      gamma({1, 1, 1, 1}, stream());
  kernels::group_norm_backward(nullptr, dgamma.data(), dbeta.data(), nullptr, nullptr, gamma.data(),
                               nullptr, nullptr, {0, 4, 5, 2}, GradientMode::overwrite, stream());
  EXPECT_EQ(dgamma.get(), std::vector<float>(4, 0));
  EXPECT_EQ(dbeta.get(), std::vector<float>(4, 0));
}

TEST_P(GroupNormTest, NumbersThatAreNoneAreRefused) {
  float x = 0;
  const auto forward = [&](float eps, const GroupNormDims& d) {
    kernels::group_norm_forward(&x, &x, &x, &x, &x, &x, eps, d, stream());
  };
  EXPECT_USAGE_ERROR(forward(0, {1, 4, 1, 2}), "expected eps > 0");
  EXPECT_USAGE_ERROR(forward(1, {1, 4, 1, 3}), "3 groups of 4");
  EXPECT_USAGE_ERROR(forward(1, {1, 4, 1, 0}), "0 groups of 4");
}

WEFT_ON_EACH_DEVICE(GroupNormTest);

}  // namespace
}  // namespace weft::test

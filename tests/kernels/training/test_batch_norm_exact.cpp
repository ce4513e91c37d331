// SPDX-License-Identifier: MIT
// Batch normalisation adds up in double what a thread has summed in float, and counts in double. So
// whole numbers whose sums are exact in a thread give results that are rounded once, at the end,
// even where a sum or a count has more digits than a float holds.
#include <algorithm>
#include <cmath>

#include "kernels/batch_norm/over_ranks.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::BatchNormDims;
using kernels::GradientMode;
using kernels::Moments;

// Two parts of 31 rows for the rung "split", in units of one float and of four. A thread has at
// most 12 values of a channel.
constexpr BatchNormDims kTwoParts[] = {{62, 16, 71}, {62, 16, 68}};
constexpr std::int64_t kManyRows = 250001;  // on all ranks: more values than a float counts

class BatchNormExact : public DeviceTest {
 protected:
  // Each is a way to sum; the others take one of these, or keep fewer digits of a mean.
  std::vector<std::string_view> variants() const {
    if (device().is_cpu()) return {"two_pass"};
    return {"two_pass", "split"};
  }
  static std::int64_t values(const BatchNormDims& d) { return d.n * d.inner; }  // of a channel

  // value(channel, row, place in the row) for the whole array.
  template <class Value>
  static std::vector<float> filled(const BatchNormDims& d, const Value& value) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < d.n * d.c * d.inner; ++i) {
      x.push_back(static_cast<float>(value(i / d.inner % d.c, i / d.inner / d.c, i % d.inner)));
    }
    return x;
  }
  // The sums over each channel of visit(index), which is a whole number.
  template <class Visit>
  static std::vector<std::int64_t> sums(const BatchNormDims& d, const Visit& visit) {
    std::vector<std::int64_t> found(at(d.c));
    for (std::int64_t i = 0; i < d.n * d.c * d.inner; ++i) {
      found[at(i / d.inner % d.c)] += static_cast<std::int64_t>(visit(at(i)));
    }
    return found;
  }

  struct Scratch {
    Scratch(const BatchNormDims& d, const Stream& stream)
        : bytes(kernels::batch_norm_workspace_bytes(d, stream.device())),
          memory(static_cast<std::int64_t>(bytes / sizeof(double)), stream) {}
    kernels::Workspace lent() { return {memory.data(), bytes}; }

    std::size_t bytes;
    Guarded<double> memory;
  };

  struct Found {
    std::vector<double> moments;  // count, mean and squares of each channel
    std::vector<float> mean;
  };
  Found moments(const std::vector<float>& x, const BatchNormDims& d, std::int64_t all_n,
                std::string_view variant) {
    Scratch scratch(d, stream());
    Guarded<float> in(x, stream()), mean(d.c, stream());
    Guarded<double> kept(3 * d.c, stream());
    kernels::batch_norm_moments(reinterpret_cast<Moments*>(kept.data()), mean.data(), in.data(), d,
                                all_n, {.variant = variant}, scratch.lent(), stream());
    return {kept.get(), mean.get()};
  }

  // The moments of `x` on one of several ranks are those of whole numbers around `center`.
  void expect_moments(const std::vector<float>& x, const BatchNormDims& d, std::int64_t center,
                      bool squares_are_exact, std::string_view variant) {
    const auto distance = [&](std::size_t i) { return static_cast<std::int64_t>(x[i]) - center; };
    const std::vector<std::int64_t> sum = sums(d, distance);
    const std::vector<std::int64_t> square =
        sums(d, [&](std::size_t i) { return distance(i) * distance(i); });
    const double count = static_cast<double>(values(d));
    const double all = static_cast<double>(kManyRows * d.inner);
    std::vector<double> expected;
    std::vector<float> share;
    for (std::size_t c = 0; c < sum.size(); ++c) {
      const double total = static_cast<double>(sum[c]);
      const double mean = static_cast<double>(center) + total / count;
      expected.insert(expected.end(),
                      {count, mean, static_cast<double>(square[c]) - total * total / count});
      share.push_back(static_cast<float>(mean * (count / all)));
    }
    Found found = moments(x, d, kManyRows, variant);
    EXPECT_TRUE(same_bits(found.mean, share)) << variant;
    for (std::size_t i = 2; !squares_are_exact && i < expected.size(); i += 3) {
      expected[i] = found.moments[i];
    }
    EXPECT_TRUE(compare(found.moments, expected, {0, 1e-13, false}, str(variant)));
  }
};

// The first rows of a part are equal, and a part is as far below the center as the other is above:
// so every rung subtracts a whole number from the values before it sums them.
TEST_P(BatchNormExact, MomentsOfARank) {
  if (device().is_cpu()) GTEST_SKIP() << "256 values are summed in float there";
  for (const BatchNormDims& d : kTwoParts) {
    const std::vector<float> any = random_floats(d.n * d.c * d.inner, 1, 0, 1);
    const std::int64_t half = d.n / 2;
    const auto around = [&](std::int64_t center, float spread, std::int64_t skew) {
      return filled(d, [&, center, spread, skew](std::int64_t c, std::int64_t row, std::int64_t j) {
        const std::int64_t of = row % half, place = ((of * d.c) + c) * d.inner + j;
        const auto step = static_cast<std::int64_t>(any[at(place)] * spread) + 100;
        const std::int64_t distance = of <= half / 2 ? -300 : step;
        const std::int64_t last = row + 1 == d.n && j + 1 == d.inner ? skew : 0;
        return center + (row < half ? distance : -distance) + last;
      });
    };
    for (const std::string_view variant : variants()) {
      // Sums of 28 bits. Squares of these are more than a thread adds up exactly.
      expect_moments(around(1000003, 0x1p18f, 0), d, 1000003, false, variant);
      expect_moments(around(5, 400, 0), d, 5, true, variant);  // squares of 28 bits
      if (variant != "split") continue;  // it subtracts a mean that a float has to hold
      expect_moments(around(5, 400, 1), d, 5, true, variant);
      expect_moments(around(1000003, 0x1p18f, 12345), d, 1000003, false, variant);
    }
  }
}

// Random moments that differ from the mean of all, which is as near to them as a float can be.
TEST_P(BatchNormExact, VarianceOfRanks) {
  const std::int64_t channels = 200;
  const BatchNormDims d{3, channels, 71};
  const std::vector<float> any = random_floats(4 * channels, 2, 1, 2);
  std::vector<double> kept;
  std::vector<float> mean, expected;
  const double all = static_cast<double>(kManyRows * d.inner), count = 3 * 71;
  for (std::size_t c = 0; c < at(channels); ++c) {
    const double fine = static_cast<double>(any[4 * c]) * (1 + 0x1p-27);
    const double squares = c % 2 == 0 ? 0 : fine * static_cast<double>(any[4 * c + 1]) * 1e7;
    const double own = fine * static_cast<double>(any[4 * c + 2]);
    mean.push_back(any[4 * c + 3]);
    const double distance = own - static_cast<double>(mean.back());
    kept.insert(kept.end(), {count, own, squares});
    expected.push_back(static_cast<float>((squares + count * distance * distance) / all));
  }
  Guarded<double> moments(kept, stream());
  Guarded<float> mean_in(mean, stream()), var(channels, stream());
  kernels::batch_norm_variance(var.data(), reinterpret_cast<Moments*>(moments.data()),
                               mean_in.data(), d, kManyRows, stream());
  EXPECT_TRUE(same_bits(var.get(), expected));
}

// Of 2^24 + 1 values: n / (n - 1) lies between 1 and the next float, at the same distance from
// both.
TEST_P(BatchNormExact, UnbiasedVarianceOfRanks) {
  const std::vector<float> one = {1}, other = {5};
  Guarded<float> var(one, stream()), mean(one, stream()), running_mean(other, stream()),
      running_var(other, stream());
  kernels::batch_norm_finish(var.data(), running_mean.data(), running_var.data(), mean.data(),
                             var.data(), 0, 1, {1, 1, 1}, (1 << 24) + 1, stream());
  EXPECT_TRUE(same_bits(running_var.get(), one));
  EXPECT_TRUE(same_bits(running_mean.get(), one));
  EXPECT_TRUE(same_bits(var.get(), one));
}

// With mean 0 and 1 / std 1, xhat is x.
TEST_P(BatchNormExact, GradientSumsOfARank) {
  if (device().is_cpu()) GTEST_SKIP() << "256 values are summed in float there";
  for (const BatchNormDims& d : kTwoParts) {
    const std::vector<float> dy = random_integers(d.n * d.c * d.inner, 3, 0, 1 << 18);
    const std::vector<float> x = random_integers(d.n * d.c * d.inner, 4, 0, 1);
    const std::vector<std::int64_t> sum = sums(d, [&](std::size_t i) { return dy[i]; });
    const std::vector<std::int64_t> product = sums(d, [&](std::size_t i) { return dy[i] * x[i]; });
    std::vector<float> dbeta(sum.begin(), sum.end()), dgamma(product.begin(), product.end()), means;
    const double all = static_cast<double>(kManyRows * d.inner);
    for (const auto& totals : {sum, product}) {
      for (const std::int64_t total : totals) {
        means.push_back(static_cast<float>(static_cast<double>(total) / all));
      }
    }
    Guarded<float> dy_in(dy, stream()), x_in(x, stream()),
        mean(std::vector<float>(at(d.c), 0.0f), stream()),
        inv_std(std::vector<float>(at(d.c), 1.0f), stream());
    for (const std::string_view variant : variants()) {
      Scratch scratch(d, stream());
      Guarded<float> dgamma_out(d.c, stream()), dbeta_out(d.c, stream()),
          means_out(2 * d.c, stream());
      kernels::batch_norm_gradient_sums(dgamma_out.data(), dbeta_out.data(), means_out.data(),
                                        dy_in.data(), x_in.data(), mean.data(), inv_std.data(), d,
                                        kManyRows, GradientMode::overwrite, {.variant = variant},
                                        scratch.lent(), stream());
      EXPECT_TRUE(same_bits(dbeta_out.get(), dbeta)) << variant;
      EXPECT_TRUE(same_bits(dgamma_out.get(), dgamma)) << variant;
      EXPECT_TRUE(same_bits(means_out.get(), means)) << variant;
    }
  }
}

// dx = dy - mean dy - x mean (dy x), of which one mean is 0 and the other is rounded once.
TEST_P(BatchNormExact, MeansOfGradients) {
  if (device().is_cpu()) GTEST_SKIP() << "256 values are summed in float there";
  for (const BatchNormDims& d : kTwoParts) {
    const std::vector<float> any = random_integers(d.n * d.c * d.inner, 5, 0, 1 << 18);
    const std::int64_t half = d.n / 2;
    for (const bool hat : {false, true}) {
      // With xhat: the second half of the rows is that before it with the other sign.
      std::vector<float> dy = any, x(any.size(), 0.0f);
      for (std::int64_t i = half * d.c * d.inner; hat && i < std::ssize(any); ++i) {
        const std::int64_t twin = i - half * d.c * d.inner;
        dy[at(i)] = -dy[at(twin)];
        x[at(i)] = -1;
        x[at(twin)] = 1;
      }
      const std::vector<std::int64_t> total =
          sums(d, [&](std::size_t i) { return hat ? dy[i] * x[i] : dy[i]; });
      std::vector<float> expected;
      for (std::int64_t i = 0; i < std::ssize(any); ++i) {
        const double sum = static_cast<double>(total[at(i / d.inner % d.c)]);
        const float mean = static_cast<float>(sum / static_cast<double>(values(d)));
        expected.push_back(dy[at(i)] - (hat ? x[at(i)] * mean : mean));
      }
      const std::vector<float> ones(at(d.c), 1.0f), zeros(at(d.c), 0.0f);
      Guarded<float> dy_in(dy, stream()), x_in(x, stream()), gamma(ones, stream()),
          mean(zeros, stream()), inv_std(ones, stream());
      for (const std::string_view variant : variants()) {
        Scratch scratch(d, stream());
        Guarded<float> dx(std::ssize(any), stream()), dgamma(d.c, stream()), dbeta(d.c, stream());
        kernels::batch_norm_backward(dx.data(), dgamma.data(), dbeta.data(), dy_in.data(),
                                     x_in.data(), gamma.data(), mean.data(), inv_std.data(), d,
                                     GradientMode::overwrite, GradientMode::overwrite,
                                     {.variant = variant}, scratch.lent(), stream());
        EXPECT_TRUE(same_bits(dx.get(), expected)) << variant << hat;
      }
    }
  }
}

// Three quarters of the values are 2^23, the others 2^23 + 1. Distances from the mean that a float
// holds, 2^23, would give a variance of 1/4.
TEST_P(BatchNormExact, PartsMeetAtAMeanBetweenFloats) {
  if (device().is_cpu()) GTEST_SKIP() << "the CPU takes distances from the rounded mean";
  const BatchNormDims d{1, 1, 1024};
  const std::vector<float> x = filled(d, [](std::int64_t, std::int64_t, std::int64_t j) {
    return (1 << 23) + (j % 16 < 4 ? 1 : 0);
  });
  const std::vector<float> one = {1}, zero = {0};
  Scratch scratch(d, stream());
  Guarded<float> in(x, stream()), y(1024, stream()), mean(1, stream()), inv_std(1, stream()),
      running_mean(one, stream()), running_var(one, stream()), gamma(one, stream()),
      beta(zero, stream());
  kernels::batch_norm_forward(y.data(), mean.data(), inv_std.data(), running_mean.data(),
                              running_var.data(), in.data(), gamma.data(), beta.data(), 0, 1, d,
                              {.variant = "split"}, scratch.lent(), stream());
  const std::vector<double> variance = {3.0 / 16 * 1024 / 1023}, deviation = {std::sqrt(16.0 / 3)};
  EXPECT_TRUE(compare(running_var.get(), variance, {0, 1e-7, false}));
  EXPECT_TRUE(compare(inv_std.get(), deviation, {0, 1e-7, false}));
}

// More values of a channel than a float can count: the nearest float is one more.
constexpr BatchNormDims kBeyondFloats{4099, 1, 4097};

// 0 and 2 in turn, and a last 1: their mean is 1, and so is the unbiased variance.
std::vector<float> zeros_and_twos() {
  std::vector<float> x(at(kBeyondFloats.n * kBeyondFloats.inner));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 == 0 ? 0.0f : 2.0f;
  x.back() = 1;
  return x;
}

TEST_P(BatchNormExact, LargeCountsOfForward) {
  const BatchNormDims& d = kBeyondFloats;
  const std::vector<float> x = zeros_and_twos(), one = {1}, zero = {0};
  Guarded<float> in(x, stream()), y(values(d), stream()), gamma(one, stream()),
      beta(zero, stream());
  for (const std::string_view variant : variants()) {
    Scratch scratch(d, stream());
    Guarded<float> mean(1, stream()), inv_std(1, stream()), running_mean(zero, stream()),
        running_var(zero, stream());
    kernels::batch_norm_forward(y.data(), mean.data(), inv_std.data(), running_mean.data(),
                                running_var.data(), in.data(), gamma.data(), beta.data(), 0, 1, d,
                                {.variant = variant}, scratch.lent(), stream());
    EXPECT_TRUE(same_bits(mean.get(), one)) << variant;
    EXPECT_TRUE(same_bits(running_var.get(), one)) << variant;
    EXPECT_TRUE(same_bits(inv_std.get(), one)) << variant;
  }
}

TEST_P(BatchNormExact, LargeCountsOfMoments) {
  const BatchNormDims& d = kBeyondFloats;
  const std::vector<float> x = zeros_and_twos(), one = {1};
  const double count = static_cast<double>(values(d));
  for (const std::string_view variant : variants()) {
    const Found found = moments(x, d, d.n, variant);
    EXPECT_TRUE(compare(found.moments, std::vector<double>{count, 1, count - 1}, {0, 1e-13, false}))
        << variant;
    EXPECT_TRUE(same_bits(found.mean, one)) << variant;
  }
}

// The mean of gradients of 1 is 1, and nothing is left of them.
TEST_P(BatchNormExact, LargeCountsOfBackward) {
  const BatchNormDims& d = kBeyondFloats;
  const std::vector<float> one = {1};
  Guarded<float> ones(std::vector<float>(at(values(d)), 1.0f), stream()), gamma(one, stream()),
      mean(one, stream()), inv_std(one, stream()), dx(values(d), stream());
  for (const std::string_view variant : variants()) {
    Scratch scratch(d, stream());
    Guarded<float> dgamma(1, stream()), dbeta(1, stream());
    kernels::batch_norm_backward(dx.data(), dgamma.data(), dbeta.data(), ones.data(), ones.data(),
                                 gamma.data(), mean.data(), inv_std.data(), d,
                                 GradientMode::overwrite, GradientMode::overwrite,
                                 {.variant = variant}, scratch.lent(), stream());
    const std::vector<float> found = dx.get();
    EXPECT_EQ(std::count(found.begin(), found.end(), 0.0f), values(d)) << variant;
    EXPECT_EQ(dbeta.get()[0], static_cast<float>(values(d))) << variant;
    EXPECT_EQ(dgamma.get()[0], 0.0f) << variant;
  }
}

WEFT_ON_EACH_DEVICE(BatchNormExact);

}  // namespace
}  // namespace weft::test

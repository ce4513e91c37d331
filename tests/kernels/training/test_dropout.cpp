// SPDX-License-Identifier: MIT
#include "kernels/dropout/dropout.h"

#include <limits>

#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::DropoutKey;
using kernels::GradientMode;

// The contract's rule, written out.
bool is_kept(std::uint64_t seed, std::uint32_t layer, std::int64_t step, std::int64_t i, float p) {
  const std::uint64_t index =
      (static_cast<std::uint64_t>(step) << 32) + static_cast<std::uint64_t>(i / 4);
  return uniform01(philox(seed, RandomStream::dropout, layer, index).value[i % 4]) >= p;
}

class DropoutTest : public DeviceTest {
 protected:
  std::vector<float> drop(const std::vector<float>& x, float p, std::uint64_t seed,
                          std::uint32_t layer, std::int64_t step_value, std::int64_t misalign = 0,
                          std::int64_t first = 0) const {
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    Guarded<float> in(x, stream(), misalign), out(n, stream(), misalign);
    Guarded<std::int64_t> step(std::vector<std::int64_t>{step_value}, stream());
    kernels::dropout(out.data(), in.data(), n, p, {seed, layer, step.data(), first},
                     GradientMode::overwrite, stream());
    return out.get();
  }
};

TEST_P(DropoutTest, FollowsTheCountersOnEveryDevice) {
  for (const std::int64_t n : linear_sizes()) {
    for (const float p : {0.0f, 0.25f, 0.9f}) {
      const std::vector<float> x = random_off_zero(n, 1);
      const std::vector<float> y = drop(x, p, 0x123456789abcdef0u, 3, 1234567, n % 2);
      const float scale = 1.0f / (1.0f - p);
      std::vector<float> expected;
      for (std::int64_t i = 0; i < n; ++i) {
        const bool keep = is_kept(0x123456789abcdef0u, 3, 1234567, i, p);
        expected.push_back(keep ? x[static_cast<std::size_t>(i)] * scale : 0.0f);
      }
      EXPECT_TRUE(compare(y, to_double(expected), {0, 0, true}, str("n ", n, ", p ", p)));
    }
  }
}

// The rule is `>=`: an element whose random number is p itself stays.
TEST_P(DropoutTest, KeepsAnElementAtTheProbabilityItself) {
  const std::uint64_t step = 9;
  for (std::uint64_t i = 0; i < 8; ++i) {
    const Random4 bits = philox(7, RandomStream::dropout, 2, (step << 32) + i / 4);
    const float p = uniform01(bits.value[i % 4]);
    const std::vector<float> y = drop(std::vector<float>(8, 1.0f), p, 7, 2, step);
    EXPECT_EQ(y[i], 1.0f / (1.0f - p)) << "element " << i;
  }
}

TEST_P(DropoutTest, KeepsTheRightShareAndTheMean) {
  const std::int64_t n = 200000;
  for (const float p : {0.1f, 0.5f, 0.8f}) {
    const std::vector<float> y =
        drop(std::vector<float>(static_cast<std::size_t>(n), 1.0f), p, 7, 0, 0);
    std::int64_t kept = 0;
    for (const float value : y) kept += value != 0;
    const double share = 1 - static_cast<double>(p);
    const double sigma = std::sqrt(static_cast<double>(n) * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(kept), static_cast<double>(n) * share, 5 * sigma);
  }
}

TEST_P(DropoutTest, MasksDifferByStepLayerAndSeed) {
  const std::vector<float> x(1000, 1.0f);
  const std::vector<float> base = drop(x, 0.5f, 7, 0, 0);
  EXPECT_TRUE(same_bits(base, drop(x, 0.5f, 7, 0, 0)));
  for (const std::vector<float>& other :
       {drop(x, 0.5f, 8, 0, 0), drop(x, 0.5f, 7, 1, 0), drop(x, 0.5f, 7, 0, 1)}) {
    std::int64_t equal = 0;
    for (std::size_t i = 0; i < x.size(); ++i) equal += base[i] == other[i];
    EXPECT_NEAR(static_cast<double>(equal), 500, 80);  // 5 sigma of a fair coin
  }
}

// Rows of a batch that lie on several devices.
TEST_P(DropoutTest, AShareDropsWhatTheWholeBatchDrops) {
  const std::int64_t n = 3001;
  const std::vector<float> x = random_off_zero(n, 4);
  const std::vector<float> whole = drop(x, 0.5f, 7, 2, 5);
  for (const std::int64_t first : {0, 1, 2, 3, 4, 511, 512, 1022, 2999, 3000}) {
    for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{6}, n - first}) {
      if (first + rows > n) continue;
      const std::vector<float> share(x.begin() + first, x.begin() + first + rows);
      const std::vector<float> expected(whole.begin() + first, whole.begin() + first + rows);
      EXPECT_TRUE(same_bits(drop(share, 0.5f, 7, 2, 5, rows % 2, first), expected))
          << rows << " from " << first;
    }
  }
}

TEST_P(DropoutTest, InPlaceAndAccumulate) {
  const std::int64_t n = 50001;
  const std::vector<float> x = random_floats(n, 2), start = random_floats(n, 3);
  const std::vector<float> y = drop(x, 0.5f, 7, 2, 5);
  Guarded<std::int64_t> step(std::vector<std::int64_t>{5}, stream());
  const DropoutKey key{7, 2, step.data()};
  Guarded<float> in_place(x, stream());
  kernels::dropout(in_place.data(), in_place.data(), n, 0.5f, key, GradientMode::overwrite,
                   stream());
  EXPECT_TRUE(same_bits(in_place.get(), y));
  Guarded<float> sum(start, stream()), in(x, stream());
  kernels::dropout(sum.data(), in.data(), n, 0.5f, key, GradientMode::accumulate, stream());
  std::vector<double> expected;
  for (std::size_t i = 0; i < y.size(); ++i) {
    expected.push_back(static_cast<double>(start[i]) + static_cast<double>(y[i]));
  }
  EXPECT_TRUE(compare(sum.get(), expected, {3e-7, 0, false}));
}

TEST_P(DropoutTest, DroppedNanIsZero) {
  const std::vector<float> x(64, std::numeric_limits<float>::quiet_NaN());
  const std::vector<float> y = drop(x, 0.5f, 7, 0, 0);
  for (std::int64_t i = 0; i < 64; ++i) {
    const float value = y[static_cast<std::size_t>(i)];
    EXPECT_EQ(is_kept(7, 0, 0, i, 0.5f), std::isnan(value));
    if (!std::isnan(value)) {
      EXPECT_EQ(value, 0);
    }
  }
}

TEST_P(DropoutTest, RefusesBadArguments) {
  Guarded<float> y(4, stream());
  Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  const auto run = [&](std::int64_t n, float p, const std::int64_t* at, std::int64_t first = 0) {
    kernels::dropout(y.data(), y.data(), n, p, {1, 0, at, first}, GradientMode::overwrite,
                     stream());
  };
  EXPECT_USAGE_ERROR(run(4, 1.0f, step.data()), "[0, 1)");
  EXPECT_USAGE_ERROR(run(4, -0.1f, step.data()), "[0, 1)");
  EXPECT_USAGE_ERROR(run(4, std::numeric_limits<float>::quiet_NaN(), step.data()), "[0, 1)");
  EXPECT_USAGE_ERROR(run(std::int64_t{1} << 34, 0.5f, step.data()), "2^34");
  EXPECT_USAGE_ERROR(run(4, 0.5f, step.data(), (std::int64_t{1} << 34) - 4), "2^34");
  EXPECT_USAGE_ERROR(run(4, 0.5f, step.data(), -1), "from element -1");
  EXPECT_USAGE_ERROR(run(4, 0.5f, nullptr), "step");
  const std::vector<float> before = y.get();
  run(0, 0.5f, step.data());
  EXPECT_TRUE(same_bits(y.get(), before));
}

WEFT_ON_EACH_DEVICE(DropoutTest);

}  // namespace
}  // namespace weft::test

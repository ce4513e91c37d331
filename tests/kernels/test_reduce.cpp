// SPDX-License-Identifier: MIT
#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "tests/cases/reduce_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::Reduction;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float reduce_on(const Stream& stream, const std::vector<float>& x, Reduction kind,
                std::int64_t misalign = 0) {
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  Guarded<float> in(x, stream, misalign), result(1, stream);
  Guarded<std::uint8_t> scratch(
      static_cast<std::int64_t>(kernels::reduce_workspace_bytes(n, stream.device())), stream);
  kernels::reduce(result.data(), in.data(), n, kind,
                  {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream);
  static_cast<void>(scratch.get());  // checks its guard bands
  return result.get()[0];
}

class ReduceTest : public DeviceTest {
 protected:
  float reduce(const std::vector<float>& x, Reduction kind, std::int64_t misalign = 0) const {
    return reduce_on(stream(), x, kind, misalign);
  }
};

TEST_P(ReduceTest, SumsMatchAnOracle) {
  const double eps = std::numeric_limits<float>::epsilon();
  for (const auto [n] : cases::kReduceCases) {
    for (const std::int64_t misalign : {0, 1}) {
      const std::vector<float> x = random_floats(n, 1);
      double sum = 0, squares = 0;
      for (const float value : x) {
        sum += static_cast<double>(value);
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
      // Partial sums of up to 1024 terms are kept in float.
      const double bound = eps * (std::fabs(sum) + 32 * std::sqrt(squares));
      EXPECT_TRUE(std::fabs(static_cast<double>(reduce(x, Reduction::sum, misalign)) - sum) <=
                  bound)
          << n;
      EXPECT_TRUE(std::fabs(static_cast<double>(reduce(x, Reduction::sum_of_squares, misalign)) -
                            squares) <= 8 * eps * squares)
          << n;
    }
  }
}

TEST_P(ReduceTest, IntegersAndCancellationAreExact) {
  for (const auto [n] : cases::kReduceCases) {
    // Pairs +-k at distance n / 2 cancel; what remains is the sum of small integers.
    std::vector<float> x = random_integers(n, 2);
    const double expected = std::accumulate(x.begin(), x.end(), 0.0);
    for (std::int64_t i = 0; i < n / 2; ++i) {
      x[static_cast<std::size_t>(i)] += 1000;
      x[static_cast<std::size_t>(i + n / 2)] -= 1000;
    }
    EXPECT_EQ(static_cast<double>(reduce(x, Reduction::sum)), expected) << n;
  }
}

TEST_P(ReduceTest, MinimumAndMaximumFindEveryPlace) {
  for (const auto [n] : cases::kReduceCases) {
    std::vector<float> x = random_floats(n, 3);
    EXPECT_EQ(reduce(x, Reduction::min, 1), *std::min_element(x.begin(), x.end())) << n;
    EXPECT_EQ(reduce(x, Reduction::max, 2), *std::max_element(x.begin(), x.end())) << n;
    for (const std::int64_t place : {std::int64_t{0}, n / 3, n - 1}) {
      const std::vector<float> saved = x;
      x[static_cast<std::size_t>(place)] = -7;
      EXPECT_EQ(reduce(x, Reduction::min), -7) << n << " at " << place;
      x[static_cast<std::size_t>(place)] = 7;
      EXPECT_EQ(reduce(x, Reduction::max), 7) << n << " at " << place;
      for (const Reduction kind :
           {Reduction::sum, Reduction::sum_of_squares, Reduction::min, Reduction::max}) {
        x[static_cast<std::size_t>(place)] = kNan;
        EXPECT_TRUE(std::isnan(reduce(x, kind))) << n << " at " << place;
      }
      x = saved;
    }
  }
}

TEST_P(ReduceTest, InfinitiesAndEmptyInput) {
  EXPECT_EQ(reduce({kInf, kInf}, Reduction::min), kInf);
  EXPECT_EQ(reduce({-kInf, 1}, Reduction::max), 1);
  EXPECT_EQ(reduce({-kInf, 1}, Reduction::min), -kInf);
  EXPECT_EQ(reduce({}, Reduction::sum), 0);
  EXPECT_EQ(reduce({}, Reduction::sum_of_squares), 0);
  EXPECT_EQ(reduce({}, Reduction::min), kInf);
  EXPECT_EQ(reduce({}, Reduction::max), -kInf);
}

TEST_P(ReduceTest, RepeatsToTheBit) {
  const std::vector<float> x = random_floats(1000003, 4);
  for (const Reduction kind : {Reduction::sum, Reduction::sum_of_squares}) {
    EXPECT_TRUE(
        same_bits(std::vector<float>{reduce(x, kind)}, std::vector<float>{reduce(x, kind)}));
  }
}

TEST_P(ReduceTest, RefusesAShortWorkspace) {
  Guarded<float> x(100, stream()), result(1, stream());
  EXPECT_USAGE_ERROR(kernels::reduce(result.data(), x.data(), 100, Reduction::sum, {}, stream()),
                     "workspace");
}

TEST(ReduceCpu, DoesNotDependOnThreads) {
  const Stream stream(Device::cpu());
  const std::vector<float> x = random_floats(1000003, 5);
  const auto [one, three] =
      with_thread_counts([&] { return std::vector<float>{reduce_on(stream, x, Reduction::sum)}; });
  EXPECT_TRUE(same_bits(one, three));
}

WEFT_ON_EACH_DEVICE(ReduceTest);

}  // namespace
}  // namespace weft::test

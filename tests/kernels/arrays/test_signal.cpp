// SPDX-License-Identifier: MIT
#include "kernels/signal/signal.h"

#include <functional>
#include <limits>
#include <numeric>

#include "kernels/signal/cpu/table.h"
#include "kernels/signal/cpu/templates.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/signal_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(SignalCpu, signal_cpu)

namespace weft::test {
namespace {

using namespace weft::kernels;

std::vector<double> oracle(const std::vector<float>& x, const std::vector<float>& filter,
                           const SignalDims& dims) {
  const std::vector<double> x64 = to_double(x), filter64 = to_double(filter);
  std::vector<double> y(x.size());
  cpu::signal_convolve<double>(y.data(), x64.data(), filter64.data(), dims);
  return y;
}

// A random walk of partial sums of size sqrt(taps) / 3, with room for unlucky signs.
Bound rounding(const SignalDims& dims) {
  const double eps = std::numeric_limits<float>::epsilon();
  return {4 * eps * (static_cast<double>(dims.taps()) / 6 + 2), 4 * eps, true};
}

class Signal : public DeviceTest {
 protected:
  void for_each_variant(const SignalDims& dims,
                        const std::function<void(const std::string&, SignalOptions)>& body) const {
    int variants = 0;
    for (const Rung& rung : signal_rungs()) {
      if (!taken(rung, device(), signal_takes(rung.name, dims, device()))) continue;
      ++variants;
      body(std::string(rung.name), {rung.name});
    }
    EXPECT_GT(variants, 0);
    body("automatic", {});
  }

  std::vector<float> convolve(const std::vector<float>& x, const std::vector<float>& filter,
                              const SignalDims& dims, const SignalOptions& options,
                              std::int64_t misalign = 0) const {
    Guarded<float> in(x, stream(), misalign), taps(filter, stream(), misalign);
    Guarded<float> out(dims.elements(), stream(), misalign);
    signal_convolve(out.data(), in.data(), taps.data(), dims, options, stream());
    return out.get();
  }
};

TEST_P(Signal, MatchesTheOracle) {
  for (const problems::Signal& c : small_tests() ? few_signal_cases() : signal_cases()) {
    const std::vector<float> x = random_floats(c.dims.elements(), 1);
    const std::vector<float> filter = random_floats(c.dims.taps(), 2);
    const std::vector<double> expected = oracle(x, filter, c.dims);
    for_each_variant(c.dims, [&](const std::string& variant, const SignalOptions& options) {
      EXPECT_TRUE(compare(convolve(x, filter, c.dims, options), expected, rounding(c.dims),
                          variant + " " + c.text()));
    });
    if (HasFailure()) return;
  }
}

TEST_P(Signal, IsExactOnIntegers) {
  Bound bound = exact();
  bound.zero_is_right = true;
  for (const problems::Signal& c : small_tests() ? few_signal_cases() : signal_cases()) {
    const std::vector<float> x = random_integers(c.dims.elements(), 3);
    const std::vector<float> filter = random_integers(c.dims.taps(), 4);
    const std::vector<double> expected = oracle(x, filter, c.dims);
    for_each_variant(c.dims, [&](const std::string& variant, const SignalOptions& options) {
      EXPECT_TRUE(compare(convolve(x, filter, c.dims, options, 1), expected, bound,
                          variant + " " + c.text()));
    });
    if (HasFailure()) return;
  }
}

// Filters that only some rungs have room for: the call goes to one that has.
TEST_P(Signal, FiltersTooLongForTilesGoToOtherRungs) {
  if (device().is_cpu()) {
    EXPECT_EQ(signal_choice({1, 1, 2000, 1, 1, 513}, device()).rung, "naive");
    return;
  }
  EXPECT_EQ(signal_choice({1, 1, 2000, 1, 1, 512}, device()).rung, "tiled_halo_internal");
  EXPECT_EQ(signal_choice({1, 1, 2000, 1, 1, 513}, device()).rung, "naive");
  EXPECT_EQ(signal_choice({1, 99, 99, 1, 33, 33}, device()).rung, "tiled");
  EXPECT_EQ(signal_choice({30, 30, 30, 25, 25, 25}, device()).rung, "naive");
  EXPECT_FALSE(signal_takes("tiled_input", {1, 1, 2000, 1, 1, 513}, device()));
  EXPECT_FALSE(signal_takes("tiled", {30, 30, 30, 25, 25, 25}, device()));
  EXPECT_TRUE(signal_takes("constant_memory", {30, 30, 30, 25, 25, 25}, device()));
}

TEST_P(Signal, OfEqualValuesIsTheSumOfTheTaps) {
  const std::int64_t n = 2100;
  const std::vector<float> x(static_cast<std::size_t>(n), 3), filter = random_integers(9, 12);
  const std::vector<double> expected = oracle(x, filter, {1, 1, n, 1, 1, 9});
  EXPECT_EQ(expected[1000], 3 * std::accumulate(filter.begin(), filter.end(), 0.0));
  for_each_variant({1, 1, n, 1, 1, 9}, [&](const std::string& variant, const SignalOptions& o) {
    EXPECT_TRUE(compare(convolve(x, filter, {1, 1, n, 1, 1, 9}, o), expected, exact(), variant));
  });
}

// By hand: where the filter lies, and that it is not mirrored.
TEST_P(Signal, PlacesTheFilter) {
  const std::vector<float> x = {1, 2, 3, 4, 5};
  const SignalDims odd{1, 1, 5, 1, 1, 3}, even{1, 1, 5, 1, 1, 4};
  for_each_variant(odd, [&](const std::string& variant, const SignalOptions& options) {
    const std::vector<float> three = {210, 321, 432, 543, 54}, four = {2100, 3210, 4321, 5432, 543};
    EXPECT_EQ(convolve(x, {1, 10, 100}, odd, options), three) << variant;
    EXPECT_EQ(convolve(x, {1, 10, 100, 1000}, even, options), four) << variant;
  });
  const SignalDims image{1, 2, 2, 1, 2, 2}, volume{2, 1, 1, 3, 1, 1};
  for_each_variant(image, [&](const std::string& variant, const SignalOptions& options) {
    const std::vector<float> expected = {1000, 2100, 3010, 4321};
    EXPECT_EQ(convolve({1, 2, 3, 4}, {1, 10, 100, 1000}, image, options), expected) << variant;
  });
  for_each_variant(volume, [&](const std::string& variant, const SignalOptions& options) {
    const std::vector<float> expected = {710, 71};
    EXPECT_EQ(convolve({1, 7}, {1, 10, 100}, volume, options), expected) << variant;
  });
}

TEST_P(Signal, SpreadsNanOverItsWindowOnly) {
  const SignalDims dims{1, 1, 3000, 1, 1, 5};
  std::vector<float> x = random_floats(3000, 5);
  x[1024] = std::numeric_limits<float>::quiet_NaN();
  for_each_variant(dims, [&](const std::string& variant, const SignalOptions& options) {
    const std::vector<float> y = convolve(x, {1, 2, 3, 4, 5}, dims, options);
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(std::isnan(y[i]), i >= 1022 && i <= 1026) << variant << " at " << i;
    }
  });
}

TEST_P(Signal, EmptySignalsWriteNothing) {
  for (const SignalDims& dims :
       {SignalDims{1, 1, 0, 1, 1, 3}, SignalDims{1, 0, 5, 1, 3, 3}, SignalDims{0, 4, 4, 3, 3, 3}}) {
    for_each_variant(dims, [&](const std::string& variant, const SignalOptions& options) {
      Guarded<float> y(4, stream());
      signal_convolve(y.data(), nullptr, nullptr, dims, options, stream());
      for (const float value : y.get()) EXPECT_TRUE(std::isnan(value)) << variant;
    });
  }
}

TEST_P(Signal, RefusesWhatItCannotDo) {
  const auto run = [&](const SignalDims& dims, std::string_view variant = kAutomatic) {
    signal_convolve(nullptr, nullptr, nullptr, dims, {variant}, stream());
  };
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_USAGE_ERROR(run({1, 1, -1}), "negative");
  EXPECT_USAGE_ERROR(run({1, huge, huge}), "2^63");
  EXPECT_USAGE_ERROR(run({1, 1, 9, 1, 1, 0}), "[1, 16384], found 0");
  EXPECT_USAGE_ERROR(run({1, 1, 9, 1, 1, 16385}), "[1, 16384], found 16385");
  EXPECT_USAGE_ERROR(run({1, 9, 9, 1, 129, 3}), "[1, 128], found 129");
  EXPECT_USAGE_ERROR(run({9, 9, 9, 3, 3, 26}), "[1, 25], found 26");
  for (const Rung& rung : signal_rungs()) {
    if (!(device().is_cpu() ? rung.on_cpu : rung.on_cuda)) {
      EXPECT_USAGE_ERROR(run({1, 1, 9, 1, 1, 3}, rung.name), "does not run on");
      continue;
    }
    for (const SignalDims& dims :
         {SignalDims{1, 1, 9, 1, 1, 3}, SignalDims{1, 9, 9, 1, 3, 3}, SignalDims{9, 9, 9, 3, 3, 3},
          SignalDims{1, 1, 9, 1, 1, 513}, SignalDims{9, 9, 9, 25, 25, 25}}) {
      if (signal_takes(rung.name, dims, device())) continue;
      EXPECT_USAGE_ERROR(run(dims, rung.name), "needs");
    }
  }
  EXPECT_USAGE_ERROR(run({1, 1, 9, 1, 1, 3}, "fast"), "tiled_cached_halo");
}

WEFT_ON_EACH_DEVICE(Signal);

TEST(SignalCpuIsas, MatchTheOracle) {
  for (const auto& [isa, table] : signal_cpu_tables()) {
    for (const problems::Signal& c : small_tests() ? few_signal_cases() : signal_cases()) {
      const std::vector<float> x = random_floats(c.dims.elements(), 6);
      const std::vector<float> filter = random_floats(c.dims.taps(), 7);
      std::vector<float> y(x.size());
      table->convolve(y.data(), x.data(), filter.data(), c.dims);
      EXPECT_TRUE(compare(y, oracle(x, filter, c.dims), rounding(c.dims), str(isa, " ", c.text())));
    }
  }
}

// The oracle itself, against the formula written down once more.
TEST(SignalOracle, IsTheFormula) {
  const SignalDims d{3, 4, 5, 2, 3, 4};
  const std::vector<double> x = to_double(random_floats(d.elements(), 8));
  const std::vector<double> f = to_double(random_floats(d.taps(), 9));
  std::vector<double> y(x.size()), expected(x.size());
  cpu::signal_convolve<double>(y.data(), x.data(), f.data(), d);
  for (std::int64_t out = 0; out < d.elements(); ++out) {
    for (std::int64_t tap = 0; tap < d.taps(); ++tap) {
      const std::int64_t z = out / 20 + tap / 12 - 1, h = out / 5 % 4 + tap / 4 % 3 - 1;
      const std::int64_t w = out % 5 + tap % 4 - 2;
      if (z < 0 || z > 2 || h < 0 || h > 3 || w < 0 || w > 4) continue;
      expected[static_cast<std::size_t>(out)] +=
          f[static_cast<std::size_t>(tap)] * x[static_cast<std::size_t>((z * 4 + h) * 5 + w)];
    }
  }
  EXPECT_TRUE(compare(y, expected, {1e-14, 0, false}));
}

TEST(SignalCpu, DoesNotDependOnThreads) {
  const SignalDims dims{1, 1, 100003, 1, 1, 9};
  const std::vector<float> x = random_floats(dims.elements(), 10), f = random_floats(9, 11);
  const auto [one, three] = with_thread_counts([&] {
    std::vector<float> y(x.size());
    select_signal_cpu().convolve(y.data(), x.data(), f.data(), dims);
    return y;
  });
  EXPECT_TRUE(same_bits(one, three));
}

}  // namespace
}  // namespace weft::test

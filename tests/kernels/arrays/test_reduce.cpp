// SPDX-License-Identifier: MIT
#include "kernels/reduce/reduce.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/operators.h"
#include "tests/cases/reduce_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

namespace weft::test {
namespace {

using kernels::ReduceOptions;
using kernels::Reduction;

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

template <class T>
std::vector<T> random_values(std::int64_t n, std::uint64_t seed) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 4, i);
    if constexpr (std::is_integral_v<T>) {
      x[i] = static_cast<T>(static_cast<std::uint64_t>(bits.value[0]) << 32 | bits.value[1]);
    } else {  // small integers: sums are exact in every order, and many values are equal
      x[i] = static_cast<T>(static_cast<int>(bits.value[0] % 9) - 4);
    }
  }
  return x;
}

class ReduceTest : public DeviceTest {
 protected:
  bool takes(std::string_view variant, const kernels::ReduceProblem& problem) const {
    return kernels::reduce_takes(variant, problem, device());
  }
  // Each variant of this device with each of these numbers of threads per block.
  std::vector<ReduceOptions> options_with(const std::vector<int>& block_sizes) const {
    std::vector<ReduceOptions> found;
    for (const kernels::Rung& rung : kernels::reduce_rungs()) {
      for (const int threads : block_sizes) {
        if (taken(rung, device(), takes(rung.name, {.threads = threads}))) {
          found.push_back({rung.name, threads});
        }
      }
    }
    EXPECT_FALSE(found.empty());
    return found;
  }
  std::vector<ReduceOptions> all_options() const {
    if (small_tests()) return options_with({256});
    return options_with({32, 64, 128, 256, 512, 1024});
  }

  template <class T>
  T reduce_as(const std::vector<T>& x, Reduction kind, const ReduceOptions& options) const {
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    Guarded<T> in(x, stream(), options.threads == 64 ? 1 : 0), result(1, stream());
    Guarded<std::uint8_t> scratch(
        static_cast<std::int64_t>(kernels::reduce_workspace_bytes<T>(n, options, device())),
        stream());
    kernels::reduce(result.data(), in.data(), n, kind, options,
                    {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream());
    static_cast<void>(scratch.get());  // checks its guard bands
    return result.get()[0];
  }

  template <class T>
  std::int64_t argmax_of(const std::vector<T>& x, const ReduceOptions& options) const {
    const std::int64_t n = static_cast<std::int64_t>(x.size());
    Guarded<T> in(x, stream());
    Guarded<std::int64_t> index(1, stream());
    Guarded<std::uint8_t> scratch(
        static_cast<std::int64_t>(kernels::reduce_workspace_bytes<T>(n, options, device())),
        stream());
    kernels::argmax(index.data(), in.data(), n, options,
                    {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream());
    static_cast<void>(scratch.get());  // checks its guard bands
    return index.get()[0];
  }

  // Of `few`, the kinds for a sanitizer run: the kernel is the same for each.
  template <class T>
  void every_variant_is_exact(const std::vector<Reduction>& few) const {
    using A = typename kernels::detail::Arithmetic<T>::type;
    std::vector<Reduction> kinds = {Reduction::sum, Reduction::min, Reduction::max};
    if (small_tests()) kinds = few;
    for (const std::int64_t n : cases::kReduceCases) {
      // 2049 elements are three levels of blocks of 32 threads, and two blocks of 1024.
      if (small_tests() ? n != 1 && n != 2049 : n > 300007) continue;
      const std::vector<T> x = random_values<T>(n, 6);
      A sum = 0;
      for (const T value : x) sum += static_cast<A>(value);
      const T min = *std::min_element(x.begin(), x.end());
      const auto max = std::max_element(x.begin(), x.end());
      const std::vector<ReduceOptions> here =
          small_tests() ? options_with(n == 1 ? std::vector{64} : std::vector{32, 1024})
                        : all_options();
      for (const ReduceOptions& options : here) {
        const std::string what =
            str(n, " elements, variant ", options.variant, ", ", options.threads, " threads");
        for (const Reduction kind : kinds) {
          const T expected = kind == Reduction::sum   ? static_cast<T>(sum)
                             : kind == Reduction::min ? min
                                                      : *max;
          EXPECT_EQ(reduce_as(x, kind, options), expected) << what;
        }
        EXPECT_EQ(argmax_of(x, options), max - x.begin()) << what;
      }
    }
  }

  float reduce(const std::vector<float>& x, Reduction kind, std::int64_t misalign = 0) const {
    return reduce_on(stream(), x, kind, misalign);
  }
};

TEST_P(ReduceTest, SumsMatchAnOracle) {
  const double eps = std::numeric_limits<float>::epsilon();
  for (const std::int64_t n : all_or_few(cases::kReduceCases, cases::kFewReduceCases)) {
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
  for (const std::int64_t n : all_or_few(cases::kReduceCases, cases::kFewReduceCases)) {
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
  for (const std::int64_t n : all_or_few(cases::kReduceCases, cases::kFewReduceCases)) {
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
  const std::vector<float> x = random_floats(small_tests() ? 99991 : 1000003, 4);
  for (const Reduction kind : {Reduction::sum, Reduction::sum_of_squares}) {
    EXPECT_TRUE(
        same_bits(std::vector<float>{reduce(x, kind)}, std::vector<float>{reduce(x, kind)}));
  }
}

TEST_P(ReduceTest, RefusesAShortWorkspace) {
  Guarded<float> x(100, stream()), result(1, stream());
  const ReduceOptions two_launches{.variant = "vectorized"};
  EXPECT_USAGE_ERROR(
      kernels::reduce(result.data(), x.data(), 100, Reduction::sum, two_launches, {}, stream()),
      "workspace");
}

TEST_P(ReduceTest, EveryVariantInt32) {
  every_variant_is_exact<std::int32_t>({Reduction::sum});
}
TEST_P(ReduceTest, EveryVariantInt64) {
  every_variant_is_exact<std::int64_t>({Reduction::min});
}
TEST_P(ReduceTest, EveryVariantFloat) {
  every_variant_is_exact<float>({Reduction::max});
}
TEST_P(ReduceTest, EveryVariantDouble) {
  every_variant_is_exact<double>({Reduction::sum});
}

TEST_P(ReduceTest, EveryVariantRoundsWithinItsBoundAndRepeats) {
  const std::vector<float> x = random_floats(small_tests() ? 3001 : 700001, 7);
  double sum = 0, squares = 0;
  for (const float value : x) {
    sum += static_cast<double>(value);
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  const double eps = std::numeric_limits<float>::epsilon();
  for (const ReduceOptions& options : all_options()) {
    const float found = reduce_as(x, Reduction::sum, options);
    const double error = std::fabs(static_cast<double>(found) - sum);
    EXPECT_TRUE(error <= eps * (std::fabs(sum) + 32 * std::sqrt(squares)))
        << options.variant << " is off by " << error;
    EXPECT_TRUE(same_bits(std::vector<float>{found},
                          std::vector<float>{reduce_as(x, Reduction::sum, options)}));
    if (!takes(options.variant, {.kind = Reduction::sum_of_squares})) continue;
    const double off =
        std::fabs(static_cast<double>(reduce_as(x, Reduction::sum_of_squares, options)) - squares);
    EXPECT_TRUE(off <= 8 * eps * squares) << options.variant;
  }
}

TEST_P(ReduceTest, ArgmaxOfTiesNanAndNothing) {
  for (const ReduceOptions& options : all_options()) {
    const std::string_view variant = options.variant;
    EXPECT_EQ(argmax_of(std::vector<float>{}, options), -1) << variant;
    std::vector<float> x(5003, -kInf);
    EXPECT_EQ(argmax_of(x, options), 0) << variant;
    x[4999] = x[1777] = 3;
    EXPECT_EQ(argmax_of(x, options), 1777) << variant;
    x[4000] = x[2500] = kNan;
    EXPECT_EQ(argmax_of(x, options), 2500) << variant;
  }
}

TEST_P(ReduceTest, EveryVariantOfEqualValues) {
  for (const std::int64_t n : sizes_here({1, 33, 1025, 99991}, {1025})) {
    const std::vector<std::int32_t> ones(static_cast<std::size_t>(n), 1 << 20);
    const std::vector<float> tenths(ones.size(), 0.1f);
    const double sum = 0.1f * static_cast<double>(n);
    for (const ReduceOptions& options : all_options()) {
      const std::string_view variant = options.variant;
      const std::uint32_t wrapped = static_cast<std::uint32_t>(n) << 20;
      EXPECT_EQ(reduce_as(ones, Reduction::sum, options), static_cast<std::int32_t>(wrapped))
          << variant;
      EXPECT_EQ(reduce_as(tenths, Reduction::max, options), 0.1f) << variant;
      EXPECT_EQ(argmax_of(tenths, options), 0) << variant;
      // Errors of equal terms have equal signs; a thread adds up to 1024 of them.
      const double found = static_cast<double>(reduce_as(tenths, Reduction::sum, options));
      EXPECT_TRUE(std::fabs(found - sum) <= 1e-4 * sum) << variant << ": " << found << " of " << n;
    }
  }
}

TEST_P(ReduceTest, EveryVariantOfNothingAndOfNan) {
  const std::vector<std::int32_t> empty;
  std::vector<float> x(3000, 1);
  x[2048] = kNan;
  for (const ReduceOptions& options : all_options()) {
    EXPECT_EQ(reduce_as(empty, Reduction::sum, options), 0);
    EXPECT_EQ(reduce_as(empty, Reduction::min, options), std::numeric_limits<int>::max());
    EXPECT_EQ(reduce_as(empty, Reduction::max, options), std::numeric_limits<int>::min());
    for (const Reduction kind : {Reduction::sum, Reduction::min, Reduction::max}) {
      EXPECT_TRUE(std::isnan(reduce_as(x, kind, options))) << options.variant;
    }
  }
}

// Variants that keep something in the stream's zeroed words leave them zero.
TEST_P(ReduceTest, CallsOfAnySizesInTurnAndReplayed) {
  for (const ReduceOptions& options : options_with({32, 256})) {
    const std::string_view variant = options.variant;
    Guarded<double> sum(1, stream());
    Guarded<std::int64_t> place(1, stream());
    // The smaller one has fewer partial results; what the larger one left must not count.
    const std::vector<double> large = random_values<double>(small_tests() ? 20011 : 700001, 8);
    const std::vector<double> small(large.begin(), large.begin() + 9001);
    const Guarded<double> x(large, stream());
    Guarded<std::uint8_t> scratch(static_cast<std::int64_t>(kernels::reduce_workspace_bytes<double>(
                                      static_cast<std::int64_t>(large.size()), options, device())),
                                  stream());
    const auto both = [&](const std::vector<double>& values) {
      const kernels::Workspace workspace{scratch.data(), static_cast<std::size_t>(scratch.size())};
      const std::int64_t n = static_cast<std::int64_t>(values.size());
      kernels::argmax(place.data(), x.data(), n, options, workspace, stream());
      kernels::reduce(sum.data(), x.data(), n, Reduction::sum, options, workspace, stream());
    };
    const Graph graph(stream(), [&] {
      zero_bytes(sum.data(), sizeof(double), stream());  // what comes before need not be a kernel
      both(small);
      both(large);
      both(small);
    });
    const auto expect = [&](const std::vector<double>& values) {
      EXPECT_EQ(sum.get()[0], std::accumulate(values.begin(), values.end(), 0.0)) << variant;
      EXPECT_EQ(place.get()[0], std::max_element(values.begin(), values.end()) - values.begin())
          << variant;
    };
    for (int replay = 0; replay < (small_tests() ? 1 : 3); ++replay) {
      graph.launch();
      expect(small);
      both(large);
      expect(large);
    }
    if (device().is_cpu()) continue;
    std::vector<unsigned long long> words(Stream::kZeroedWords, 1);
    copy_bytes(words.data(), Device::cpu(), stream().zeroed_words(), device(), words.size() * 8,
               stream());
    stream().synchronize();
    EXPECT_EQ(std::count(words.begin(), words.end(), 0u), Stream::kZeroedWords) << variant;
  }
}

// Blocks of 32 threads, more of them than the last block adds up in one warp.
TEST_P(ReduceTest, ManyBlocksOfOneWarp) {
  const std::vector<std::int32_t> x = random_values<std::int32_t>(140001, 10);
  std::uint32_t sum = 0;
  for (const std::int32_t value : x) sum += static_cast<std::uint32_t>(value);
  const auto largest = std::max_element(x.begin(), x.end());
  for (const ReduceOptions& options : options_with({32})) {
    if (small_tests() && options.variant != "single_pass") continue;
    EXPECT_EQ(reduce_as(x, Reduction::sum, options), static_cast<std::int32_t>(sum))
        << options.variant;
    EXPECT_EQ(reduce_as(x, Reduction::max, options), *largest) << options.variant;
    EXPECT_EQ(argmax_of(x, options), largest - x.begin()) << options.variant;
  }
}

TEST_P(ReduceTest, RefusesWhatItCannotRun) {
  Guarded<float> x(100, stream()), result(1, stream());
  const auto run = [&](const ReduceOptions& options, Reduction kind) {
    kernels::reduce(result.data(), x.data(), 100, kind, options, {}, stream());
  };
  EXPECT_USAGE_ERROR(run({"automatic", 48}, Reduction::sum), "48");
  EXPECT_USAGE_ERROR(run({"automatic", 2048}, Reduction::sum), "2048");
  EXPECT_USAGE_ERROR(run({"warp"}, Reduction::sum), "warp_shuffle");
  if (device().is_cpu()) {
    EXPECT_USAGE_ERROR(run({"sequential"}, Reduction::sum), "sequential");
    return;
  }
  EXPECT_USAGE_ERROR(run({"sequential"}, Reduction::sum_of_squares), "no sum of squares");
  EXPECT_FALSE(takes("sequential", {.n = std::int64_t{1} << 37, .threads = 32}));
  EXPECT_TRUE(takes("vectorized", {.n = std::int64_t{1} << 37, .threads = 32}));
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

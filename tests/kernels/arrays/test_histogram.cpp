// SPDX-License-Identifier: MIT
#include "kernels/histogram/histogram.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "kernels/histogram/cpu/templates.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/histogram_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(HistogramCpu, histogram_cpu)

namespace weft::test {
namespace {

using cases::Distribution;
using kernels::EvenBins;
using kernels::HistogramOptions;
using kernels::IntegerBins;
using Counts = std::vector<std::int64_t>;

// The definitions of histogram.h, written out once more.
std::int64_t oracle_bin(const IntegerBins& b, std::int64_t x) {
  if (x < b.lower || x >= b.upper) return -1;
  return (x - b.lower) * b.bins / (b.upper - b.lower);  // below 2^62 here
}
std::int64_t oracle_bin(const EvenBins& b, float x) {
  if (!(x >= b.lower) || !(b.closed ? x <= b.upper : x < b.upper)) return -1;
  const double width = static_cast<double>(b.upper) - static_cast<double>(b.lower);
  const float scale = static_cast<float>(static_cast<double>(b.bins) / width);
  const volatile float difference = x - b.lower;
  const volatile float place = difference * scale;
  return std::min(static_cast<std::int64_t>(place), b.bins - 1);
}

template <class Value, class Bins>
Counts oracle(const std::vector<Value>& x, const Bins& bins) {
  Counts counts(static_cast<std::size_t>(bins.bins));
  for (const Value value : x) {
    const std::int64_t bin = oracle_bin(bins, value);
    if (bin >= 0) ++counts[static_cast<std::size_t>(bin)];
  }
  return counts;
}

constexpr IntegerBins kByteBins{0, 256, 256};

template <class Value, class Bins>
Counts histogram_on(const Stream& stream, const std::vector<Value>& x, const Bins& bins,
                    const HistogramOptions& options, std::int64_t misalign = 0) {
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  const Guarded<Value> in(x, stream, misalign);
  Guarded<std::int64_t> counts(bins.bins, stream);
  if constexpr (sizeof(Value) == 1) {
    kernels::histogram(counts.data(), in.data(), n, options, stream);
  } else {
    kernels::histogram(counts.data(), in.data(), n, bins, options, stream);
  }
  return counts.get();
}

template <class Value>
std::vector<Value> values_as(const std::vector<std::uint32_t>& values) {
  return std::vector<Value>(values.begin(), values.end());
}

class HistogramTest : public DeviceTest {
 protected:
  // The variants that take these bins here; automatic first.
  std::vector<std::string_view> variants(bool bytes, std::int64_t bins) const {
    std::vector<std::string_view> result = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::histogram_rungs()) {
      const kernels::HistogramProblem problem{.bins = bins, .bytes = bytes};
      const bool takes = kernels::histogram_takes(rung.name, problem, device());
      if (taken(rung, device(), takes)) result.push_back(rung.name);
    }
    EXPECT_GT(result.size(), 1u);
    return result;
  }

  template <class Value, class Bins>
  void expect_all_variants(const std::vector<Value>& x, const Bins& bins, const std::string& what,
                           const std::vector<std::int64_t>& misalignments = sizes_here({0, 1},
                                                                                       {0})) {
    const Counts expected = oracle(x, bins);
    for (const std::string_view variant : variants(sizeof(Value) == 1, bins.bins)) {
      for (const std::int64_t misalign : misalignments) {
        EXPECT_EQ(histogram_on(stream(), x, bins, {variant, 0}, misalign), expected)
            << what << ", variant " << variant << ", misaligned by " << misalign;
      }
    }
  }

  // Blocks clear many counters, which a sanitizer makes slow: few values have to do.
  static bool slow(std::int64_t bins) { return small_tests() && bins > 4096; }
};

TEST_P(HistogramTest, BytesMatchAnOracle) {
  for (const std::int64_t n : all_or_few(cases::kHistogramLengths, cases::kFewHistogramLengths)) {
    if (device().is_cpu() && n > 1100000) continue;
    for (const Distribution kind : all_or_few(cases::kDistributions, cases::kFewDistributions)) {
      const auto x = values_as<std::uint8_t>(cases::histogram_values(n, kind, 8, 1));
      const bool both = !small_tests() || kind == Distribution::uniform;
      expect_all_variants(x, kByteBins, str(n, " bytes, ", kind),
                          both ? std::vector<std::int64_t>{0, 1} : std::vector<std::int64_t>{0});
    }
  }
}

TEST_P(HistogramTest, IntegersMatchAnOracle) {
  for (const IntegerBins& bins : all_or_few(cases::kIntegerBins, cases::kFewIntegerBins)) {
    for (const std::int64_t n : sizes_here({1, 33, 4099, 300007}, {33, 4099})) {
      for (const Distribution kind : all_or_few(cases::kDistributions, cases::kFewDistributions)) {
        if (small_tests() && slow(bins.bins) != (n == 33)) continue;
        if (slow(bins.bins) && kind != Distribution::uniform) continue;
        // Values about as wide as the bins, half of them negative when the bins go there.
        const int bits = bins.upper - bins.lower > 1 << 20 ? 32 : 17;
        auto x = values_as<std::int32_t>(cases::histogram_values(n, kind, bits, 2));
        if (bins.lower < 0 && bits < 32) {
          for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -x[i] / 64;
        }
        x[0] = static_cast<std::int32_t>(bins.lower);
        x.back() = static_cast<std::int32_t>(bins.upper - 1);
        expect_all_variants(x, bins, str(n, " integers, ", kind, ", ", bins));
      }
    }
  }
}

TEST_P(HistogramTest, FloatsMatchAnOracle) {
  for (const EvenBins& bins : all_or_few(cases::kEvenBins, cases::kFewEvenBins)) {
    for (const std::int64_t n : sizes_here({9, 33, 4099, 300007}, {4099})) {
      std::vector<float> x = random_floats(n, 3, -1.5f, 1.5f);
      const float special[] = {kNan,
                               kInf,
                               -kInf,
                               bins.lower,
                               bins.upper,
                               std::nextafter(bins.upper, -kInf),
                               std::nextafter(bins.lower, -kInf),
                               0.0f,
                               -0.0f};
      std::copy(std::begin(special), std::end(special), x.end() - 9);
      expect_all_variants(x, bins, str(n, " floats, ", bins));
      const std::vector<float> equal(static_cast<std::size_t>(n), 0.6f);
      expect_all_variants(equal, bins, str(n, " equal floats, ", bins));
    }
  }
}

// Bin edges and differences are exact here, so float arithmetic agrees with double.
TEST_P(HistogramTest, FloatsMatchADoubleOracle) {
  const std::int64_t n = small_tests() ? 4099 : 20011;
  const std::vector<float> x = random_floats(n, 4, 0, 1);
  const std::vector<double> exact = to_double(x);
  const kernels::EvenBinning<double> bins{1024, 0, 1, 1024};
  Counts expected(1024), scratch(2 * 4 * 1025);
  kernels::cpu::histogram_privatized(expected.data(), exact.data(), n, bins,
                                     {scratch.data(), 2, 4});
  for (const std::string_view variant : variants(false, 1024)) {
    EXPECT_EQ(histogram_on(stream(), x, EvenBins{0, 1, 1024}, {variant, 0}), expected);
  }
}

// Longer than two blocks take at once, which is all that a test with short grids has. The other
// rungs have a block for each part of the input, however long it is.
TEST_P(HistogramTest, LongInputsGoAround) {
  const std::int64_t n = small_tests() ? 270001 : 1100007;
  const auto bytes =
      values_as<std::uint8_t>(cases::histogram_values(n, Distribution::uniform, 8, 9));
  const std::vector<std::int32_t> integers(bytes.begin(), bytes.begin() + n / 4);
  for (const std::string_view variant : variants(true, 256)) {
    if (variant == "privatized" || variant == "multi_pass") continue;
    EXPECT_EQ(histogram_on(stream(), bytes, kByteBins, {variant, 0}), oracle(bytes, kByteBins))
        << variant;
  }
  for (const std::string_view variant : variants(false, 256)) {
    if (variant == "privatized" || variant == "multi_pass") continue;
    EXPECT_EQ(histogram_on(stream(), integers, kByteBins, {variant, 0}),
              oracle(integers, kByteBins))
        << variant;
  }
}

TEST_P(HistogramTest, EveryValueIsCountedOnce) {
  const std::int64_t n = small_tests() ? 4099 : 50021;
  const std::vector<float> x = random_floats(n, 5, -3, 5);
  for (const std::int64_t bins : sizes_here({1, 3, 1000, 99991}, {3})) {
    const Counts counts = histogram_on(stream(), x, EvenBins{-3, 5, bins}, {});
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    EXPECT_EQ(sum, n) << bins;
  }
}

TEST_P(HistogramTest, BlockSizesDoNotMatter) {
  if (device().is_cpu()) GTEST_SKIP() << "no blocks on the CPU";
  const auto x = values_as<std::uint8_t>(
      cases::histogram_values(small_tests() ? 4099 : 40000, Distribution::uniform, 8, 6));
  for (const int block : {32, 96, 256, 1024}) {
    if (small_tests() && block != 96) continue;
    for (const std::string_view variant :
         {"automatic", "compare_and_swap", "global_atomics", "privatized", "privatized_coarsened",
          "vectorized", "multi_pass"}) {
      EXPECT_EQ(histogram_on(stream(), x, kByteBins, {variant, block}), oracle(x, kByteBins))
          << block << ", variant " << variant;
    }
  }
  EXPECT_USAGE_ERROR(histogram_on(stream(), x, kByteBins, {"vectorized", 100}), "multiple of 32");
  EXPECT_USAGE_ERROR(histogram_on(stream(), x, kByteBins, {"lane_private", 64}),
                     "takes no block size");
}

TEST_P(HistogramTest, NoValuesGiveZeroCounts) {
  for (const std::string_view variant : variants(true, 256)) {
    EXPECT_EQ(histogram_on(stream(), std::vector<std::uint8_t>(), kByteBins, {variant, 0}),
              Counts(256));
  }
  for (const std::string_view variant : variants(false, 5)) {
    EXPECT_EQ(histogram_on(stream(), std::vector<float>(), EvenBins{0, 1, 5}, {variant, 0}),
              Counts(5));
    EXPECT_EQ(histogram_on(stream(), std::vector<std::int32_t>{-5, 9}, IntegerBins{0, 9, 5},
                           {variant, 0}),
              Counts(5));
  }
}

TEST_P(HistogramTest, RefusesWhatItCannotDo) {
  const std::vector<float> x(10);
  const std::vector<std::int32_t> k(10);
  const auto floats = [&](EvenBins bins) { histogram_on(stream(), x, bins, {}); };
  Guarded<std::int64_t> counts(4, stream());
  const auto wrong = [&](EvenBins bins) {
    kernels::histogram(counts.data(), static_cast<const float*>(nullptr), 0, bins, {}, stream());
  };
  EXPECT_NO_THROW(floats({0, 1, 4}));
  EXPECT_USAGE_ERROR(wrong({0, 1, 0}), "0");
  EXPECT_USAGE_ERROR(wrong({0, 1, -3}), "-3");
  EXPECT_USAGE_ERROR(wrong({1, 1, 4}), "[1, 1)");
  EXPECT_USAGE_ERROR(wrong({2, 1, 4}), "[2, 1)");
  EXPECT_USAGE_ERROR(wrong({0, kInf, 4}), "inf");
  EXPECT_USAGE_ERROR(wrong({kNan, 1, 4}), "nan");
  EXPECT_USAGE_ERROR(wrong({-3e38f, 3e38f, 4}), "3e+38");
  EXPECT_USAGE_ERROR(wrong({0, 1e-44f, 4}), "[0, ");
  EXPECT_USAGE_ERROR(wrong({0, 1, (std::int64_t{1} << 30) + 1}), "1073741825");
  EXPECT_USAGE_ERROR(histogram_on(stream(), k, IntegerBins{5, 5, 4}, {}), "[5, 5)");
  EXPECT_USAGE_ERROR(histogram_on(stream(), k, IntegerBins{0, cases::kIntHigh + 1, 4}, {}), "2^31");
  EXPECT_USAGE_ERROR(histogram_on(stream(), x, EvenBins{0, 1, 4}, {"lane_private", 0}),
                     device().is_cpu() ? "does not run on cpu" : "bytes only");
  if (device().is_cuda()) {
    EXPECT_USAGE_ERROR(histogram_on(stream(), x, EvenBins{0, 1, 1 << 20}, {"vectorized", 0}),
                       "1048576 bins need 4194304 bytes of shared memory");
  }
  EXPECT_USAGE_ERROR(histogram_on(stream(), x, EvenBins{0, 1, 4}, {"vectorised"}),
                     "lane_private_atomics");
}

// All zero but for three bytes at both ends and beyond 2^32. On the CPU untouched pages of calloc
// take no memory.
TEST_P(HistogramTest, MoreThan2To32Bytes) {
  if (small_tests()) GTEST_SKIP() << "small tests only";
  const std::int64_t n = (std::int64_t{1} << 32) + 3;
  const std::size_t bytes = static_cast<std::size_t>(n);
  const std::vector<std::pair<std::int64_t, std::uint8_t>> marks = {
      {0, 200}, {n / 2, 3}, {n - 4, 255}, {n - 1, 200}};
  Counts expected(256);
  expected[0] = n - 4;
  expected[200] = 2;
  expected[3] = expected[255] = 1;

  std::unique_ptr<void, decltype(&std::free)> host(
      device().is_cpu() ? std::calloc(bytes, 1) : nullptr, &std::free);
  Buffer buffer;
  std::uint8_t* x = static_cast<std::uint8_t*>(host.get());
  if (device().is_cuda()) {
    buffer = Buffer(bytes, stream());
    x = static_cast<std::uint8_t*>(buffer.data());
    zero_bytes(x, bytes, stream());
  }
  if (x == nullptr) GTEST_SKIP() << "no memory for " << n << " bytes";
  for (const auto& [place, value] : marks) {
    copy_from_host(TensorView<std::uint8_t>{x + place, Shape{1}, device()},
                   std::vector<std::uint8_t>{value}, stream());
  }
  for (const std::string_view variant : variants(true, 256)) {
    // One atomic after the other on one address: half a minute on a CPU, seconds on a GPU.
    if (variant == "compare_and_swap" || variant == "global_atomics") continue;
    Guarded<std::int64_t> counts(256, stream());
    kernels::histogram(counts.data(), x, n, {variant, 0}, stream());
    EXPECT_EQ(counts.get(), expected) << variant;
  }
}

TEST(HistogramCpu, EveryInstructionSetAgrees) {
  const std::vector<float> x = random_floats(10007, 8, -1.5f, 1.5f);
  const auto k =
      values_as<std::int32_t>(cases::histogram_values(10007, Distribution::uniform, 32, 9));
  const EvenBins even{-0.3f, 0.7f, 17};
  const kernels::EvenBinning<float> floats{
      17, even.lower, even.upper,
      static_cast<float>(17 / (static_cast<double>(even.upper) - static_cast<double>(even.lower)))};
  const kernels::IntegerBinning integers{1000, cases::kIntLow, std::uint64_t{1} << 32, 1000};
  for (const auto& [isa, table] : histogram_cpu_tables()) {
    for (const int tables : {1, 4}) {
      Counts counts(17), scratch(static_cast<std::size_t>(3 * tables * 18));
      table->floats.privatized(counts.data(), x.data(), 10007, floats, {scratch.data(), 3, tables});
      EXPECT_EQ(counts, oracle(x, even)) << isa;
      counts.resize(1000);
      scratch.resize(static_cast<std::size_t>(3 * tables * 1001));
      table->integers.privatized(counts.data(), k.data(), 10007, integers,
                                 {scratch.data(), 3, tables});
      EXPECT_EQ(counts, oracle(k, IntegerBins{cases::kIntLow, cases::kIntHigh, 1000})) << isa;
    }
  }
}

TEST(HistogramCpu, DoesNotDependOnThreads) {
  const Stream stream(Device::cpu());
  const auto x =
      values_as<std::uint8_t>(cases::histogram_values(1000003, Distribution::uniform, 8, 10));
  const auto [one, three] =
      with_thread_counts([&] { return histogram_on(stream, x, kByteBins, {}); });
  EXPECT_EQ(one, three);
  EXPECT_EQ(one, oracle(x, kByteBins));
}

WEFT_ON_EACH_DEVICE(HistogramTest);

}  // namespace
}  // namespace weft::test

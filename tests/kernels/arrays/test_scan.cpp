// SPDX-License-Identifier: MIT
#include "kernels/scan/scan.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "kernels/scan/cpu/table.h"
#include "kernels/scan/cpu/templates.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/scan_cases.h"
#include "tests/cases/scan_operators.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(ScanCpu, scan_cpu)

namespace weft::test {
namespace {

using kernels::ScanKind;
using kernels::ScanOp;
using kernels::ScanOptions;

constexpr ScanOp kOps[] = {ScanOp::sum, ScanOp::min, ScanOp::max, ScanOp::product};
constexpr ScanKind kKinds[] = {ScanKind::inclusive, ScanKind::exclusive};

// Inputs whose scans are exact in T, so that every grouping gives the same bits.
template <class T>
std::vector<T> exact_input(ScanOp op, std::int64_t n) {
  std::vector<T> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Random4 bits = philox(11, RandomStream::data, 3, i);
    if constexpr (std::is_integral_v<T>) {
      x[i] = static_cast<T>(static_cast<std::uint64_t>(bits.value[0]) << 32 | bits.value[1] | 1u);
    } else if (op == ScanOp::product) {
      x[i] = (i % 2 == 0 ? T(2) : T(0.5)) * (bits.value[0] % 2 == 0 ? T(1) : T(-1));
    } else {
      x[i] = static_cast<T>(static_cast<int>(bits.value[0] % 9) - 4);
    }
  }
  return x;
}

// By the standard library; integers in the unsigned type, which wraps around.
template <class T>
std::vector<T> oracle(const std::vector<T>& x, ScanOp op, ScanKind kind) {
  using A = typename kernels::detail::Arithmetic<T>::type;
  const auto run = [&](T identity, auto combine) {
    std::vector<T> y(x.size());
    if (kind == ScanKind::inclusive) {
      std::inclusive_scan(x.begin(), x.end(), y.begin(), combine);
    } else {
      std::exclusive_scan(x.begin(), x.end(), y.begin(), identity, combine);
    }
    return y;
  };
  using Limits = std::numeric_limits<T>;
  switch (op) {
    case ScanOp::sum:
      return run(0, [](T a, T b) { return static_cast<T>(static_cast<A>(a) + static_cast<A>(b)); });
    case ScanOp::min:
      return run(Limits::has_infinity ? Limits::infinity() : Limits::max(),
                 [](T a, T b) { return std::min(a, b); });
    case ScanOp::max:
      return run(Limits::has_infinity ? -Limits::infinity() : Limits::lowest(),
                 [](T a, T b) { return std::max(a, b); });
    default:
      return run(1, [](T a, T b) { return static_cast<T>(static_cast<A>(a) * static_cast<A>(b)); });
  }
}

struct Layout {
  bool in_place = false;
  std::int64_t misalign = 0;
};

template <class T>
std::vector<T> scan_on(const Stream& stream, const std::vector<T>& x, const ScanOptions& options,
                       Layout layout = {}) {
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  Guarded<T> in(x, stream, layout.misalign), out(n, stream, layout.misalign);
  Guarded<std::uint8_t> scratch(
      static_cast<std::int64_t>(kernels::scan_workspace_bytes<T>(n, options, stream.device())),
      stream);
  kernels::scan(layout.in_place ? in.data() : out.data(), in.data(), n, options,
                {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream);
  static_cast<void>(scratch.get());  // checks its guard bands
  if (!layout.in_place && n > 0) {
    EXPECT_TRUE(same_bits(in.get(), x)) << "the input was changed";
  }
  return layout.in_place ? in.get() : out.get();
}

class ScanTest : public DeviceTest {
 protected:
  std::vector<std::string_view> variants() const {
    std::vector<std::string_view> found = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::scan_rungs()) {
      const bool takes = kernels::scan_takes(rung.name, {}, device());
      if (taken(rung, device(), takes)) found.push_back(rung.name);
    }
    EXPECT_GT(found.size(), 1u);
    return found;
  }
  // On a GPU, a rung whose blocks scan one or two elements of a thread.
  bool has_short_sections(std::string_view variant) const {
    return variant == "kogge_stone" || variant == "kogge_stone_double_buffered" ||
           variant == "warp_scan" || variant == "brent_kung";
  }

  // Of `few`, the operator for a sanitizer run: the kernel is the same for each.
  template <class T>
  void every_operator_is_exact(ScanOp few) const {
    for (const auto [n] : all_or_few(cases::kScanCases, cases::kFewScanCases)) {
      for (const ScanOp op : kOps) {
        if (small_tests() && op != few) continue;
        // Beyond the second level of sections one operator is enough.
        if (n > 70000 && op != ScanOp::sum) continue;
        const std::vector<T> x = exact_input<T>(op, n);
        for (const ScanKind kind : kKinds) {
          const std::vector<T> expected = oracle(x, op, kind);
          for (const std::string_view variant : variants()) {
            EXPECT_TRUE(same_bits(scan_on(stream(), x, {op, kind, variant}), expected))
                << n << " elements, operator " << static_cast<int>(op) << ", kind "
                << static_cast<int>(kind) << ", variant " << variant;
          }
        }
      }
    }
  }
};

TEST_P(ScanTest, Int32) {
  every_operator_is_exact<std::int32_t>(ScanOp::sum);
}
TEST_P(ScanTest, Int64) {
  every_operator_is_exact<std::int64_t>(ScanOp::product);
}
TEST_P(ScanTest, Float) {
  every_operator_is_exact<float>(ScanOp::max);
}
TEST_P(ScanTest, Double) {
  every_operator_is_exact<double>(ScanOp::min);
}

TEST_P(ScanTest, InPlaceAndMisaligned) {
  for (const std::int64_t n : sizes_here({5, 4097, 50021}, {4097})) {
    const std::vector<std::int32_t> x = exact_input<std::int32_t>(ScanOp::sum, n);
    for (const ScanKind kind : kKinds) {
      if (small_tests() && kind == ScanKind::inclusive) continue;
      const std::vector<std::int32_t> expected = oracle(x, ScanOp::sum, kind);
      for (const std::string_view variant : variants()) {
        for (const Layout layout : {Layout{true, 0}, Layout{true, 1}, Layout{false, 3}}) {
          EXPECT_TRUE(
              same_bits(scan_on(stream(), x, {ScanOp::sum, kind, variant}, layout), expected))
              << n << " elements, variant " << variant;
        }
      }
    }
  }
}

TEST_P(ScanTest, FloatSumsMatchAnOracleAndRepeatToTheBit) {
  const std::int64_t n = small_tests() ? 9973 : 1500007;
  const std::vector<float> x = random_floats(n, 12);
  std::vector<double> expected(x.size());
  std::inclusive_scan(x.begin(), x.end(), expected.begin(), std::plus<>(), 0.0);
  for (const std::string_view variant : variants()) {
    const ScanOptions options{ScanOp::sum, ScanKind::inclusive, variant};
    const std::vector<float> y = scan_on(stream(), x, options);
    // i roundings of prefixes of size sqrt(i / 3) add up to about i / 6 units, several times that
    // where the prefix wanders off.
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double eps = std::numeric_limits<float>::epsilon();
      const double bound = eps * (4 + static_cast<double>(i));
      const double error = std::fabs(static_cast<double>(y[i]) - expected[i]) / bound;
      worst = error <= worst ? worst : error;
    }
    EXPECT_TRUE(worst <= 1) << "variant " << variant << ": " << worst;
    for (int again = 0; again < (small_tests() ? 1 : 3); ++again) {
      EXPECT_TRUE(same_bits(scan_on(stream(), x, options), y)) << "variant " << variant;
    }
  }
}

TEST_P(ScanTest, NanStaysFromItsPlaceOn) {
  std::vector<float> x = random_floats(9001, 13);
  x[5000] = std::numeric_limits<float>::quiet_NaN();
  for (const ScanOp op : kOps) {
    if (small_tests() && op != ScanOp::min) continue;
    for (const std::string_view variant : variants()) {
      const std::vector<float> y = scan_on(stream(), x, {op, ScanKind::inclusive, variant});
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < y.size(); ++i) wrong += std::isnan(y[i]) != (i >= 5000);
      EXPECT_EQ(wrong, 0u) << static_cast<int>(op) << ", variant " << variant;
    }
  }
}

TEST_P(ScanTest, AllEqual) {
  const std::vector<std::int32_t> x(small_tests() ? 30011 : 100003, 1);
  std::vector<std::int32_t> expected(x.size());
  std::iota(expected.begin(), expected.end(), 1);
  for (const std::string_view variant : variants()) {
    // Several tiles of the rungs with large tiles; the others have many sections in 9973 elements.
    if (small_tests() && has_short_sections(variant)) continue;
    const ScanOptions options{ScanOp::sum, ScanKind::inclusive, variant};
    EXPECT_TRUE(same_bits(scan_on(stream(), x, options), expected)) << variant;
  }
}

// One workspace and one stream for calls of many lengths, and replays: a variant that keeps
// something in the stream's zeroed words leaves them zero, whatever the number of its rounds was.
TEST_P(ScanTest, CallsOfAnySizesInTurnAndReplayed) {
  const std::vector<std::int64_t> sizes =
      sizes_here({300007, 7000, 9000011, 40000}, {7000, 250007});
  const std::int64_t most = *std::max_element(sizes.begin(), sizes.end());
  const std::vector<std::int32_t> x = exact_input<std::int32_t>(ScanOp::sum, most);
  const Guarded<std::int32_t> in(x, stream());
  for (const std::string_view variant : variants()) {
    if (has_short_sections(variant)) continue;
    if (small_tests() && device().is_cuda() && variant != "lookahead") continue;
    const ScanOptions options{ScanOp::sum, ScanKind::exclusive, variant};
    Guarded<std::uint8_t> scratch(
        static_cast<std::int64_t>(
            kernels::scan_workspace_bytes<std::int32_t>(most, options, device())),
        stream());
    std::vector<std::unique_ptr<Guarded<std::int32_t>>> out;
    for (const std::int64_t n : sizes) {
      out.push_back(std::make_unique<Guarded<std::int32_t>>(n, stream()));
    }
    const Graph graph(stream(), [&] {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        kernels::scan(out[i]->data(), in.data(), sizes[i], options,
                      {scratch.data(), static_cast<std::size_t>(scratch.size())}, stream());
      }
    });
    for (int replay = 0; replay < (small_tests() ? 1 : 3); ++replay) {
      for (auto& y : out) y->set(std::vector<std::int32_t>(static_cast<std::size_t>(y->size()), 7));
      graph.launch();
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const std::vector<std::int32_t> part(x.begin(), x.begin() + sizes[i]);
        EXPECT_TRUE(same_bits(out[i]->get(), oracle(part, ScanOp::sum, ScanKind::exclusive)))
            << sizes[i] << " elements, variant " << variant;
      }
    }
    if (device().is_cpu()) continue;
    std::vector<unsigned long long> words(Stream::kZeroedWords, 1);
    copy_bytes(words.data(), Device::cpu(), stream().zeroed_words(), device(), words.size() * 8,
               stream());
    stream().synchronize();
    EXPECT_EQ(std::count(words.begin(), words.end(), 0u), Stream::kZeroedWords)
        << "variant " << variant;
  }
}

TEST_P(ScanTest, EmptyInputWritesNothing) {
  Guarded<float> y(2, stream());
  const std::vector<float> before = y.get();
  for (const std::string_view variant : variants()) {
    Guarded<std::uint8_t> scratch(1 << 16, stream());
    kernels::scan(y.data(), y.data(), 0, {ScanOp::sum, ScanKind::exclusive, variant},
                  {scratch.data(), 1 << 16}, stream());
  }
  EXPECT_TRUE(same_bits(y.get(), before));
}

TEST_P(ScanTest, RefusesAShortWorkspaceAndForeignVariants) {
  Guarded<float> y(100000, stream());
  const std::string_view needing = device().is_cpu() ? "automatic" : "decoupled_lookback";
  EXPECT_USAGE_ERROR(kernels::scan(y.data(), y.data(), 100000,
                                   {ScanOp::sum, ScanKind::inclusive, needing}, {}, stream()),
                     "workspace");
  const std::string_view foreign = device().is_cpu() ? "brent_kung" : "sequential";
  EXPECT_USAGE_ERROR(kernels::scan(y.data(), y.data(), 100000,
                                   {ScanOp::sum, ScanKind::inclusive, foreign}, {}, stream()),
                     "does not run on");
  EXPECT_USAGE_ERROR(kernels::scan(y.data(), y.data(), 100000, {.variant = "brent"}, {}, stream()),
                     "brent_kung");
  EXPECT_USAGE_ERROR(kernels::scan(y.data(), y.data(), -1, {}, {}, stream()), "negative");
}

WEFT_ON_EACH_DEVICE(ScanTest);

TEST(ScanCpu, DoesNotDependOnThreads) {
  const Stream stream(Device::cpu());
  const std::vector<float> x = random_floats(1000003, 14);
  const auto [one, three] = with_thread_counts([&] {
    return scan_on(stream, x, {ScanOp::sum, ScanKind::inclusive, "threaded"});
  });
  EXPECT_TRUE(same_bits(one, three));
}

TEST(ScanCpu, EveryInstructionSet) {
  const std::vector<float> x = exact_input<float>(ScanOp::sum, 200003);
  std::vector<float> y(x.size()), totals(x.size() / kernels::kScanPiece + 4);
  for (const ScanOp op : kOps) {
    for (const auto& [isa, table] : scan_cpu_tables()) {
      const std::int64_t n = op == ScanOp::product ? 50 : 200003;
      const std::vector<float> part(x.begin(), x.begin() + n);
      const std::vector<float> expected = oracle(part, op, ScanKind::exclusive);
      y.resize(part.size());
      const kernels::ScanCall call{
          kernels::ElementType::f32, y.data(), part.data(), n, op, true, totals.data()};
      table->sequential(call);
      EXPECT_TRUE(same_bits(y, expected)) << isa;
      table->threaded(call);
      EXPECT_TRUE(same_bits(y, expected)) << isa;
    }
  }
}

template <class T, class Op>
void threaded_keeps_the_order() {
  for (const std::int64_t n : {1, 2, 63, 64, 65, 1000}) {
    const std::vector<std::int32_t> words = random_words<T>(n, 15);
    for (const bool exclusive : {false, true}) {
      std::vector<T> y = as_elements<T>(words), totals(y.size() + 4);
      kernels::cpu::scan_threaded(y.data(), y.data(), n, exclusive, Op(), totals.data(), 16);
      std::vector<std::int32_t> found(words.size());
      std::memcpy(found.data(), y.data(), found.size() * 4);
      EXPECT_TRUE(same_bits(found, scanned_words<T>(words, exclusive, Op()))) << n;
    }
  }
}

TEST(ScanCpu, OperatorsNeedNotCommute) {
  threaded_keeps_the_order<Affine, Compose>();
  threaded_keeps_the_order<Matrix, Multiply>();
}

}  // namespace
}  // namespace weft::test

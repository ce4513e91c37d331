// SPDX-License-Identifier: MIT
// One-dimensional families on arrays of 2^24 + 1 elements and of 2^32 + 3 bytes.
#include <algorithm>
#include <limits>

#include "kernels/activation/activation.h"
#include "kernels/dropout/dropout.h"
#include "kernels/histogram/histogram.h"
#include "kernels/loss/loss.h"
#include "kernels/memory/memory.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/scan/scan.h"
#include "kernels/signal/signal.h"
#include "tests/kernels/large_test.h"

namespace weft::test {
namespace {

using kernels::GradientMode;

std::vector<std::int32_t> random_ints(std::int64_t n, std::uint64_t seed, std::uint32_t limit) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<std::int32_t>(philox(seed, RandomStream::data, 6, i).value[0] % limit);
  }
  return values;
}

// table[(i + 1) % period], which is what an array holds one element further on.
template <class T>
std::vector<T> shifted(std::vector<T> table) {
  std::rotate(table.begin(), table.begin() + 1, table.end());
  return table;
}

// What the tests below rest on: one wrong element is found, wherever it is.
TEST(PeriodicArray, OneWrongElementIsFound) {
  const Stream stream(Device::cpu());
  const std::vector<float> table = random_floats(kPeriod, 1);
  Periodic<float> x((1 << 20) + 1, table, stream);
  EXPECT_TRUE(x.repeats(table, "untouched"));
  EXPECT_FALSE(x.repeats(shifted(table), "shifted"));
  for (const std::int64_t place : {std::int64_t{0}, std::int64_t{700000}, x.size() - 1}) {
    const float saved = x.data()[place];
    x.data()[place] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(x.repeats(table, "one NaN"));
    x.data()[place] = saved;
  }
}

class Large : public LargeTest {};

TEST_P(Large, VectorAdd) {
  const std::int64_t n = elements<float>();
  const std::vector<float> table = random_floats(kPeriod, 1), next = shifted(table);
  std::vector<float> expected;
  for (std::size_t i = 0; i < table.size(); ++i) expected.push_back(table[i] + next[i]);
  const Periodic<float> x(n + 1, table, stream());
  Periodic<float> y(n, stream());
  for (const std::string_view variant : {"vector_add_vectorized", "vector_add"}) {
    if (!kernels::memory_takes(variant, kernels::MemoryOperation::vector_add, device())) continue;
    y.forget();
    kernels::vector_add(y.data(), x.data(), x.data() + 1, n, variant, stream());
    EXPECT_TRUE(y.repeats(expected, "sum"));
  }
}

TEST_P(Large, CopiesAndReads) {
  const std::int64_t n = elements<float>(), cols = 924, rows = n / cols;
  const std::vector<std::int32_t> table = random_ints(kPeriod, 2, 1u << 30);
  std::vector<float> bits(table.size());
  std::memcpy(bits.data(), table.data(), 4 * table.size());
  const Periodic<float> x(n + 1, bits, stream());
  {
    Periodic<float> y(n, stream());
    kernels::copy_strided(y.data(), x.data(), n, {1, 1}, "copy_by_offset", stream());
    EXPECT_TRUE(y.repeats(shifted(bits), "copy by offset"));
    y.forget();
    kernels::copy_rows(y.data(), x.data(), rows, cols, cols, cols, "dense_rows", stream());
    EXPECT_TRUE(y.repeats(bits, "rows", 0, n - rows * cols));
  }
  Guarded<std::int64_t> sum(1, stream());
  kernels::read_strided(sum.data(), reinterpret_cast<const std::int32_t*>(x.data()), n, {0, 1},
                        "read_by_stride", stream());
  EXPECT_EQ(static_cast<std::uint64_t>(sum.get()[0]), periodic_sum(table, n));
}

TEST_P(Large, Activation) {
  const std::int64_t n = elements<float>();
  const std::vector<float> x_table = random_floats(kPeriod, 3),
                           dx_table = random_floats(kPeriod, 4);
  std::vector<float> relu, gradient;
  for (std::size_t i = 0; i < x_table.size(); ++i) {
    relu.push_back(std::max(x_table[i], 0.0f));
    gradient.push_back(dx_table[i] + relu[i]);  // with y as its own gradient
  }
  Periodic<float> x(n, x_table, stream()), y(n, stream());
  using kernels::Activation;
  kernels::activation_forward(y.data(), x.data(), n, Activation::relu, stream());
  EXPECT_TRUE(y.repeats(relu, "forward"));
  x.fill(dx_table);
  kernels::activation_backward(x.data(), y.data(), y.data(), n, Activation::relu,
                               GradientMode::accumulate, stream());
  EXPECT_TRUE(x.repeats(gradient, "backward"));
}

TEST_P(Large, Bias) {
  const std::int64_t channels = 1680, inner = 11, outer = rows_of<float>(kPeriod);
  const std::int64_t n = outer * channels * inner;
  const std::vector<float> table = random_integers(kPeriod, 5), b = random_integers(channels, 6);
  std::vector<float> expected;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(channels)), rest = sums;
  for (std::int64_t i = 0; i < kPeriod; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    const std::size_t c = static_cast<std::size_t>(i / inner % channels);
    expected.push_back(table[at] + b[c]);
    sums[c] += static_cast<std::int64_t>(table[at]);
    if (i < n % kPeriod) rest[c] += static_cast<std::int64_t>(table[at]);
  }
  std::vector<double> totals;
  for (std::size_t c = 0; c < sums.size(); ++c) {
    totals.push_back(static_cast<double>(n / kPeriod * sums[c] + rest[c]));
  }
  Periodic<float> x(n, table, stream());
  const Guarded<float> bias(b, stream());
  Guarded<float> db(channels, stream());
  kernels::bias_backward(db.data(), x.data(), outer, channels, inner, GradientMode::overwrite,
                         stream());
  const double length = static_cast<double>(outer * inner);
  EXPECT_TRUE(compare(db.get(), totals, {1e-7 * length, 1e-6, false}));
  kernels::bias_forward(x.data(), x.data(), bias.data(), outer, channels, inner, stream());
  EXPECT_TRUE(x.repeats(expected, "bias"));
}

// Masks do not repeat: kept elements are compared with the rule of the contract, and counted.
TEST_P(Large, Dropout) {
  const std::int64_t n = elements<float>();
  Periodic<float> y(n, std::vector<float>(1024, 1.0f), stream());
  const Guarded<std::int64_t> step(std::vector<std::int64_t>{3}, stream());
  kernels::dropout(y.data(), y.data(), n, 0.5f, {7, 2, step.data()}, GradientMode::overwrite,
                   stream());
  for (const std::int64_t place : y.places()) {
    const std::int64_t first = std::max<std::int64_t>(place - y.kHalf, 0);
    const std::vector<float> found = y.window(first, y.kHalf);
    std::int64_t wrong = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::uint64_t i = static_cast<std::uint64_t>(first) + k;
      const std::uint64_t counter = (std::uint64_t{3} << 32) + i / 4;
      const bool kept =
          uniform01(philox(7, RandomStream::dropout, 2, counter).value[i % 4]) >= 0.5f;
      wrong += found[k] != (kept ? 2.0f : 0.0f);
    }
    EXPECT_EQ(wrong, 0) << "around " << place;
  }
  const Buffer scratch(kernels::reduce_workspace_bytes(n, device()), stream());
  Guarded<float> sum(1, stream());
  kernels::reduce(sum.data(), y.data(), n, kernels::Reduction::sum,
                  {scratch.data(), scratch.bytes()}, stream());
  const double count = static_cast<double>(n);  // 0 or 2 with even chances
  EXPECT_NEAR(static_cast<double>(sum.get()[0]), count, 6 * std::sqrt(count) + 1e-6 * count);
}

TEST_P(Large, Sgd) {
  const std::int64_t n = elements<float>();
  const std::vector<float> p = random_integers(kPeriod, 7), g = random_integers(kPeriod, 8);
  std::vector<float> expected;
  for (std::size_t i = 0; i < p.size(); ++i) expected.push_back(p[i] - 0.5f * g[i]);
  Periodic<float> parameters(n, p, stream());
  const Periodic<float> gradients(n, g, stream());
  const Guarded<float> lr(std::vector<float>{0.5f}, stream());
  const Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  kernels::sgd_update(parameters.data(), nullptr, gradients.data(), n, lr.data(), step.data(), {},
                      stream());
  EXPECT_TRUE(parameters.repeats(expected, "step"));
}

TEST_P(Large, MetricTotals) {
  const std::int64_t n = elements<float>();
  const std::vector<float> losses = random_integers(kPeriod, 9, 0, 8);
  const std::vector<std::int32_t> classes = random_ints(kPeriod, 10, 4), next = shifted(classes);
  std::vector<std::int32_t> hits;
  for (std::size_t i = 0; i < next.size(); ++i) hits.push_back(classes[i] == next[i]);
  const Periodic<float> loss(n, losses, stream());
  const Periodic<std::int32_t> prediction(n + 1, classes, stream());
  Tensor totals(Shape{static_cast<std::int64_t>(sizeof(kernels::MetricTotals))}, DType::u8,
                stream());
  zero_bytes(totals.raw(), totals.bytes(), stream());
  kernels::accumulate_totals(static_cast<kernels::MetricTotals*>(totals.raw()), loss.data(),
                             prediction.data(), prediction.data() + 1, n, stream());
  const std::vector<std::uint8_t> bytes = to_host(totals.view<std::uint8_t>(), stream());
  kernels::MetricTotals found;
  std::memcpy(&found, bytes.data(), sizeof(found));
  EXPECT_EQ(found.rows, n);
  EXPECT_EQ(static_cast<std::uint64_t>(found.hits), periodic_sum(hits, n));
  const std::uint64_t sum =
      periodic_sum(std::vector<std::int32_t>(losses.begin(), losses.end()), n);
  EXPECT_EQ(found.loss_sum, static_cast<double>(sum));
}

TEST_P(Large, SignalIsExact) {
  const std::int64_t n = elements<float>();
  const std::vector<float> table = random_integers(kPeriod, 11);
  const std::vector<float> taps = {1, 2, 3, 4, 5};
  std::vector<float> expected;
  for (std::int64_t i = 0; i < kPeriod; ++i) {
    float sum = 0;
    for (std::int64_t k = 0; k < 5; ++k) {
      sum += taps[static_cast<std::size_t>(k)] *
             table[static_cast<std::size_t>((i + k - 2 + kPeriod) % kPeriod)];
    }
    expected.push_back(sum);
  }
  const Periodic<float> x(n, table, stream());
  const Guarded<float> filter(taps, stream());
  Periodic<float> y(n, stream());
  const kernels::SignalDims dims{1, 1, n, 1, 1, 5};
  for (const kernels::Rung& rung : kernels::signal_rungs()) {
    if (!kernels::signal_takes(rung.name, dims, device())) continue;
    y.forget();
    kernels::signal_convolve(y.data(), x.data(), filter.data(), dims, {rung.name}, stream());
    EXPECT_TRUE(y.repeats(expected, std::string(rung.name), kPeriod, 2));
  }
}

TEST_P(Large, HistogramOfIntegersAndFloats) {
  const std::int64_t n = elements<float>(), bins = 1000;
  const std::vector<std::int32_t> table =
      random_ints(kPeriod, 12, static_cast<std::uint32_t>(bins));
  std::vector<std::int64_t> expected(static_cast<std::size_t>(bins));
  for (std::int64_t i = 0; i < kPeriod; ++i) {
    expected[static_cast<std::size_t>(table[static_cast<std::size_t>(i)])] +=
        n / kPeriod + (i < n % kPeriod);
  }
  const auto check = [&](const auto& x, const auto& range) {
    for (const kernels::Rung& rung : kernels::histogram_rungs()) {
      // Atomics one after the other on few addresses: minutes on a CPU.
      if (rung.name == "compare_and_swap" || rung.name == "global_atomics") continue;
      if (!kernels::histogram_takes(rung.name, {n, bins, false}, device())) continue;
      Guarded<std::int64_t> counts(bins, stream());
      kernels::histogram(counts.data(), x.data(), n, range, {.variant = rung.name}, stream());
      EXPECT_EQ(counts.get(), expected) << rung.name;
    }
  };
  check(Periodic<std::int32_t>(n, table, stream()), kernels::IntegerBins{0, bins, bins});
  const std::vector<float> floats(table.begin(), table.end());
  check(Periodic<float>(n, floats, stream()), kernels::EvenBins{0, 1000, bins});
}

// The other CUDA rungs: test_scan_large.cu.
TEST_P(Large, ReduceAndScan) {
  const std::int64_t n = elements<std::int32_t>();
  std::vector<std::int32_t> table = random_ints(kPeriod, 13, 1u << 31);
  Periodic<std::int32_t> x(n, table, stream());
  const kernels::ReduceOptions options;
  const std::int32_t highest = *std::max_element(table.begin(), table.end());
  {
    const Buffer scratch(kernels::reduce_workspace_bytes<std::int32_t>(n, options, device()),
                         stream());
    Guarded<std::int32_t> result(1, stream());
    for (const kernels::Reduction kind : {kernels::Reduction::sum, kernels::Reduction::max}) {
      kernels::reduce(result.data(), x.data(), n, kind, options, {scratch.data(), scratch.bytes()},
                      stream());
      const std::uint32_t found = static_cast<std::uint32_t>(result.get()[0]);
      EXPECT_EQ(found, kind == kernels::Reduction::sum
                           ? static_cast<std::uint32_t>(periodic_sum(table, n))
                           : static_cast<std::uint32_t>(highest));
    }
  }
  const std::size_t bytes = kernels::scan_workspace_bytes<std::int32_t>(n, {}, device());
  const Buffer scratch(bytes, stream());
  kernels::scan(x.data(), x.data(), n, {}, {scratch.data(), bytes}, stream());
  for (const std::int64_t place : x.places()) {
    const std::int64_t first = std::max<std::int64_t>(place - x.kHalf, 0);
    const std::vector<std::int32_t> found = x.window(first, x.kHalf);
    std::uint32_t sum = static_cast<std::uint32_t>(periodic_sum(table, first));
    std::int64_t wrong = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::size_t at = (static_cast<std::size_t>(first) + k) % table.size();
      sum += static_cast<std::uint32_t>(table[at]);
      wrong += static_cast<std::uint32_t>(found[k]) != sum;
    }
    EXPECT_EQ(wrong, 0) << "around " << place;
  }
}

WEFT_LARGE_ON_EACH_DEVICE(Large);

}  // namespace
}  // namespace weft::test

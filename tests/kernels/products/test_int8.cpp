// SPDX-License-Identifier: MIT
// The convolution of bytes on every instruction set of this machine, beside plain loops: equal
// bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/int8/cpu/table.h"
#include "tests/cases/cpu_isas.h"

#include "tests/kernels/kernel_test.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"

WEFT_CPU_TABLES(Int8Cpu, int8_cpu)

namespace weft::test {
namespace {

using namespace weft::kernels;

struct Int8Case {
  ConvDims dims;
  std::int64_t ph = 1, pw = 1;
  int zero = 0;
  bool relu = true;
};

std::vector<Int8Case> cases() {
  return {
      {{3, 1, 28, 28, 6, 5, 5, 1, 1, 2, 2}, 2, 2},   // lenet5
      {{2, 6, 14, 14, 16, 5, 5}, 2, 2},              // rows of 30 bytes
      {{70, 400, 1, 1, 120, 1, 1}},                  // a product: more than kRowsAtOnce rows
      {{64, 16, 1, 1, 16, 1, 1}, 1, 1, 200, false},  // as many, and a multiple of them
      {{1, 3, 1, 1, 33, 1, 1, 2, 2}, 1, 1, 7},       // a row that ends inside a step
      {{2, 17, 9, 9, 35, 3, 3, 1, 1, 1, 1}, 1, 1, 128, false},
      {{2, 3, 11, 10, 5, 3, 2, 2, 3, 1, 0}, 2, 1, 90},  // strided, windows that leave a rest
      {{1, 2, 4, 4, 3, 4, 4}},                          // one window
      {{2, 5, 3, 3, 4, 5, 5, 1, 1, 4, 4}, 3, 3},        // padding beyond the kernel
      {{0, 3, 8, 8, 4, 3, 3}},                          // no image
  };
}

struct Int8Problem {
  explicit Int8Problem(const Int8Case& c_) : c(c_), d(c_.dims) {
    x = random_bytes(d.n * d.h * d.w * d.c, 1);
    padding = random_bytes(d.c, 2);
    for (const float v : random_integers(d.oc * d.c * d.kh * d.kw, 3, -63, 63))
      w.push_back(static_cast<std::int8_t>(v));
    for (const float v : random_integers(d.oc, 4, -20000, 20000))
      bias.push_back(static_cast<std::int32_t>(v));
    // Sums come to some hundreds of steps, so that bytes are cut at both ends.
    const float taps = std::sqrt(static_cast<float>(d.c * d.kh * d.kw));
    for (float& v : factor = random_floats(d.oc, 5, 0.5f, 2.0f)) v /= 60.0f * taps;
  }

  // (n, rows, columns, oc) as real values in steps of y.
  std::vector<float> expected() const {
    std::vector<float> z;
    for (std::int64_t i = 0; i < d.n * rows() * columns() * d.oc; ++i) {
      const std::int64_t o = i % d.oc, column = i / d.oc % columns(),
                         row = i / d.oc / columns() % rows(), n = i / d.oc / columns() / rows();
      std::int64_t best = std::numeric_limits<std::int64_t>::min();
      for (std::int64_t p = row * c.ph; p < (row + 1) * c.ph; ++p) {
        for (std::int64_t q = column * c.pw; q < (column + 1) * c.pw; ++q) {
          best = std::max(best, sum(n, p, q, o));
        }
      }
      const float real = static_cast<float>(best) * factor[static_cast<std::size_t>(o)];
      z.push_back(c.relu ? std::max(0.0f, real) : real);
    }
    return z;
  }

  std::int64_t sum(std::int64_t n, std::int64_t p, std::int64_t q, std::int64_t o) const {
    std::int64_t total = bias[static_cast<std::size_t>(o)];
    for (std::int64_t channel = 0; channel < d.c; ++channel) {
      for (std::int64_t r = 0; r < d.kh; ++r) {
        for (std::int64_t s = 0; s < d.kw; ++s) {
          const std::int64_t y = p * d.stride_h + r - d.pad_h, z = q * d.stride_w + s - d.pad_w;
          const bool inside = y >= 0 && y < d.h && z >= 0 && z < d.w;
          const int byte =
              inside ? x[static_cast<std::size_t>(((n * d.h + y) * d.w + z) * d.c + channel)]
                     : padding[static_cast<std::size_t>(channel)];
          total += byte * w[static_cast<std::size_t>(((o * d.c + channel) * d.kh + r) * d.kw + s)];
        }
      }
    }
    return total;
  }

  template <class Out>
  std::vector<Out> run(void (*kernel)(Out*, const Int8Call&, void*)) const {
    const Stream stream(Device::cpu());
    const Int8Filters filters(w, bias, factor, d);
    // Behind the slack memory ends, so that AddressSanitizer sees a byte too many.
    std::vector<std::uint8_t> with_slack = x;
    with_slack.insert(with_slack.end(), kInt8Slack, 255);
    const Int8Call call{
        with_slack.data(), d.n, &filters, padding.data(), c.ph, c.pw, c.zero, c.relu};
    Guarded<Out> y(d.n * rows() * columns() * d.oc, stream, 1);
    std::vector<std::int64_t> workspace(int8_conv_workspace_bytes(call) / sizeof(std::int64_t));
    kernel(y.data(), call, workspace.data());
    return y.get();
  }

  std::int64_t rows() const { return d.oh() / c.ph; }
  std::int64_t columns() const { return d.ow() / c.pw; }

  Int8Case c;
  ConvDims d;
  std::vector<std::uint8_t> x, padding;
  std::vector<std::int8_t> w;
  std::vector<std::int32_t> bias;
  std::vector<float> factor;
};

std::vector<std::pair<std::string_view, const Int8Cpu*>> tables() {
  std::vector<std::pair<std::string_view, const Int8Cpu*>> all;
  for (const auto& [isa, table] : int8_cpu_tables()) all.emplace_back(isa, table);
#ifdef WEFT_X86_DISPATCH
  if (cpu_isa() == Isa::avx512 && __builtin_cpu_supports("avx512vnni")) {
    all.emplace_back("avx512vnni", &avx512vnni::int8_cpu);
  }
#endif
  return all;
}

TEST(Int8Conv, EveryInstructionSetHasTheSumsOfPlainLoops) {
  for (const Int8Case& c : cases()) {
    const Int8Problem problem(c);
    const std::vector<float> z = problem.expected();
    std::vector<std::uint8_t> bytes;
    std::size_t cut = 0;
    for (const float value : z) {
      const long step = std::lrint(value) + c.zero;
      bytes.push_back(static_cast<std::uint8_t>(std::clamp(step, 0L, 255L)));
      cut += step < 0 || step > 255 ? 1 : 0;
    }
    EXPECT_LE(2 * cut, z.size());
    for (const auto& [isa, table] : tables()) {
      SCOPED_TRACE(str(isa, ", ", c.dims.c, " x ", c.dims.h, " x ", c.dims.w));
      EXPECT_EQ(problem.run(table->to_bytes), bytes);
      EXPECT_EQ(problem.run(table->to_reals), z);
    }
  }
}

TEST(Int8Conv, TheLargestSumsAreExact) {
  // Two products of the largest values are added in 16 bits where there is no VNNI.
  Int8Problem problem({{2, kInt8MostTaps, 1, 1, 2, 1, 1}, 1, 1, 0, false});
  std::ranges::fill(problem.x, std::uint8_t{255});
  for (std::size_t i = 0; i < problem.w.size(); ++i) {
    problem.w[i] = i < problem.w.size() / 2 ? kInt8FilterMost : -kInt8FilterMost;
  }
  problem.bias = {kInt8MostBias, -kInt8MostBias};
  problem.factor = {1, 1};
  const std::vector<float> z = problem.expected();
  for (const auto& [isa, table] : tables()) {
    SCOPED_TRACE(isa);
    EXPECT_EQ(problem.run(table->to_reals), z);
  }
}

TEST(Int8Conv, RefusesFiltersThatDoNotFit) {
  const ConvDims d{0, 1, 4, 4, 1, 2, 2};
  const std::vector<std::int8_t> good(4, 63), large(4, 64), few(3, 1);
  const std::vector<std::int32_t> bias(1), large_bias(1, kInt8MostBias + 1);
  const std::vector<float> factor(1, 1.0f);
  EXPECT_NO_THROW(Int8Filters(good, bias, factor, d));
  EXPECT_USAGE_ERROR(Int8Filters(large, bias, factor, d), "filters within 63");
  EXPECT_USAGE_ERROR(Int8Filters(good, large_bias, factor, d), "biases within");
  EXPECT_USAGE_ERROR(Int8Filters(few, bias, factor, d), "1 filters of 4 values");
  const ConvDims long_ones{0, kInt8MostTaps + 1, 1, 1, 1, 1, 1};
  EXPECT_USAGE_ERROR(
      Int8Filters(std::vector<std::int8_t>(kInt8MostTaps + 1), bias, factor, long_ones),
      "at most 65536");
}

}  // namespace
}  // namespace weft::test

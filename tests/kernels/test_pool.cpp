// SPDX-License-Identifier: MIT
#include "kernels/pool/pool.h"

#include <limits>

#include "kernels/pool/cpu.h"
#include "tests/cases/pool_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::GradientMode;
using kernels::PoolDims;

constexpr GradientMode kPoolModes[] = {GradientMode::overwrite, GradientMode::accumulate};

// All different, and far enough apart for central differences.
std::vector<double> separated(std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i)] =
        0.01 * static_cast<double>(permuted_index(i, n, 17) - n / 2);
  }
  return values;
}

std::vector<std::int32_t> argmax_oracle(std::vector<double>& y, const std::vector<double>& x,
                                        const PoolDims& d) {
  std::vector<std::int32_t> argmax(y.size());
  kernels::cpu::max_pool2d_forward<double>(y.data(), argmax.data(), x.data(), d);
  return argmax;
}

TEST(PoolOracle, GradientsMatchCentralDifferences) {
  for (const cases::PoolCase& c : cases::kPoolCases) {
    if (c.inputs() > 300) continue;
    const std::vector<double> x = separated(c.inputs());
    const std::vector<double> dy = to_double(random_floats(c.outputs(), 1));
    const auto max_forward = [&](const std::vector<double>& v) {
      std::vector<double> y(dy.size());
      argmax_oracle(y, v, c.dims);
      return y;
    };
    const auto avg_forward = [&](const std::vector<double>& v) {
      std::vector<double> y(dy.size());
      kernels::cpu::avg_pool2d_forward<double>(y.data(), v.data(), c.dims);
      return y;
    };
    std::vector<double> y(dy.size()), dx(x.size());
    const std::vector<std::int32_t> argmax = argmax_oracle(y, x, c.dims);
    kernels::cpu::max_pool2d_backward<double>(dx.data(), dy.data(), argmax.data(), c.dims,
                                              GradientMode::overwrite);
    EXPECT_TRUE(compare(dx, numeric_gradient(max_forward, x, dy), gradient_bound(), str(c)));
    kernels::cpu::avg_pool2d_backward<double>(dx.data(), dy.data(), c.dims,
                                              GradientMode::overwrite);
    EXPECT_TRUE(compare(dx, numeric_gradient(avg_forward, x, dy), gradient_bound(), str(c)));
  }
}

TEST(PoolOracle, KnownValues) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> y(4);
  kernels::cpu::avg_pool2d_forward<double>(y.data(), x.data(), {1, 1, 3, 3, 2, 2, 2, 2, 1, 1});
  EXPECT_EQ(y, (std::vector<double>{0.25, 1.25, 2.75, 7}));  // padding counts as zeros
  const std::vector<std::int32_t> argmax = argmax_oracle(y, x, {1, 1, 3, 3, 2, 2, 1, 1, 0, 0});
  EXPECT_EQ(y, (std::vector<double>{5, 6, 8, 9}));
  EXPECT_EQ(argmax, (std::vector<std::int32_t>{4, 5, 7, 8}));
}

class PoolTest : public DeviceTest {};

TEST_P(PoolTest, MaxMatchesOracle) {
  for (const cases::PoolCase& c : all_or_few(cases::kPoolCases, cases::kFewPoolCases)) {
    const std::vector<float> x = random_floats(c.inputs(), 2);
    std::vector<double> expected(static_cast<std::size_t>(c.outputs()));
    const std::vector<std::int32_t> expected_argmax = argmax_oracle(expected, to_double(x), c.dims);
    Guarded<float> in(x, stream(), 1), y(c.outputs(), stream(), 1), y_only(c.outputs(), stream());
    Guarded<std::int32_t> argmax(c.outputs(), stream());
    kernels::max_pool2d_forward(y.data(), argmax.data(), in.data(), c.dims, stream());
    EXPECT_TRUE(compare(y.get(), expected, exact(), str(c)));
    EXPECT_EQ(argmax.get(), expected_argmax) << c;
    kernels::max_pool2d_forward(y_only.data(), nullptr, in.data(), c.dims, stream());
    EXPECT_TRUE(same_bits(y_only.get(), y.get())) << c;

    const std::vector<float> dy = random_floats(c.outputs(), 3);
    const std::vector<float> start = random_floats(c.inputs(), 4);
    for (const GradientMode mode : kPoolModes) {
      std::vector<double> gradient = to_double(start);
      kernels::cpu::max_pool2d_backward<double>(gradient.data(), to_double(dy).data(),
                                                expected_argmax.data(), c.dims, mode);
      Guarded<float> dy_in(dy, stream()), dx(c.inputs(), stream()), again(c.inputs(), stream());
      for (Guarded<float>* out : {&dx, &again}) {
        if (mode == GradientMode::accumulate) out->set(start);
        kernels::max_pool2d_backward(out->data(), dy_in.data(), argmax.data(), c.dims, mode,
                                     stream());
      }
      EXPECT_TRUE(compare(dx.get(), gradient, {2e-6, 2e-7, false}, str(c)));
      EXPECT_TRUE(same_bits(dx.get(), again.get())) << c;
    }
  }
}

TEST_P(PoolTest, AverageMatchesOracle) {
  for (const cases::PoolCase& c : all_or_few(cases::kPoolCases, cases::kFewPoolCases)) {
    const std::vector<float> x = random_floats(c.inputs(), 5);
    std::vector<double> expected(static_cast<std::size_t>(c.outputs()));
    kernels::cpu::avg_pool2d_forward<double>(expected.data(), to_double(x).data(), c.dims);
    Guarded<float> in(x, stream()), y(c.outputs(), stream());
    kernels::avg_pool2d_forward(y.data(), in.data(), c.dims, stream());
    const double window = static_cast<double>(c.dims.kh * c.dims.kw);
    EXPECT_TRUE(compare(y.get(), expected, sum_bound(window), str(c)));

    const std::vector<float> dy = random_floats(c.outputs(), 6);
    const std::vector<float> start = random_floats(c.inputs(), 7);
    for (const GradientMode mode : kPoolModes) {
      std::vector<double> gradient = to_double(start);
      kernels::cpu::avg_pool2d_backward<double>(gradient.data(), to_double(dy).data(), c.dims,
                                                mode);
      Guarded<float> dy_in(dy, stream()), dx(c.inputs(), stream());
      if (mode == GradientMode::accumulate) dx.set(start);
      kernels::avg_pool2d_backward(dx.data(), dy_in.data(), c.dims, mode, stream());
      EXPECT_TRUE(compare(dx.get(), gradient, sum_bound(window), str(c)));
    }
  }
}

// Windows of 2x2 and of 3x3 take different paths.
TEST_P(PoolTest, TiesTakeTheLowestIndexAndNanWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto argmax_of = [&](const std::vector<float>& x, const PoolDims& d, float* value) {
    Guarded<float> in(x, stream()), y(1, stream());
    Guarded<std::int32_t> argmax(1, stream());
    kernels::max_pool2d_forward(y.data(), argmax.data(), in.data(), d, stream());
    *value = y.get()[0];
    return argmax.get()[0];
  };
  float value = 0;
  const PoolDims two{1, 1, 2, 2, 2, 2, 2, 2, 0, 0};
  EXPECT_EQ(argmax_of({1, 1, 1, 1}, two, &value), 0);
  EXPECT_EQ(argmax_of({0, 1, 1, 1}, two, &value), 1);
  EXPECT_EQ(argmax_of({0, 0, 1, 1}, two, &value), 2);
  EXPECT_EQ(argmax_of({-inf, -inf, -inf, -inf}, two, &value), 0);
  EXPECT_EQ(value, -inf);
  EXPECT_EQ(argmax_of({5, 9, nan, 7}, two, &value), 2);
  EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(argmax_of({5, nan, nan, inf}, two, &value), 1);
  EXPECT_TRUE(std::isnan(value));
  const PoolDims three{1, 1, 3, 3, 3, 3, 3, 3, 0, 0};
  EXPECT_EQ(argmax_of({1, 1, 1, 1, 1, 1, 1, 1, 1}, three, &value), 0);
  EXPECT_EQ(argmax_of({0, 1, 2, 3, 4, 4, 3, 4, 0}, three, &value), 4);
  EXPECT_EQ(argmax_of({0, 1, 2, 3, nan, 9, nan, 4, 0}, three, &value), 4);
  EXPECT_TRUE(std::isnan(value));
}

TEST_P(PoolTest, PaddingNeverWins) {
  Guarded<float> x(std::vector<float>{-5, -6, -7, -8}, stream()), y(9, stream());
  Guarded<std::int32_t> argmax(9, stream());
  kernels::max_pool2d_forward(y.data(), argmax.data(), x.data(), {1, 1, 2, 2, 2, 2, 1, 1, 1, 1},
                              stream());
  EXPECT_EQ(y.get(), (std::vector<float>{-5, -5, -6, -5, -5, -6, -7, -7, -8}));
  EXPECT_EQ(argmax.get(), (std::vector<std::int32_t>{0, 0, 1, 0, 0, 1, 2, 2, 3}));
}

TEST_P(PoolTest, EmptyBatchWritesNothing) {
  Guarded<float> y(4, stream()), x(4, stream());
  const std::vector<float> before = y.get();
  for (const PoolDims& d : {PoolDims{0, 3, 8, 8}, PoolDims{3, 0, 8, 8}}) {
    kernels::max_pool2d_forward(y.data(), nullptr, x.data(), d, stream());
    kernels::avg_pool2d_backward(y.data(), x.data(), d, GradientMode::overwrite, stream());
  }
  EXPECT_TRUE(same_bits(y.get(), before));
}

TEST_P(PoolTest, RefusesImpossibleShapes) {
  Guarded<float> y(4, stream()), x(4, stream());
  const auto pool = [&](const PoolDims& d) {
    kernels::max_pool2d_forward(y.data(), nullptr, x.data(), d, stream());
  };
  EXPECT_USAGE_ERROR(pool({1, 1, 1, 2}), "(1, 1, 1, 2)");
  EXPECT_USAGE_ERROR(pool({1, 1, 8, 8, 2, 2, 0, 2}), "stride");
  EXPECT_USAGE_ERROR(pool({1, 1, 8, 8, 2, 2, 2, 2, 2, 0}), "half the window");
  EXPECT_USAGE_ERROR(pool({1, 1, 8, 8, 0, 2}), "window");
  EXPECT_USAGE_ERROR(pool({1, 1, 8, 8, 2, 2, 2, 2, -1, 0}), "padding");
  EXPECT_USAGE_ERROR(pool({-1, 1, 8, 8}), "-1");
  EXPECT_USAGE_ERROR(pool({std::int64_t{1} << 40, std::int64_t{1} << 40, 8, 8}), "2^63");
}

WEFT_ON_EACH_DEVICE(PoolTest);

}  // namespace
}  // namespace weft::test

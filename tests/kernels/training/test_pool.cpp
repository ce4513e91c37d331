// SPDX-License-Identifier: MIT
#include "kernels/pool/pool.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/pool/cpu/bias_sigmoid.h"
#include "kernels/pool/cpu/templates.h"
#include "tests/cases/pool_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"

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
  std::vector<problems::Pool> all(std::begin(cases::kPoolCases), std::end(cases::kPoolCases));
  all.insert(all.end(), std::begin(cases::kOneSidedPoolCases), std::end(cases::kOneSidedPoolCases));
  for (const problems::Pool& c : all) {
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

TEST(PoolOracle, GradientsOfBiasAndSigmoidMatchCentralDifferences) {
  for (const problems::Pool& c : cases::kPoolCases) {
    if (c.inputs() > 300) continue;
    const std::vector<double> x = to_double(random_floats(c.inputs(), 20));
    const std::vector<double> bias = to_double(random_floats(c.dims.c, 21));
    const std::vector<double> dy = to_double(random_floats(c.outputs(), 22));
    const auto forward = [&](const std::vector<double>& in, const std::vector<double>& b) {
      std::vector<double> y(dy.size());
      kernels::cpu::avg_pool2d_bias_sigmoid_forward<double>(y.data(), in.data(), b.data(), c.dims);
      return y;
    };
    const std::vector<double> y = forward(x, bias);
    std::vector<double> dx(x.size()), dbias(bias.size());
    kernels::cpu::avg_pool2d_bias_sigmoid_backward<double>(
        dx.data(), dbias.data(), dy.data(), y.data(), c.dims, GradientMode::overwrite);
    const auto of_x = [&](const std::vector<double>& v) { return forward(v, bias); };
    const auto of_bias = [&](const std::vector<double>& v) { return forward(x, v); };
    EXPECT_TRUE(compare(dx, numeric_gradient(of_x, x, dy), gradient_bound(), str(c)));
    EXPECT_TRUE(compare(dbias, numeric_gradient(of_bias, bias, dy), gradient_bound(), str(c)));
  }
}

TEST(PoolOracle, KnownValues) {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::vector<double> y(4);
  kernels::cpu::avg_pool2d_forward<double>(y.data(), x.data(), {1, 1, 3, 3, 2, 2, 2, 2, 1, 1});
  EXPECT_EQ(y, (std::vector<double>{0.25, 1.25, 2.75, 7}));  // padding counts as zeros
  using enum kernels::PoolCount;
  kernels::cpu::avg_pool2d_forward<double>(y.data(), x.data(),
                                           {1, 1, 3, 3, 2, 2, 2, 2, 1, 1, 0, 0, plane});
  EXPECT_EQ(y, (std::vector<double>{1, 2.5, 5.5, 7}));  // or does not count
  kernels::cpu::avg_pool2d_forward<double>(y.data(), x.data(),
                                           {1, 1, 3, 3, 2, 2, 2, 2, 0, 0, 1, 1, padded});
  EXPECT_EQ(y, (std::vector<double>{3, 4.5, 7.5, 9}));  // a ceil_mode
  const std::vector<std::int32_t> argmax = argmax_oracle(y, x, {1, 1, 3, 3, 2, 2, 1, 1, 0, 0});
  EXPECT_EQ(y, (std::vector<double>{5, 6, 8, 9}));
  EXPECT_EQ(argmax, (std::vector<std::int32_t>{4, 5, 7, 8}));
}

// Elements by which the arrays are shifted from a boundary of 256 bytes: rungs choose their vectors
// by what all of them allow.
struct Shifts {
  std::int64_t x, y, argmax;
};
constexpr Shifts kShifts[] = {{0, 0, 0}, {2, 2, 2}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

class PoolTest : public DeviceTest {
 protected:
  // Calls check(variant, name) for the automatic choice and every rung that takes such windows
  // here.
  template <class Check>
  void for_each_variant(const PoolDims& dims, Check check) const {
    check(kernels::kAutomatic, std::string("automatic"));
    for (const kernels::Rung& rung : kernels::pool_rungs()) {
      const bool takes = kernels::pool_takes(rung.name, dims, device());
      if (taken(rung, device(), takes)) check(rung.name, std::string(rung.name));
    }
  }
  // The same for all shifts, with check(variant, shifts, what).
  template <class Check>
  void for_each_call(const problems::Pool& c, Check check) const {
    for_each_variant(c.dims, [&](std::string_view variant, const std::string& name) {
      for (const Shifts& s : kShifts) {
        check(variant, s, str(name, " ", c, " shifted by ", s.x, ", ", s.y, ", ", s.argmax));
      }
    });
  }

  void check_max(const problems::Pool& c) const {
    const std::vector<float> x = random_floats(c.inputs(), 2), dy = random_floats(c.outputs(), 3);
    const std::vector<float> start = random_floats(c.inputs(), 4);
    std::vector<double> expected(dy.size());
    const std::vector<std::int32_t> expected_argmax = argmax_oracle(expected, to_double(x), c.dims);
    for_each_call(c, [&](std::string_view variant, const Shifts& shifts, const std::string& what) {
      Guarded<float> in(x, stream(), shifts.x), y(c.outputs(), stream(), shifts.y);
      Guarded<float> y_only(c.outputs(), stream(), shifts.y);
      Guarded<std::int32_t> argmax(c.outputs(), stream(), shifts.argmax);
      kernels::max_pool2d_forward(y.data(), argmax.data(), in.data(), c.dims, variant, stream());
      EXPECT_TRUE(compare(y.get(), expected, exact(), what));
      EXPECT_EQ(argmax.get(), expected_argmax) << what;
      kernels::max_pool2d_forward(y_only.data(), nullptr, in.data(), c.dims, variant, stream());
      EXPECT_TRUE(same_bits(y_only.get(), y.get())) << what;

      for (const GradientMode mode : kPoolModes) {
        std::vector<double> gradient = to_double(start);
        kernels::cpu::max_pool2d_backward<double>(gradient.data(), to_double(dy).data(),
                                                  expected_argmax.data(), c.dims, mode);
        const Guarded<float> dy_in(dy, stream(), shifts.y);
        Guarded<float> dx(c.inputs(), stream(), shifts.x), again(c.inputs(), stream(), shifts.x);
        for (Guarded<float>* out : {&dx, &again}) {
          if (mode == GradientMode::accumulate) out->set(start);
          kernels::max_pool2d_backward(out->data(), dy_in.data(), argmax.data(), c.dims, mode,
                                       variant, stream());
        }
        EXPECT_TRUE(compare(dx.get(), gradient, {2e-6, 2e-7, false}, what));
        EXPECT_TRUE(same_bits(dx.get(), again.get())) << what;
      }
    });
  }

  void check_average(const problems::Pool& c) const {
    const std::vector<float> x = random_floats(c.inputs(), 5), dy = random_floats(c.outputs(), 6);
    const std::vector<float> start = random_floats(c.inputs(), 7);
    const double window = static_cast<double>(c.dims.kh * c.dims.kw);
    std::vector<double> expected(dy.size());
    kernels::cpu::avg_pool2d_forward<double>(expected.data(), to_double(x).data(), c.dims);
    for_each_call(c, [&](std::string_view variant, const Shifts& shifts, const std::string& what) {
      const Guarded<float> in(x, stream(), shifts.x);
      Guarded<float> y(c.outputs(), stream(), shifts.y);
      kernels::avg_pool2d_forward(y.data(), in.data(), c.dims, variant, stream());
      EXPECT_TRUE(compare(y.get(), expected, sum_bound(window), what));

      for (const GradientMode mode : kPoolModes) {
        std::vector<double> gradient = to_double(start);
        kernels::cpu::avg_pool2d_backward<double>(gradient.data(), to_double(dy).data(), c.dims,
                                                  mode);
        const Guarded<float> dy_in(dy, stream(), shifts.y);
        Guarded<float> dx(c.inputs(), stream(), shifts.x);
        if (mode == GradientMode::accumulate) dx.set(start);
        kernels::avg_pool2d_backward(dx.data(), dy_in.data(), c.dims, mode, variant, stream());
        EXPECT_TRUE(compare(dx.get(), gradient, sum_bound(window), what));
      }
    });
  }
};

TEST_P(PoolTest, MaxMatchesOracle) {
  for (const problems::Pool& c : all_or_few(cases::kPoolCases, cases::kFewPoolCases)) {
    check_max(c);
  }
}

TEST_P(PoolTest, PaddingOfOneSideAndOtherCounts) {
  for (const problems::Pool& c : cases::kOneSidedPoolCases) {
    check_max(c);
    check_average(c);
  }
}

TEST_P(PoolTest, AverageMatchesOracle) {
  for (const problems::Pool& c : all_or_few(cases::kPoolCases, cases::kFewPoolCases)) {
    check_average(c);
  }
}

// Sums of a window in fp32, the error of expf and of a division, and for a bias gradient the sum of
// all outputs of a channel, of which each is at most 1/4 of its dy.
TEST_P(PoolTest, BiasAndSigmoidMatchOracle) {
  must_compare();
  constexpr auto kOperation = kernels::PoolOperation::bias_sigmoid;
  for (const problems::Pool& c : all_or_few(cases::kPoolCases, cases::kFewPoolCases)) {
    const std::vector<float> x = random_floats(c.inputs(), 23), dy = random_floats(c.outputs(), 24);
    const std::vector<float> bias = random_floats(c.dims.c, 25),
                             start_x = random_floats(c.inputs(), 26);
    const std::vector<float> start_bias = random_floats(c.dims.c, 27);
    const double window = static_cast<double>(c.dims.kh * c.dims.kw);
    const double terms = static_cast<double>(c.outputs()) / static_cast<double>(c.dims.c);
    std::vector<double> expected(dy.size());
    kernels::cpu::avg_pool2d_bias_sigmoid_forward<double>(expected.data(), to_double(x).data(),
                                                          to_double(bias).data(), c.dims);
    std::vector<std::string_view> variants = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::pool_rungs()) {
      const bool takes = kernels::pool_takes(rung.name, c.dims, device(), kOperation);
      if (taken(rung, device(), takes)) variants.push_back(rung.name);
    }
    EXPECT_GT(variants.size(), 1u);
    for (const std::string_view variant : variants) {
      const std::string what = str(variant, " ", c);
      const Guarded<float> in(x, stream(), 1), b(bias, stream(), 1), dy_in(dy, stream(), 1);
      Guarded<float> y(c.outputs(), stream(), 1);
      kernels::avg_pool2d_bias_sigmoid_forward(y.data(), in.data(), b.data(), c.dims, variant,
                                               stream());
      EXPECT_TRUE(compare(y.get(), expected, sum_bound(window), what));
      for (const GradientMode mode : kPoolModes) {
        std::vector<double> gradient = to_double(start_x), bias_gradient = to_double(start_bias);
        kernels::cpu::avg_pool2d_bias_sigmoid_backward<double>(
            gradient.data(), bias_gradient.data(), to_double(dy).data(), expected.data(), c.dims,
            mode);
        Guarded<float> dx(c.inputs(), stream(), 1), dbias(c.dims.c, stream(), 1);
        if (mode == GradientMode::accumulate) {
          dx.set(start_x);
          dbias.set(start_bias);
        }
        kernels::avg_pool2d_bias_sigmoid_backward(dx.data(), dbias.data(), dy_in.data(), y.data(),
                                                  c.dims, mode, variant, stream());
        EXPECT_TRUE(compare(dx.get(), gradient, sum_bound(window), what));
        EXPECT_TRUE(compare(dbias.get(), bias_gradient, sum_bound(terms), what));
      }
    }
  }
}

// LeNet's layer by hand: means 1 and 3, biases -1 and -3 + log(3).
TEST_P(PoolTest, BiasAndSigmoidByHand) {
  const PoolDims dims{1, 2, 2, 2, 2, 2, 2, 2, 0, 0};
  const Guarded<float> x(std::vector<float>{0, 1, 1, 2, 3, 3, 3, 3}, stream());
  const Guarded<float> bias(std::vector<float>{-1, -3 + std::log(3.0f)}, stream());
  Guarded<float> y(2, stream());
  kernels::avg_pool2d_bias_sigmoid_forward(y.data(), x.data(), bias.data(), dims, "automatic",
                                           stream());
  EXPECT_NEAR(y.get()[0], 0.5, 1e-6);
  EXPECT_NEAR(y.get()[1], 0.75, 1e-6);
  EXPECT_USAGE_ERROR(kernels::avg_pool2d_bias_sigmoid_forward(y.data(), x.data(), bias.data(), dims,
                                                              "gather", stream()),
                     "a version of pool, not of avg_pool2d_bias_sigmoid");
  EXPECT_USAGE_ERROR(
      kernels::avg_pool2d_forward(y.data(), x.data(), dims, "fused_bias_sigmoid", stream()),
      "a version of avg_pool2d_bias_sigmoid, not of pool");
}

// Windows of stride 2 on planes of few columns: vectors end beyond a row, or do not fit at all.
TEST_P(PoolTest, NarrowPlanesMatchOracle) {
  for (const auto& [window, pad] : {std::pair(2, 0), std::pair(3, 0), std::pair(3, 1)}) {
    for (std::int64_t w = window - 2 * pad; w <= 9; ++w) {
      const std::int64_t h = 3 + w % 2;
      const problems::Pool c{{1, 3, h, w, window, window, 2, 2, pad, pad}};
      check_max(c);
      check_average(c);
    }
  }
}

// A test with grids of two blocks makes them go around: overlapping windows, and halves.
TEST_P(PoolTest, GatherGoesAround) {
  for (const PoolDims& dims : {PoolDims{2, 3, 17, 18, 3, 2, 2, 1, 1, 0}, PoolDims{2, 3, 18, 18}}) {
    const problems::Pool c{dims};
    const std::string_view variant = device().is_cpu() ? kernels::kAutomatic : "gather";
    const std::vector<float> x = random_integers(c.inputs(), 51),
                             dy = random_integers(c.outputs(), 52);
    std::vector<double> y(dy.size()), largest(dy.size()), dx(x.size()), of_largest(x.size());
    kernels::cpu::avg_pool2d_forward<double>(y.data(), to_double(x).data(), dims);
    kernels::cpu::avg_pool2d_backward<double>(dx.data(), to_double(dy).data(), dims,
                                              GradientMode::overwrite);
    const std::vector<std::int32_t> argmax = argmax_oracle(largest, to_double(x), dims);
    kernels::cpu::max_pool2d_backward<double>(of_largest.data(), to_double(dy).data(),
                                              argmax.data(), dims, GradientMode::overwrite);
    const Guarded<float> in(x, stream()), dy_in(dy, stream());
    Guarded<float> out(c.outputs(), stream()), maximum(c.outputs(), stream()),
        gradient(c.inputs(), stream()), of_maximum(c.inputs(), stream());
    Guarded<std::int32_t> places(c.outputs(), stream());
    kernels::avg_pool2d_forward(out.data(), in.data(), dims, variant, stream());
    kernels::avg_pool2d_backward(gradient.data(), dy_in.data(), dims, GradientMode::overwrite,
                                 variant, stream());
    kernels::max_pool2d_forward(maximum.data(), places.data(), in.data(), dims, variant, stream());
    kernels::max_pool2d_backward(of_maximum.data(), dy_in.data(), places.data(), dims,
                                 GradientMode::overwrite, variant, stream());
    EXPECT_TRUE(compare(out.get(), y, sum_bound(6, 4)));
    EXPECT_TRUE(compare(gradient.get(), dx, sum_bound(6, 4)));
    EXPECT_TRUE(compare(maximum.get(), largest, exact()));
    EXPECT_EQ(places.get(), argmax);
    EXPECT_TRUE(compare(of_maximum.get(), of_largest, exact()));
  }
}

// Windows of 2x2 and of 3x3 take different paths.
TEST_P(PoolTest, TiesTakeTheLowestIndexAndNanWins) {
  const auto expect = [&](const std::vector<float>& x, std::int64_t stride, std::int32_t index) {
    const std::int64_t side = x.size() == 4 ? 2 : 3;
    const PoolDims dims{1, 1, side, side, side, side, stride, stride, 0, 0};
    for_each_variant(dims, [&](std::string_view variant, const std::string& name) {
      Guarded<float> in(x, stream()), y(1, stream());
      Guarded<std::int32_t> argmax(1, stream());
      kernels::max_pool2d_forward(y.data(), argmax.data(), in.data(), dims, variant, stream());
      EXPECT_EQ(argmax.get()[0], index) << name;
      const float value = y.get()[0], chosen = x[static_cast<std::size_t>(index)];
      EXPECT_TRUE(value == chosen || (std::isnan(value) && std::isnan(chosen))) << name << value;
    });
  };
  expect({1, 1, 1, 1}, 2, 0);
  expect({0, 1, 1, 1}, 2, 1);
  expect({0, 0, 1, 1}, 2, 2);
  expect({-kInf, -kInf, -kInf, -kInf}, 2, 0);
  expect({5, 9, kNan, 7}, 2, 2);
  expect({5, kNan, kNan, kInf}, 2, 1);
  for (const std::int64_t stride : {2, 3}) {
    expect({1, 1, 1, 1, 1, 1, 1, 1, 1}, stride, 0);
    expect({0, 1, 2, 3, 4, 4, 3, 4, 0}, stride, 4);
    expect({0, 1, 2, 3, kNan, 9, kNan, 4, 0}, stride, 4);
  }
}

// Few values, so that most windows have ties, infinities or NaN.
TEST_P(PoolTest, TiesAndNanMatchOracle) {
  constexpr float kValues[] = {-kInf, -1, 0, 1, kInf, kNan};
  for (const auto& [window, pad] : {std::pair(2, 0), std::pair(3, 0), std::pair(3, 1)}) {
    for (const std::int64_t w : {7, 8, 10}) {
      const problems::Pool c{{4, 5, 6, w, window, window, 2, 2, pad, pad}};
      std::vector<float> x;
      for (const float draw : random_floats(c.inputs(), 8, 0, 6)) {
        x.push_back(kValues[std::min(static_cast<int>(draw), 5)]);
      }
      std::vector<double> expected(static_cast<std::size_t>(c.outputs()));
      const std::vector<std::int32_t> indices = argmax_oracle(expected, to_double(x), c.dims);
      for_each_variant(c.dims, [&](std::string_view variant, const std::string& name) {
        Guarded<float> in(x, stream()), y(c.outputs(), stream());
        Guarded<std::int32_t> argmax(c.outputs(), stream());
        for (std::int32_t* to : {argmax.data(), static_cast<std::int32_t*>(nullptr)}) {
          kernels::max_pool2d_forward(y.data(), to, in.data(), c.dims, variant, stream());
          const std::vector<float> found = y.get();
          for (std::size_t i = 0; i < found.size(); ++i) {
            const double value = static_cast<double>(found[i]);
            EXPECT_TRUE(value == expected[i] || (std::isnan(value) && std::isnan(expected[i])))
                << name << " " << c << " at " << i << ": " << value << ", not " << expected[i];
          }
        }
        EXPECT_EQ(argmax.get(), indices) << name << " " << c;
      });
    }
  }
}

TEST_P(PoolTest, PaddingNeverWins) {
  const auto expect = [&](const std::vector<float>& x, const PoolDims& dims,
                          const std::vector<float>& values,
                          const std::vector<std::int32_t>& indices) {
    for_each_variant(dims, [&](std::string_view variant, const std::string& name) {
      const std::int64_t outputs = static_cast<std::int64_t>(values.size());
      Guarded<float> in(x, stream()), y(outputs, stream());
      Guarded<std::int32_t> argmax(outputs, stream());
      kernels::max_pool2d_forward(y.data(), argmax.data(), in.data(), dims, variant, stream());
      EXPECT_EQ(y.get(), values) << name;
      EXPECT_EQ(argmax.get(), indices) << name;
    });
  };
  expect({-5, -6, -7, -8}, {1, 1, 2, 2, 2, 2, 1, 1, 1, 1}, {-5, -5, -6, -5, -5, -6, -7, -7, -8},
         {0, 0, 1, 0, 0, 1, 2, 2, 3});
  expect({-5, -6, -7, -8}, {1, 1, 2, 2, 3, 3, 2, 2, 1, 1}, {-5}, {0});
  expect(std::vector<float>(9, -kInf), {1, 1, 3, 3, 3, 3, 2, 2, 1, 1}, {-kInf, -kInf, -kInf, -kInf},
         {0, 1, 3, 4});
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
  EXPECT_USAGE_ERROR(pool({1, 1, 8, 8, 3, 3, 2, 2, 1, 1, -2, 0}), "padding behind");
  EXPECT_USAGE_ERROR(pool({1, 1, 8, 8, 2, 2, 2, 2, 0, 0, 2, 0}), "begins behind the input");
  EXPECT_USAGE_ERROR(pool({std::int64_t{1} << 40, std::int64_t{1} << 40, 8, 8}), "2^63");
}

TEST_P(PoolTest, RefusesWindowsThatARungDoesNotTake) {
  Guarded<float> y(64, stream()), x(64, stream());
  for (const PoolDims& d : {PoolDims{1, 1, 8, 8, 3, 3, 1, 1, 1, 1}, PoolDims{1, 1, 8, 8, 2, 3},
                            PoolDims{1, 1, 8, 8, 2, 2, 2, 2, 1, 1}, PoolDims{1, 1, 8, 8, 4, 4}}) {
    EXPECT_FALSE(kernels::pool_takes("vectorized", d, device()));
    EXPECT_USAGE_ERROR(
        kernels::max_pool2d_forward(y.data(), nullptr, x.data(), d, "vectorized", stream()),
        "vectorized");
  }
  EXPECT_USAGE_ERROR(
      kernels::max_pool2d_forward(y.data(), nullptr, x.data(), {1, 1, 8, 8}, "scatter", stream()),
      "gather, vectorized");
}

WEFT_ON_EACH_DEVICE(PoolTest);

}  // namespace
}  // namespace weft::test

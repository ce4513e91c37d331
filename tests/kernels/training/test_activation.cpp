// SPDX-License-Identifier: MIT
#include "kernels/activation/activation.h"

#include <limits>

#include "kernels/activation/cpu/templates.h"
#include "tests/cases/activation_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::Activation;
using kernels::GradientMode;

using kernels::ActivationFunction;

const ActivationFunction kFunctions[] = {
    Activation::relu,
    Activation::sigmoid,
    Activation::tanh,
    {Activation::leaky_relu, 0.2f},
    {Activation::elu, 0.7f},
    Activation::silu,
    Activation::gelu,
    Activation::gelu_tanh,
    Activation::hard_swish,
    {Activation::hard_sigmoid, 0.2f, 0.5f},
    {Activation::clip, -0.6f, 0.7f},
};
constexpr GradientMode kModes[] = {GradientMode::overwrite, GradientMode::accumulate};

std::vector<double> forward_oracle(const std::vector<double>& x, const ActivationFunction& f) {
  std::vector<double> y(x.size());
  kernels::cpu::activation_forward<double>(y.data(), x.data(), static_cast<std::int64_t>(x.size()),
                                           f);
  return y;
}

std::vector<double> backward_oracle(std::vector<double> dx, const std::vector<double>& dy,
                                    const std::vector<double>& y, const ActivationFunction& f,
                                    GradientMode mode) {
  kernels::cpu::activation_backward<double>(dx.data(), dy.data(), y.data(),
                                            static_cast<std::int64_t>(dx.size()), f, mode);
  return dx;
}

TEST(ActivationOracle, GradientsMatchCentralDifferences) {
  const std::vector<double> x = to_double(random_off_zero(101, 1));
  const std::vector<double> dy = to_double(random_floats(101, 2));
  for (const ActivationFunction& f : kFunctions) {
    const std::vector<double> y = forward_oracle(x, f);
    const bool reads_input = kernels::backward_reads_input(f.kind);
    const std::vector<double> dx = backward_oracle(std::vector<double>(x.size()), dy,
                                                   reads_input ? x : y, f, GradientMode::overwrite);
    const auto forward = [&](const std::vector<double>& v) { return forward_oracle(v, f); };
    EXPECT_TRUE(compare(dx, numeric_gradient(forward, x, dy), gradient_bound()));
  }
}

// The square in the exponent of a normal distribution is rounded to 40 times an ulp at 9. A
// hard_sigmoid near 0 is the difference of two numbers of order 1.
Bound forward_bound(Activation kind) {
  const bool is_gelu = kind == Activation::gelu || kind == Activation::gelu_tanh;
  return {kind == Activation::hard_sigmoid ? 1e-7 : 1e-12, is_gelu ? 1e-5 : 6e-7, true};
}

class ActivationTest : public DeviceTest {
 protected:
  // `automatic`, and every rung that runs here.
  std::vector<std::string_view> variants() const {
    std::vector<std::string_view> result = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::activation_rungs()) {
      if (device().is_cpu() ? rung.on_cpu : rung.on_cuda) result.push_back(rung.name);
    }
    return result;
  }
};

TEST_P(ActivationTest, ForwardMatchesOracle) {
  for (const ActivationFunction& f : kFunctions) {
    for (const std::int64_t n : linear_sizes()) {
      for (const std::int64_t misalign : {0, 1}) {
        const std::vector<float> x = random_floats(n, 3, -9, 9);
        Guarded<float> in(x, stream(), misalign);
        for (const std::string_view variant : variants()) {
          Guarded<float> out(n, stream(), misalign);
          kernels::activation_forward(out.data(), in.data(), n, f, variant, stream());
          EXPECT_TRUE(compare(out.get(), forward_oracle(to_double(x), f), forward_bound(f.kind),
                              str(variant, ", kind ", static_cast<int>(f.kind), ", n ", n)));
        }
      }
    }
  }
}

TEST_P(ActivationTest, BackwardMatchesOracle) {
  for (const ActivationFunction& f : kFunctions) {
    for (const GradientMode mode : kModes) {
      for (const std::int64_t n : linear_sizes()) {
        for (const std::int64_t misalign : {0, 3}) {
          const std::vector<float> y = random_off_zero(n, 4), dy = random_floats(n, 5),
                                   start = random_floats(n, 6);
          Guarded<float> dy_in(dy, stream(), misalign), y_in(y, stream());
          const std::vector<double> expected =
              backward_oracle(to_double(start), to_double(dy), to_double(y), f, mode);
          for (const std::string_view variant : variants()) {
            Guarded<float> dx(n, stream(), misalign);
            if (mode == GradientMode::accumulate) dx.set(start);
            kernels::activation_backward(dx.data(), dy_in.data(), y_in.data(), n, f, mode, variant,
                                         stream());
            EXPECT_TRUE(compare(dx.get(), expected, {5e-7, 5e-7, true},
                                str(variant, ", kind ", static_cast<int>(f.kind), ", n ", n)));
          }
        }
      }
    }
  }
}

TEST_P(ActivationTest, InPlaceGivesTheSameBits) {
  const std::int64_t n = 5003;
  for (const ActivationFunction& f : kFunctions) {
    const std::vector<float> x = random_floats(n, 7, -3, 3);
    Guarded<float> in(x, stream()), out(n, stream());
    kernels::activation_forward(out.data(), in.data(), n, f, stream());
    kernels::activation_forward(in.data(), in.data(), n, f, stream());
    EXPECT_TRUE(same_bits(in.get(), out.get()));

    const std::vector<float> dy = random_floats(n, 8);
    Guarded<float> gradient(dy, stream()), dx(n, stream());
    kernels::activation_backward(dx.data(), gradient.data(), out.data(), n, f,
                                 GradientMode::overwrite, stream());
    kernels::activation_backward(gradient.data(), gradient.data(), out.data(), n, f,
                                 GradientMode::overwrite, stream());
    EXPECT_TRUE(same_bits(gradient.get(), dx.get()));
  }
}

TEST_P(ActivationTest, ExtremeValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {0, -inf, inf, -1e30f, 1e30f, -100, 100, 1e-20f, nan};
  const std::int64_t n = static_cast<std::int64_t>(x.size());
  const std::vector<std::vector<float>> expected = {
      {0, 0, inf, 0, 1e30f, 0, 100, 1e-20f},
      {0.5f, 0, 1, 0, 1, 0, 1, 0.5f},
      {0, -1, 1, -1, 1, -1, 1, 1e-20f},
      {0, -inf, inf, -0.2f * 1e30f, 1e30f, -20, 100, 1e-20f},
      {0, -0.7f, inf, -0.7f, 1e30f, -0.7f, 100, 1e-20f},
      {0, nan, inf, 0, 1e30f, 0, 100, 0.5e-20f},
      {0, nan, inf, 0, 1e30f, 0, 100, 0.5e-20f},
      {0, nan, inf, 0, 1e30f, 0, 100, 0.5e-20f},
      {0, 0, inf, 0, 1e30f, 0, 100, 0.5e-20f},
      {0.5f, 0, 1, 0, 1, 0, 1, 0.5f},
      {0, -0.6f, 0.7f, -0.6f, 0.7f, -0.6f, 0.7f, 1e-20f},
  };
  for (std::size_t k = 0; k < std::size(kFunctions); ++k) {
    Guarded<float> in(x, stream()), out(n, stream());
    kernels::activation_forward(out.data(), in.data(), n, kFunctions[k], stream());
    const std::vector<float> y = out.get();
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      if (std::isnan(expected[k][i])) continue;  // -inf times 0
      if (std::isinf(expected[k][i])) {
        EXPECT_EQ(y[i], expected[k][i]);
      } else {
        // A share of 1e-38 of 1e30 is left on a CPU.
        EXPECT_NEAR(y[i], expected[k][i],
                    (std::fabs(x[i]) > 1e20f ? 1e-8 : 1e-30) + 2e-7 * std::fabs(expected[k][i]))
            << "kind " << k << " of " << x[i];
      }
    }
    EXPECT_TRUE(std::isnan(y.back())) << "kind " << k;
  }
}

TEST_P(ActivationTest, ReluOfMinusZeroIsZero) {
  const std::vector<float> x = {-0.0f, 0.0f, -0.0f, 1.0f, -0.0f};
  Guarded<float> in(x, stream()), out(5, stream());
  kernels::activation_forward(out.data(), in.data(), 5, Activation::relu, stream());
  EXPECT_TRUE(same_bits(out.get(), {0.0f, 0.0f, 0.0f, 1.0f, 0.0f}));
}

TEST_P(ActivationTest, ReluGradientIsZeroAtTheKink) {
  Guarded<float> y(std::vector<float>{0.0f, -0.0f, 1.0f}, stream());
  Guarded<float> dy(std::vector<float>{5.0f, 5.0f, 5.0f}, stream()), dx(3, stream());
  kernels::activation_backward(dx.data(), dy.data(), y.data(), 3, Activation::relu,
                               GradientMode::overwrite, stream());
  EXPECT_EQ(dx.get(), (std::vector<float>{0, 0, 5}));
}

TEST_P(ActivationTest, NothingIsWrittenForNoElements) {
  Guarded<float> y(4, stream()), x(4, stream());
  const std::vector<float> before = y.get();
  kernels::activation_forward(y.data(), x.data(), 0, Activation::relu, stream());
  kernels::activation_backward(y.data(), x.data(), x.data(), 0, Activation::tanh,
                               GradientMode::overwrite, stream());
  kernels::bias_forward(y.data(), x.data(), x.data(), 0, 4, 1, stream());
  kernels::bias_backward(y.data(), x.data(), 0, 4, 1, GradientMode::accumulate, stream());
  EXPECT_TRUE(same_bits(y.get(), before));
  EXPECT_USAGE_ERROR(
      kernels::activation_forward(y.data(), x.data(), -1, Activation::relu, stream()), "-1");
}

TEST_P(ActivationTest, NumbersThatNoFunctionHasAreRefused) {
  Guarded<float> x(4, stream());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ActivationFunction& f :
       {ActivationFunction(Activation::leaky_relu, -1.0f),
        ActivationFunction(Activation::elu, -1.0f), ActivationFunction(Activation::elu, nan),
        ActivationFunction(Activation::hard_sigmoid, 0.0f, 1.0f),
        ActivationFunction(Activation::clip, 1.0f, 1.0f)}) {
    EXPECT_USAGE_ERROR(kernels::activation_forward(x.data(), x.data(), 4, f, stream()), "expected");
    EXPECT_USAGE_ERROR(kernels::activation_backward(x.data(), x.data(), x.data(), 4, f,
                                                    GradientMode::overwrite, stream()),
                       "expected");
  }
}

TEST_P(ActivationTest, PreluMatchesOracle) {
  for (const problems::Bias& c : all_or_few(cases::kBiasCases, cases::kFewBiasCases)) {
    std::vector<float> x = random_off_zero(c.elements(), 9);
    for (std::int64_t k = 0; k < c.channels; ++k) {  // a number below 0 in each channel
      float& first = x[static_cast<std::size_t>(k * c.inner)];
      first = -std::fabs(first);
    }
    const std::vector<float> dy = random_floats(x.size(), 11),
                             slope = random_floats(c.channels, 10),
                             start = random_floats(c.channels, 12);
    std::vector<double> y(x.size()), dx(x.size()), dslope(slope.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t at = i / static_cast<std::size_t>(c.inner) % slope.size();
      const double factor = x[i] > 0 ? 1 : double{slope[at]};
      y[i] = x[i] * factor;
      dx[i] = dy[i] * factor;
      if (x[i] <= 0) dslope[at] += double{dy[i]} * double{x[i]};
    }
    Guarded<float> in(x, stream(), 1), gradient(dy, stream(), 3), slopes(slope, stream());
    const double length = static_cast<double>(c.outer * c.inner);
    for (const std::string_view variant : variants()) {
      Guarded<float> out(c.elements(), stream(), 1);
      kernels::prelu_forward(out.data(), in.data(), slopes.data(), c.outer, c.channels, c.inner,
                             variant, stream());
      EXPECT_TRUE(compare(out.get(), y, {0, 2e-7, true}, str(variant, ", prelu ", c)));
      for (const GradientMode mode : kModes) {
        std::vector<double> expected = dslope;
        Guarded<float> to(c.elements(), stream()), sums(c.channels, stream());
        if (mode == GradientMode::accumulate) {
          sums.set(start);
          for (std::size_t i = 0; i < start.size(); ++i) expected[i] += double{start[i]};
        }
        kernels::prelu_backward(to.data(), sums.data(), gradient.data(), in.data(), slopes.data(),
                                c.outer, c.channels, c.inner, mode, variant, stream());
        EXPECT_TRUE(compare(to.get(), dx, {0, 2e-7, true}, str(variant, ", prelu ", c)));
        EXPECT_TRUE(compare(sums.get(), expected, sum_bound(length, std::sqrt(length)),
                            str(variant, ", slopes of ", c)));
        Guarded<float> again(c.channels, stream()), place(dy, stream());
        if (mode == GradientMode::accumulate) again.set(start);
        kernels::prelu_backward(nullptr, again.data(), gradient.data(), in.data(), slopes.data(),
                                c.outer, c.channels, c.inner, mode, variant, stream());
        EXPECT_TRUE(same_bits(again.get(), sums.get())) << variant << " without dx, " << c;
        kernels::prelu_backward(place.data(), again.data(), place.data(), in.data(), slopes.data(),
                                c.outer, c.channels, c.inner, GradientMode::overwrite, variant,
                                stream());
        EXPECT_TRUE(same_bits(place.get(), to.get())) << variant << " in place, " << c;
      }
      kernels::prelu_forward(in.data(), in.data(), slopes.data(), c.outer, c.channels, c.inner,
                             variant, stream());
      EXPECT_TRUE(same_bits(in.get(), out.get())) << variant << " in place, " << c;
      in.set(x);
    }
  }
}

TEST_P(ActivationTest, BiasForwardMatchesOracle) {
  for (const problems::Bias& c : all_or_few(cases::kBiasCases, cases::kFewBiasCases)) {
    const std::vector<float> x = random_floats(c.elements(), 9), b = random_floats(c.channels, 10);
    std::vector<double> expected(x.size());
    kernels::cpu::bias_forward<double>(expected.data(), to_double(x).data(), to_double(b).data(),
                                       c.outer, c.channels, c.inner);
    for (const std::string_view variant : variants()) {
      Guarded<float> in(x, stream()), bias(b, stream()), out(c.elements(), stream(), 1);
      kernels::bias_forward(out.data(), in.data(), bias.data(), c.outer, c.channels, c.inner,
                            variant, stream());
      EXPECT_TRUE(compare(out.get(), expected, {2e-7, 0, false}, str(variant, ", bias ", c)));
      kernels::bias_forward(in.data(), in.data(), bias.data(), c.outer, c.channels, c.inner,
                            variant, stream());
      EXPECT_TRUE(same_bits(in.get(), out.get())) << variant << " in place, " << c;
    }
  }
}

TEST_P(ActivationTest, BiasBackwardMatchesOracle) {
  for (const problems::Bias& c : all_or_few(cases::kBiasCases, cases::kFewBiasCases)) {
    const std::vector<float> dy = random_floats(c.elements(), 11);
    const std::vector<float> start = random_floats(c.channels, 12);
    for (const GradientMode mode : kModes) {
      std::vector<double> expected = to_double(start);
      kernels::cpu::bias_backward<double>(expected.data(), to_double(dy).data(), c.outer,
                                          c.channels, c.inner, mode);
      Guarded<float> in(dy, stream(), 1);
      const double length = static_cast<double>(c.outer * c.inner);
      for (const std::string_view variant : variants()) {
        Guarded<float> out(c.channels, stream()), again(c.channels, stream());
        for (Guarded<float>* db : {&out, &again}) {
          if (mode == GradientMode::accumulate) db->set(start);
          kernels::bias_backward(db->data(), in.data(), c.outer, c.channels, c.inner, mode, variant,
                                 stream());
        }
        EXPECT_TRUE(compare(out.get(), expected, sum_bound(length, std::sqrt(length)),
                            str(variant, ", ", c)));
        EXPECT_TRUE(same_bits(out.get(), again.get())) << variant << ", " << c;
      }
    }
  }
}

// Sums of integers are exact in any order; pairs of +-1e6 far apart cancel.
TEST_P(ActivationTest, BiasGradientOfEqualAndOfCancellingValuesIsExact) {
  const std::int64_t channels = 3, outer = 1024;
  for (const std::int64_t inner : {1, 33}) {
    const std::size_t n = static_cast<std::size_t>(outer * channels * inner);
    std::vector<float> dy(n, 2);
    const float total = 2 * static_cast<float>(outer * inner);
    Guarded<float> in(dy, stream()), db(channels, stream());
    const auto sums = [&] {
      kernels::bias_backward(db.data(), in.data(), outer, channels, inner, GradientMode::overwrite,
                             stream());
      return db.get();
    };
    EXPECT_EQ(sums(), std::vector<float>(3, total));
    for (std::size_t i = 0; i < n / 2; ++i) {
      const float big = i % 64 == 0 ? 131072.0f : 0.0f;  // partial sums stay below 2^24
      dy[i] += big;
      dy[i + n / 2] -= big;
    }
    in.set(dy);
    EXPECT_EQ(sums(), std::vector<float>(3, total));
  }
}

TEST_P(ActivationTest, BiasGradientOfAnEmptyBatchIsZero) {
  Guarded<float> db(3, stream()), dy(1, stream());
  for (const std::int64_t inner : {1, 5}) {
    db.set({7, 8, 9});
    kernels::bias_backward(db.data(), dy.data(), 0, 3, inner, GradientMode::overwrite, stream());
    EXPECT_EQ(db.get(), (std::vector<float>{0, 0, 0}));
  }
}

TEST(ActivationCpu, BiasGradientDoesNotDependOnThreads) {
  const Stream stream(Device::cpu());
  const std::vector<float> dy = random_floats(64 * 100 * 36, 13);
  for (const std::int64_t inner : {1, 36}) {
    const std::int64_t outer = 64 * 36 / inner;
    const auto [one, three] = with_thread_counts([&] {
      std::vector<float> db(100);
      kernels::bias_backward(db.data(), dy.data(), outer, 100, inner, GradientMode::overwrite,
                             stream);
      return db;
    });
    EXPECT_TRUE(same_bits(one, three));
  }
}

WEFT_ON_EACH_DEVICE(ActivationTest);

}  // namespace
}  // namespace weft::test

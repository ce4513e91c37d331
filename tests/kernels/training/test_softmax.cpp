// SPDX-License-Identifier: MIT
#include "kernels/softmax/softmax.h"

#include <algorithm>
#include <limits>

#include "kernels/softmax/cpu/templates.h"
#include "tests/cases/softmax_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"

namespace weft::test {
namespace {

using kernels::GradientMode;

std::vector<double> softmax_oracle(const std::vector<double>& x, std::int64_t rows,
                                   std::int64_t cols) {
  std::vector<double> y(x.size());
  kernels::cpu::softmax_forward<double>(y.data(), x.data(), rows, cols);
  return y;
}

std::vector<double> loss_oracle(const std::vector<double>& x,
                                const std::vector<std::int32_t>& labels, std::int64_t rows,
                                std::int64_t cols) {
  std::vector<double> loss(static_cast<std::size_t>(rows));
  kernels::cpu::softmax_cross_entropy<double>(loss.data(), nullptr, nullptr, x.data(),
                                              labels.data(), 1, rows, cols);
  return loss;
}

std::vector<std::int32_t> random_labels(std::int64_t rows, std::int64_t cols) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(rows));
  for (std::size_t r = 0; r < labels.size(); ++r) {
    labels[r] = static_cast<std::int32_t>(philox(9, RandomStream::data, 3, r).value[0] %
                                          static_cast<std::uint32_t>(cols));
  }
  return labels;
}

TEST(SoftmaxOracle, GradientsMatchCentralDifferences) {
  const std::int64_t rows = 5, cols = 7;
  const std::vector<double> x = to_double(random_floats(rows * cols, 1, -2, 2));
  const std::vector<double> dy = to_double(random_floats(rows * cols, 2));
  const auto forward = [&](const std::vector<double>& v) { return softmax_oracle(v, rows, cols); };
  std::vector<double> dx(x.size());
  kernels::cpu::softmax_backward<double>(dx.data(), dy.data(), forward(x).data(), rows, cols,
                                         GradientMode::overwrite);
  EXPECT_TRUE(compare(dx, numeric_gradient(forward, x, dy), gradient_bound()));

  const std::vector<std::int32_t> labels = random_labels(rows, cols);
  const auto loss = [&](const std::vector<double>& v) {
    return loss_oracle(v, labels, rows, cols);
  };
  kernels::cpu::softmax_cross_entropy<double>(nullptr, dx.data(), nullptr, x.data(), labels.data(),
                                              0.25, rows, cols);
  const std::vector<double> weights(static_cast<std::size_t>(rows), 0.25);
  EXPECT_TRUE(compare(dx, numeric_gradient(loss, x, weights), gradient_bound()));
}

// The smoothed loss is the one whose gradient is taken: (1 - s) of the label's, s of the mean's.
TEST(SoftmaxOracle, SmoothedGradientMatchesCentralDifferences) {
  const std::int64_t rows = 3, cols = 6;
  const double smoothing = 0.3;
  const std::vector<double> x = to_double(random_floats(rows * cols, 1, -2, 2));
  const std::vector<std::int32_t> labels = random_labels(rows, cols);
  const auto loss = [&](const std::vector<double>& v) {
    std::vector<double> sum(static_cast<std::size_t>(rows));
    for (std::int32_t c = -1; c < cols; ++c) {
      const std::vector<std::int32_t> all(static_cast<std::size_t>(rows), c);
      const std::vector<double> one = loss_oracle(v, c < 0 ? labels : all, rows, cols);
      const double share = c < 0 ? 1 - smoothing : smoothing / static_cast<double>(cols);
      for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += share * one[r];
    }
    return sum;
  };
  std::vector<double> dx(x.size());
  kernels::cpu::softmax_cross_entropy<double>(nullptr, dx.data(), nullptr, x.data(), labels.data(),
                                              0.25, rows, cols, smoothing);
  const std::vector<double> weights(static_cast<std::size_t>(rows), 0.25);
  EXPECT_TRUE(compare(dx, numeric_gradient(loss, x, weights), gradient_bound()));
}

TEST(SoftmaxOracle, KnownValues) {
  const std::vector<double> y = softmax_oracle({0, std::log(3.0)}, 1, 2);
  EXPECT_TRUE(compare(y, std::vector<double>{0.25, 0.75}, {1e-15, 0, false}));
  EXPECT_NEAR(loss_oracle({0, std::log(3.0)}, {0}, 1, 2)[0], std::log(4.0), 1e-15);
}

class SoftmaxTest : public DeviceTest {
 protected:
  // Calls check(variant, name) for the automatic choice and every rung that takes such rows here.
  template <class Check>
  void for_each_variant(std::int64_t cols, Check check) const {
    check(kernels::kAutomatic, std::string("automatic"));
    for (const kernels::Rung& rung : kernels::softmax_rungs()) {
      const bool takes = kernels::softmax_takes(rung.name, cols, device());
      if (taken(rung, device(), takes)) check(rung.name, std::string(rung.name));
    }
  }
};

// |x - max| <= 16 is rounded to 1e-6, which becomes a relative error of its exponential.
constexpr Bound kProbabilityBound{1e-12, 4e-6, false};

TEST_P(SoftmaxTest, ForwardMatchesOracleAndRepeats) {
  for (const problems::Softmax& c : all_or_few(cases::kSoftmaxCases, cases::kFewSoftmaxCases)) {
    const std::vector<float> x = random_floats(c.elements(), 3, -8, 8);
    const std::vector<double> expected = softmax_oracle(to_double(x), c.rows, c.cols);
    Guarded<float> in(x, stream(), 1);
    for_each_variant(c.cols, [&](std::string_view variant, const std::string& name) {
      Guarded<float> y(c.elements(), stream(), 1), again(c.elements(), stream());
      kernels::softmax_forward(y.data(), in.data(), c.rows, c.cols, variant, stream());
      kernels::softmax_forward(again.data(), in.data(), c.rows, c.cols, variant, stream());
      EXPECT_TRUE(compare(y.get(), expected, kProbabilityBound, str(name, " ", c)));
      EXPECT_TRUE(same_bits(y.get(), again.get())) << name << " " << c;
    });
  }
}

TEST_P(SoftmaxTest, BackwardMatchesOracle) {
  for (const problems::Softmax& c : all_or_few(cases::kSoftmaxCases, cases::kFewSoftmaxCases)) {
    std::vector<float> y(static_cast<std::size_t>(c.elements()));
    const std::vector<double> probabilities =
        softmax_oracle(to_double(random_floats(c.elements(), 3, -8, 8)), c.rows, c.cols);
    std::copy(probabilities.begin(), probabilities.end(), y.begin());
    const std::vector<float> dy = random_floats(c.elements(), 4);
    const std::vector<float> start = random_floats(c.elements(), 5);
    const Guarded<float> y_in(y, stream(), 1), dy_in(dy, stream());
    for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
      std::vector<double> expected = to_double(start);
      kernels::cpu::softmax_backward<double>(expected.data(), to_double(dy).data(),
                                             to_double(y).data(), c.rows, c.cols, mode);
      for_each_variant(c.cols, [&](std::string_view variant, const std::string& name) {
        Guarded<float> dx(c.elements(), stream());
        if (mode == GradientMode::accumulate) dx.set(start);
        kernels::softmax_backward(dx.data(), dy_in.data(), y_in.data(), c.rows, c.cols, mode,
                                  variant, stream());
        // The sum of dy y, whose terms are at most 1 in sum, and a few roundings of each element.
        Bound bound{1e-6, 1e-6, c.cols == 1};  // one class: the gradient is exactly zero
        if (mode == GradientMode::overwrite)
          bound.absolute = 1e-6 / std::sqrt(static_cast<double>(c.cols));
        EXPECT_TRUE(compare(dx.get(), expected, bound, str(name, " ", c)));
      });
    }
  }
}

TEST_P(SoftmaxTest, CrossEntropyMatchesOracle) {
  for (const problems::Softmax& c : all_or_few(cases::kSoftmaxCases, cases::kFewSoftmaxCases)) {
    const std::vector<float> x = random_floats(c.elements(), 6, -8, 8);
    const std::vector<std::int32_t> label_values = random_labels(c.rows, c.cols);
    const float scale = 1.0f / static_cast<float>(c.rows);
    std::vector<double> loss(static_cast<std::size_t>(c.rows)), dx(x.size());
    std::vector<std::int32_t> prediction(loss.size());
    kernels::cpu::softmax_cross_entropy<double>(loss.data(), dx.data(), prediction.data(),
                                                to_double(x).data(), label_values.data(), scale,
                                                c.rows, c.cols);
    Guarded<float> in(x, stream(), 1);
    Guarded<std::int32_t> labels(label_values, stream());
    for_each_variant(c.cols, [&](std::string_view variant, const std::string& name) {
      const std::string what = str(name, " ", c);
      const auto run = [&](float* losses, float* gradient, std::int32_t* predictions) {
        kernels::softmax_cross_entropy(losses, gradient, predictions, in.data(), labels.data(),
                                       scale, c.rows, c.cols, variant, stream());
      };
      Guarded<float> loss_out(c.rows, stream()), dx_out(c.elements(), stream());
      Guarded<std::int32_t> prediction_out(c.rows, stream());
      run(loss_out.data(), dx_out.data(), prediction_out.data());
      EXPECT_TRUE(compare(loss_out.get(), loss, {6e-6, 0, c.cols == 1}, what));
      EXPECT_TRUE(
          compare(dx_out.get(), dx, {4e-7 * static_cast<double>(scale), 4e-6, c.cols == 1}, what));
      EXPECT_EQ(prediction_out.get(), prediction) << what;

      Guarded<float> only_loss(c.rows, stream()), only_dx(c.elements(), stream());
      Guarded<std::int32_t> only_prediction(c.rows, stream());
      run(only_loss.data(), nullptr, nullptr);
      run(nullptr, only_dx.data(), nullptr);
      run(nullptr, nullptr, only_prediction.data());
      EXPECT_TRUE(same_bits(only_loss.get(), loss_out.get())) << what;
      EXPECT_TRUE(same_bits(only_dx.get(), dx_out.get())) << what;
      EXPECT_EQ(only_prediction.get(), prediction) << what;
    });
  }
}

// The gradient is that of a smoothed target; loss and prediction are those of the label.
TEST_P(SoftmaxTest, SmoothingChangesTheGradientOnly) {
  for (const problems::Softmax& c : all_or_few(cases::kSoftmaxCases, cases::kFewSoftmaxCases)) {
    const std::vector<float> x = random_floats(c.elements(), 6, -8, 8);
    const std::vector<std::int32_t> label_values = random_labels(c.rows, c.cols);
    const float scale = 0.25f, smoothing = 0.125f;
    std::vector<double> dx(x.size());
    kernels::cpu::softmax_cross_entropy<double>(nullptr, dx.data(), nullptr, to_double(x).data(),
                                                label_values.data(), scale, c.rows, c.cols,
                                                smoothing);
    const Guarded<float> in(x, stream());
    const Guarded<std::int32_t> labels(label_values, stream());
    for_each_variant(c.cols, [&](std::string_view variant, const std::string& name) {
      Guarded<float> loss(c.rows, stream()), smooth_loss(c.rows, stream());
      Guarded<float> gradient(c.elements(), stream());
      Guarded<std::int32_t> prediction(c.rows, stream()), smooth_prediction(c.rows, stream());
      kernels::softmax_cross_entropy(loss.data(), nullptr, prediction.data(), in.data(),
                                     labels.data(), scale, c.rows, c.cols, variant, stream());
      kernels::softmax_cross_entropy(smooth_loss.data(), gradient.data(), smooth_prediction.data(),
                                     in.data(), labels.data(), scale, smoothing, c.rows, c.cols,
                                     variant, stream());
      EXPECT_TRUE(compare(gradient.get(), dx, {1e-7, 4e-6, c.cols == 1}, str(name, " ", c)));
      EXPECT_TRUE(same_bits(smooth_loss.get(), loss.get())) << name << " " << c;
      EXPECT_EQ(smooth_prediction.get(), prediction.get()) << name << " " << c;
    });
  }
}

// The large values come late, where a running sum must be corrected by a factor of 0.
TEST_P(SoftmaxTest, ExtremeLogitsStayFinite) {
  for (const std::int64_t cols : {4, 2000, 9000}) {
    std::vector<float> x(static_cast<std::size_t>(3 * cols), -kInf);
    const auto at = [&](std::int64_t r, std::int64_t c) {
      return static_cast<std::size_t>(r * cols + c);
    };
    x[at(0, 1)] = x[at(0, cols - 1)] = 3e38f;
    x[at(1, 0)] = -3e38f;
    for (std::int64_t c = 0; c < cols; ++c) x[at(2, c)] = -3e38f;
    x[at(2, cols - 2)] = 0;
    std::vector<double> expected(x.size());
    expected[at(0, 1)] = expected[at(0, cols - 1)] = 0.5;
    expected[at(1, 0)] = expected[at(2, cols - 2)] = 1;
    const Guarded<float> in(x, stream());
    for_each_variant(cols, [&](std::string_view variant, const std::string& name) {
      Guarded<float> y(3 * cols, stream());
      kernels::softmax_forward(y.data(), in.data(), 3, cols, variant, stream());
      EXPECT_TRUE(compare(y.get(), expected, {1e-37, 1e-7, false}, str(name, ", cols ", cols)));
    });
  }
}

TEST_P(SoftmaxTest, EqualLogitsShareEvenly) {
  for (const std::int64_t cols : {1, 33, 1024, 1025, 20000}) {
    const std::vector<float> x(static_cast<std::size_t>(2 * cols), -123.25f);
    const std::vector<double> expected(x.size(), 1.0 / static_cast<double>(cols));
    const Guarded<float> in(x, stream());
    for_each_variant(cols, [&](std::string_view variant, const std::string& name) {
      Guarded<float> y(2 * cols, stream());
      kernels::softmax_forward(y.data(), in.data(), 2, cols, variant, stream());
      EXPECT_TRUE(compare(y.get(), expected, {0, 2e-7, false}, str(name, ", cols ", cols)));
    });
  }
}

// Also where nothing but a NaN, an infinity or minus infinities are in the row.
TEST_P(SoftmaxTest, NanPoisonsItsRowOnly) {
  for (const std::int64_t cols : {10, 1500, 9000}) {
    std::vector<float> x = random_floats(5 * cols, 7);
    x[static_cast<std::size_t>(cols + 4)] = kNan;
    x[static_cast<std::size_t>(2 * cols + 5)] = kInf;
    for (std::int64_t c = 0; c < cols; ++c) x[static_cast<std::size_t>(3 * cols + c)] = -kInf;
    const Guarded<float> in(x, stream());
    const Guarded<std::int32_t> labels(std::vector<std::int32_t>{1, 2, 3, 4, 5}, stream());
    for_each_variant(cols, [&](std::string_view variant, const std::string& name) {
      Guarded<float> y(5 * cols, stream()), loss(5, stream()), dx(5 * cols, stream());
      kernels::softmax_forward(y.data(), in.data(), 5, cols, variant, stream());
      kernels::softmax_cross_entropy(loss.data(), dx.data(), nullptr, in.data(), labels.data(), 1,
                                     5, cols, variant, stream());
      const std::vector<float> losses = loss.get();
      for (std::size_t r = 0; r < 5; ++r) {
        EXPECT_EQ(std::isnan(losses[r]), r >= 1 && r <= 3) << name << ", row " << r;
      }
      for (const std::vector<float>& values : {y.get(), dx.get()}) {
        std::int64_t wrong = 0;
        for (std::int64_t k = 0; k < 5 * cols; ++k) {
          const bool poisoned = k / cols >= 1 && k / cols <= 3;
          wrong += std::isnan(values[static_cast<std::size_t>(k)]) != poisoned;
        }
        EXPECT_EQ(wrong, 0) << name << ", cols " << cols;
      }
    });
  }
}

TEST_P(SoftmaxTest, LabelsOutsideGiveNanAndNoHit) {
  const std::vector<std::int32_t> label_values = {-1, 0, 0, INT32_MIN, INT32_MAX, 2};
  for (const std::int64_t cols : {3, 1200, 9001}) {
    std::vector<std::int32_t> labels_in = label_values;
    labels_in[1] = static_cast<std::int32_t>(cols);
    const Guarded<float> in(random_floats(6 * cols, 8), stream());
    const Guarded<std::int32_t> labels(labels_in, stream());
    for_each_variant(cols, [&](std::string_view variant, const std::string& name) {
      Guarded<float> loss(6, stream()), dx(6 * cols, stream());
      Guarded<std::int32_t> prediction(6, stream());
      kernels::softmax_cross_entropy(loss.data(), dx.data(), prediction.data(), in.data(),
                                     labels.data(), 0.5f, 6, cols, variant, stream());
      const std::vector<float> losses = loss.get(), gradient = dx.get();
      const std::vector<std::int32_t> predictions = prediction.get();
      for (std::size_t r = 0; r < 6; ++r) {
        const bool valid = r == 2 || r == 5;
        EXPECT_EQ(std::isfinite(losses[r]), valid) << name << ", row " << r;
        if (!valid) {
          EXPECT_NE(predictions[r], labels_in[r]) << name;
        }
        EXPECT_TRUE(predictions[r] >= 0 && predictions[r] < cols) << name;
        std::int64_t finite = 0;
        for (std::size_t c = 0; c < static_cast<std::size_t>(cols); ++c) {
          finite += std::isfinite(gradient[r * static_cast<std::size_t>(cols) + c]);
        }
        EXPECT_EQ(finite, valid ? cols : 0) << name << ", row " << r;
      }
    });
  }
}

TEST_P(SoftmaxTest, PredictionTakesTheLowestOfEqualLogits) {
  for (const std::int64_t cols : {40, 1100, 9002}) {
    std::vector<float> x(static_cast<std::size_t>(5 * cols), -1.0f);
    const auto at = [&](std::int64_t r, std::int64_t c) -> float& {
      return x[static_cast<std::size_t>(r * cols + c)];
    };
    at(0, cols - 1) = at(0, 33) = 2;  // two lanes of the warp
    at(1, 37) = at(1, 5) = 2;         // two registers of one lane
    at(2, 0) = kNan;                  // not a number, not a maximum
    at(2, 7) = 1;
    for (std::int64_t c = 0; c < cols; ++c) at(4, c) = c < 6 ? kNan : -kInf;
    for (std::int64_t c = 0; c < cols; ++c) at(3, c) = kNan;
    const Guarded<float> in(x, stream());
    const Guarded<std::int32_t> labels(std::vector<std::int32_t>(5, 0), stream());
    for_each_variant(cols, [&](std::string_view variant, const std::string& name) {
      Guarded<std::int32_t> out(5, stream());
      kernels::softmax_cross_entropy(nullptr, nullptr, out.data(), in.data(), labels.data(), 1, 5,
                                     cols, variant, stream());
      EXPECT_EQ(out.get(), (std::vector<std::int32_t>{33, 5, 7, 0, 6})) << name;
    });
  }
}

TEST_P(SoftmaxTest, EmptyShapes) {
  Guarded<float> y(2, stream()), x(2, stream());
  const std::vector<float> before = y.get();
  kernels::softmax_forward(y.data(), x.data(), 0, 10, stream());
  kernels::softmax_forward(y.data(), x.data(), 0, 0, stream());
  EXPECT_TRUE(same_bits(y.get(), before));
  EXPECT_USAGE_ERROR(kernels::softmax_forward(y.data(), x.data(), 2, 0, stream()), "(2, 0)");
}

TEST_P(SoftmaxTest, RefusesWhatItCannotDo) {
  for (const kernels::Rung& rung : kernels::softmax_rungs()) {
    const std::string_view variant = rung.name;
    for (const std::int64_t cols : {10, 1025, 16385, 131073}) {
      if (kernels::softmax_takes(variant, cols, device())) continue;
      const bool here = kernels::softmax_takes(variant, 10, device());
      const bool older = !here && device().is_cuda() && rung.on_cuda;  // than the rung needs
      EXPECT_USAGE_ERROR(kernels::softmax_forward(nullptr, nullptr, 1, cols, variant, stream()),
                         here    ? "columns"
                         : older ? "compute capability"
                                 : "does not run on");
    }
  }
  EXPECT_USAGE_ERROR(kernels::softmax_forward(nullptr, nullptr, 1, std::int64_t{1} << 31, stream()),
                     "2^31 - 1");
  EXPECT_USAGE_ERROR(kernels::softmax_forward(nullptr, nullptr, 1, 10, "block", stream()),
                     "block_per_row");
  for (const float smoothing : {-0.1f, 1.0f, kNan}) {
    EXPECT_USAGE_ERROR(
        kernels::softmax_cross_entropy(nullptr, nullptr, nullptr, nullptr, nullptr, 1, smoothing, 0,
                                       10, kernels::kAutomatic, stream()),
        "0 <= smoothing < 1");
  }
}

WEFT_ON_EACH_DEVICE(SoftmaxTest);

}  // namespace
}  // namespace weft::test

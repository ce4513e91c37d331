// SPDX-License-Identifier: MIT
#include "kernels/softmax/softmax.h"

#include <limits>

#include "kernels/softmax/cpu.h"
#include "tests/cases/softmax_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::GradientMode;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

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

TEST(SoftmaxOracle, KnownValues) {
  const std::vector<double> y = softmax_oracle({0, std::log(3.0)}, 1, 2);
  EXPECT_TRUE(compare(y, std::vector<double>{0.25, 0.75}, {1e-15, 0, false}));
  EXPECT_NEAR(loss_oracle({0, std::log(3.0)}, {0}, 1, 2)[0], std::log(4.0), 1e-15);
}

class SoftmaxTest : public DeviceTest {};

// |x - max| <= 16 is rounded to 1e-6, which becomes a relative error of its exponential.
constexpr Bound kProbabilityBound{1e-12, 4e-6, false};

TEST_P(SoftmaxTest, ForwardAndBackwardMatchOracle) {
  for (const cases::RowsCase& c : cases::kSoftmaxCases) {
    const std::vector<float> x = random_floats(c.elements(), 3, -8, 8);
    Guarded<float> in(x, stream(), 1), y(c.elements(), stream(), 1), again(c.elements(), stream());
    kernels::softmax_forward(y.data(), in.data(), c.rows, c.cols, stream());
    kernels::softmax_forward(again.data(), in.data(), c.rows, c.cols, stream());
    EXPECT_TRUE(
        compare(y.get(), softmax_oracle(to_double(x), c.rows, c.cols), kProbabilityBound, str(c)));
    EXPECT_TRUE(same_bits(y.get(), again.get())) << c;

    const std::vector<float> probabilities = y.get(), dy = random_floats(c.elements(), 4);
    const std::vector<float> start = random_floats(c.elements(), 5);
    for (const GradientMode mode : {GradientMode::overwrite, GradientMode::accumulate}) {
      std::vector<double> expected = to_double(start);
      kernels::cpu::softmax_backward<double>(expected.data(), to_double(dy).data(),
                                             to_double(probabilities).data(), c.rows, c.cols, mode);
      Guarded<float> dx(c.elements(), stream()), dy_in(dy, stream());
      if (mode == GradientMode::accumulate) dx.set(start);
      kernels::softmax_backward(dx.data(), dy_in.data(), y.data(), c.rows, c.cols, mode, stream());
      Bound bound = sum_bound(static_cast<double>(c.cols));
      bound.zero_is_right = c.cols == 1;  // one class: the gradient is exactly zero
      EXPECT_TRUE(compare(dx.get(), expected, bound, str(c)));
    }
  }
}

TEST_P(SoftmaxTest, CrossEntropyMatchesOracle) {
  for (const cases::RowsCase& c : cases::kSoftmaxCases) {
    const std::vector<float> x = random_floats(c.elements(), 6, -8, 8);
    const std::vector<std::int32_t> label_values = random_labels(c.rows, c.cols);
    const float scale = 1.0f / static_cast<float>(c.rows);
    std::vector<double> loss(static_cast<std::size_t>(c.rows)), dx(x.size());
    std::vector<std::int32_t> prediction(loss.size());
    kernels::cpu::softmax_cross_entropy<double>(loss.data(), dx.data(), prediction.data(),
                                                to_double(x).data(), label_values.data(), scale,
                                                c.rows, c.cols);
    Guarded<float> in(x, stream(), 1), loss_out(c.rows, stream()), dx_out(c.elements(), stream());
    Guarded<std::int32_t> labels(label_values, stream()), prediction_out(c.rows, stream());
    kernels::softmax_cross_entropy(loss_out.data(), dx_out.data(), prediction_out.data(), in.data(),
                                   labels.data(), scale, c.rows, c.cols, stream());
    EXPECT_TRUE(compare(loss_out.get(), loss, {6e-6, 0, c.cols == 1}, str(c)));
    EXPECT_TRUE(
        compare(dx_out.get(), dx, {4e-7 * static_cast<double>(scale), 4e-6, c.cols == 1}, str(c)));
    EXPECT_EQ(prediction_out.get(), prediction) << c;

    Guarded<float> only_loss(c.rows, stream()), only_dx(c.elements(), stream());
    Guarded<std::int32_t> only_prediction(c.rows, stream());
    kernels::softmax_cross_entropy(only_loss.data(), nullptr, nullptr, in.data(), labels.data(),
                                   scale, c.rows, c.cols, stream());
    kernels::softmax_cross_entropy(nullptr, only_dx.data(), nullptr, in.data(), labels.data(),
                                   scale, c.rows, c.cols, stream());
    kernels::softmax_cross_entropy(nullptr, nullptr, only_prediction.data(), in.data(),
                                   labels.data(), scale, c.rows, c.cols, stream());
    EXPECT_TRUE(same_bits(only_loss.get(), loss_out.get())) << c;
    EXPECT_TRUE(same_bits(only_dx.get(), dx_out.get())) << c;
    EXPECT_EQ(only_prediction.get(), prediction) << c;
  }
}

// Both the warp and the block version.
TEST_P(SoftmaxTest, ExtremeLogitsStayFinite) {
  for (const std::int64_t cols : {4, 2000}) {
    std::vector<float> x(static_cast<std::size_t>(2 * cols), -kInf);
    x[0] = 3e38f;
    x[2] = 3e38f;
    x[static_cast<std::size_t>(cols)] = -3e38f;
    Guarded<float> in(x, stream()), y(2 * cols, stream());
    kernels::softmax_forward(y.data(), in.data(), 2, cols, stream());
    std::vector<double> expected(x.size());
    expected[0] = expected[2] = 0.5;
    expected[static_cast<std::size_t>(cols)] = 1;
    EXPECT_TRUE(compare(y.get(), expected, {1e-37, 1e-7, false}, str("cols ", cols)));
  }
}

TEST_P(SoftmaxTest, NanPoisonsItsRowOnly) {
  for (const std::int64_t cols : {10, 1500}) {
    std::vector<float> x = random_floats(3 * cols, 7);
    x[static_cast<std::size_t>(cols + 4)] = kNan;
    Guarded<float> in(x, stream()), y(3 * cols, stream()), loss(3, stream()),
        dx(3 * cols, stream());
    Guarded<std::int32_t> labels(std::vector<std::int32_t>{1, 2, 3}, stream());
    kernels::softmax_forward(y.data(), in.data(), 3, cols, stream());
    kernels::softmax_cross_entropy(loss.data(), dx.data(), nullptr, in.data(), labels.data(), 1, 3,
                                   cols, stream());
    const std::vector<float> losses = loss.get();
    EXPECT_TRUE(std::isfinite(losses[0]) && std::isnan(losses[1]) && std::isfinite(losses[2]));
    for (const std::vector<float>& values : {y.get(), dx.get()}) {
      for (std::int64_t k = 0; k < 3 * cols; ++k) {
        EXPECT_EQ(std::isnan(values[static_cast<std::size_t>(k)]), k / cols == 1) << k;
      }
    }
  }
}

TEST_P(SoftmaxTest, LabelsOutsideGiveNanAndNoHit) {
  const std::vector<std::int32_t> label_values = {-1, 0, 0, INT32_MIN, INT32_MAX, 2};
  for (const std::int64_t cols : {3, 1200}) {
    std::vector<std::int32_t> labels_in = label_values;
    labels_in[1] = static_cast<std::int32_t>(cols);
    const std::vector<float> x = random_floats(6 * cols, 8);
    Guarded<float> in(x, stream()), loss(6, stream()), dx(6 * cols, stream());
    Guarded<std::int32_t> labels(labels_in, stream()), prediction(6, stream());
    kernels::softmax_cross_entropy(loss.data(), dx.data(), prediction.data(), in.data(),
                                   labels.data(), 0.5f, 6, cols, stream());
    const std::vector<float> losses = loss.get(), gradient = dx.get();
    const std::vector<std::int32_t> predictions = prediction.get();
    for (std::size_t r = 0; r < 6; ++r) {
      const bool valid = r == 2 || r == 5;
      EXPECT_EQ(std::isfinite(losses[r]), valid) << "row " << r;
      if (!valid) {
        EXPECT_NE(predictions[r], labels_in[r]);
      }
      EXPECT_TRUE(predictions[r] >= 0 && predictions[r] < cols);
      for (std::int64_t c = 0; c < cols; ++c) {
        const float g = gradient[r * static_cast<std::size_t>(cols) + static_cast<std::size_t>(c)];
        EXPECT_EQ(std::isfinite(g), valid) << "row " << r << ", column " << c;
      }
    }
  }
}

TEST_P(SoftmaxTest, PredictionTakesTheLowestOfEqualLogits) {
  for (const std::int64_t cols : {40, 1100}) {
    std::vector<float> x(static_cast<std::size_t>(4 * cols), -1.0f);
    const auto at = [&](std::int64_t r, std::int64_t c) -> float& {
      return x[static_cast<std::size_t>(r * cols + c)];
    };
    at(0, 39) = at(0, 33) = 2;  // two lanes of the warp
    at(1, 37) = at(1, 5) = 2;   // two registers of one lane
    at(2, 0) = kNan;            // not a number, not a maximum
    at(2, 7) = 1;
    for (std::int64_t c = 0; c < cols; ++c) at(3, c) = kNan;
    Guarded<float> in(x, stream());
    Guarded<std::int32_t> labels(std::vector<std::int32_t>(4, 0), stream()), out(4, stream());
    kernels::softmax_cross_entropy(nullptr, nullptr, out.data(), in.data(), labels.data(), 1, 4,
                                   cols, stream());
    EXPECT_EQ(out.get(), (std::vector<std::int32_t>{33, 5, 7, 0}));
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

WEFT_ON_EACH_DEVICE(SoftmaxTest);

}  // namespace
}  // namespace weft::test

// SPDX-License-Identifier: MIT
#include "kernels/loss/loss.h"

#include <limits>

#include "kernels/loss/cpu/templates.h"
#include "tests/cases/loss_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using kernels::MetricTotals;

TEST(LossOracle, GradientMatchesCentralDifferences) {
  const std::int64_t rows = 4, cols = 5;
  const std::vector<double> y = to_double(random_floats(rows * cols, 1));
  const std::vector<double> target = to_double(random_floats(rows * cols, 2));
  const auto forward = [&](const std::vector<double>& v) {
    std::vector<double> loss(static_cast<std::size_t>(rows));
    kernels::cpu::mean_squared_error<double>(loss.data(), nullptr, v.data(), target.data(), 1, rows,
                                             cols);
    return loss;
  };
  std::vector<double> dy(y.size());
  kernels::cpu::mean_squared_error<double>(nullptr, dy.data(), y.data(), target.data(), 0.5, rows,
                                           cols);
  const std::vector<double> weights(static_cast<std::size_t>(rows), 0.5);
  EXPECT_TRUE(compare(dy, numeric_gradient(forward, y, weights), gradient_bound()));
}

class LossTest : public DeviceTest {
 protected:
  Tensor zero_totals() const {
    Tensor totals(Shape{static_cast<std::int64_t>(sizeof(MetricTotals))}, DType::u8, stream());
    zero_bytes(totals.raw(), totals.bytes(), stream());
    return totals;
  }
  MetricTotals read(const Tensor& totals) const {
    const std::vector<std::uint8_t> bytes = to_host(totals.view<std::uint8_t>(), stream());
    MetricTotals result;
    std::memcpy(&result, bytes.data(), sizeof(result));
    return result;
  }
  void add(Tensor& totals, const std::vector<float>& losses,
           const std::vector<std::int32_t>& predictions,
           const std::vector<std::int32_t>& label_values) const {
    Guarded<float> loss(losses, stream());
    Guarded<std::int32_t> prediction(predictions, stream()), labels(label_values, stream());
    kernels::accumulate_totals(static_cast<MetricTotals*>(totals.raw()), loss.data(),
                               predictions.empty() ? nullptr : prediction.data(),
                               predictions.empty() ? nullptr : labels.data(),
                               static_cast<std::int64_t>(losses.size()), stream());
  }
};

TEST_P(LossTest, MeanSquaredErrorMatchesOracle) {
  for (const problems::MeanSquaredError& c : all_or_few(cases::kLossCases, cases::kFewLossCases)) {
    const std::vector<float> y = random_floats(c.elements(), 3);
    const std::vector<float> target = random_floats(c.elements(), 4);
    std::vector<double> loss(static_cast<std::size_t>(c.rows)), dy(y.size());
    kernels::cpu::mean_squared_error<double>(loss.data(), dy.data(), to_double(y).data(),
                                             to_double(target).data(), 0.125, c.rows, c.cols);
    Guarded<float> y_in(y, stream(), 1), target_in(target, stream()), loss_out(c.rows, stream()),
        dy_out(c.elements(), stream()), only_loss(c.rows, stream()),
        only_dy(c.elements(), stream());
    kernels::mean_squared_error(loss_out.data(), dy_out.data(), y_in.data(), target_in.data(),
                                0.125f, c.rows, c.cols, stream());
    EXPECT_TRUE(compare(loss_out.get(), loss, sum_bound(static_cast<double>(c.cols), 0.1), str(c)));
    EXPECT_TRUE(compare(dy_out.get(), dy, {1e-8, 5e-7, false}, str(c)));
    kernels::mean_squared_error(only_loss.data(), nullptr, y_in.data(), target_in.data(), 0.125f,
                                c.rows, c.cols, stream());
    kernels::mean_squared_error(nullptr, only_dy.data(), y_in.data(), target_in.data(), 0.125f,
                                c.rows, c.cols, stream());
    EXPECT_TRUE(same_bits(only_loss.get(), loss_out.get())) << c;
    EXPECT_TRUE(same_bits(only_dy.get(), dy_out.get())) << c;
  }
}

TEST_P(LossTest, MeanSquaredErrorOfEqualAndOfExtremeRows) {
  const std::int64_t cols = 70;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y = random_floats(4 * cols, 6, -1e4f, 1e4f), target = y;
  for (std::int64_t c = cols; c < 2 * cols; ++c) {
    y[static_cast<std::size_t>(c)] = 4;
    target[static_cast<std::size_t>(c)] = 1;
  }
  y[static_cast<std::size_t>(2 * cols + 69)] = nan;
  y[static_cast<std::size_t>(3 * cols)] = 3e38f;
  target[static_cast<std::size_t>(3 * cols)] = -3e38f;
  const Guarded<float> y_in(y, stream()), target_in(target, stream());
  Guarded<float> loss(4, stream()), dy(4 * cols, stream());
  kernels::mean_squared_error(loss.data(), dy.data(), y_in.data(), target_in.data(), 1, 4, cols,
                              stream());
  const std::vector<float> losses = loss.get(), gradient = dy.get();
  EXPECT_EQ(losses[0], 0);
  EXPECT_EQ(losses[1], 9);
  EXPECT_TRUE(std::isnan(losses[2]));
  EXPECT_TRUE(std::isinf(losses[3]));
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_EQ(std::isnan(gradient[i]), i == static_cast<std::size_t>(2 * cols + 69)) << i;
  }
  kernels::mean_squared_error(loss.data(), dy.data(), y_in.data(), target_in.data(), 1, 0, cols,
                              stream());
  EXPECT_TRUE(same_bits(loss.get(), losses));
}

TEST_P(LossTest, TotalsAddUpOverBatches) {
  Tensor totals = zero_totals();
  double loss_sum = 0;
  std::int64_t hits = 0, rows = 0;
  for (const std::int64_t batch : {1, 31, 32, 255, 256, 257, 1000}) {
    const std::vector<float> losses = random_floats(batch, 5, 0, 4);
    std::vector<std::int32_t> predictions, labels;
    for (std::int64_t r = 0; r < batch; ++r) {
      predictions.push_back(static_cast<std::int32_t>(r % 3));
      labels.push_back(static_cast<std::int32_t>(r % 2));
      hits += r % 3 == r % 2;
    }
    for (const float loss : losses) loss_sum += static_cast<double>(loss);
    rows += batch;
    add(totals, losses, predictions, labels);
  }
  const MetricTotals found = read(totals);
  EXPECT_NEAR(found.loss_sum, loss_sum, 1e-11);
  EXPECT_EQ(found.hits, hits);
  EXPECT_EQ(found.rows, rows);
}

TEST_P(LossTest, TotalsWithoutPredictionsCountNoHits) {
  Tensor totals = zero_totals();
  add(totals, {1.0f, 2.0f}, {}, {});
  add(totals, {}, {}, {});
  const MetricTotals found = read(totals);
  EXPECT_EQ(found.loss_sum, 3.0);
  EXPECT_EQ(found.hits, 0);
  EXPECT_EQ(found.rows, 2);
}

TEST_P(LossTest, NanReachesTheTotalAndStays) {
  Tensor totals = zero_totals();
  std::vector<float> losses(300, 1.0f);
  losses[287] = std::numeric_limits<float>::quiet_NaN();
  add(totals, losses, {}, {});
  add(totals, {1.0f}, {}, {});
  EXPECT_TRUE(std::isnan(read(totals).loss_sum));
  EXPECT_EQ(read(totals).rows, 301);
}

TEST_P(LossTest, RefusesHalfOfTheLabels) {
  Tensor totals = zero_totals();
  Guarded<float> loss(1, stream());
  Guarded<std::int32_t> labels(1, stream());
  EXPECT_USAGE_ERROR(kernels::accumulate_totals(static_cast<MetricTotals*>(totals.raw()),
                                                loss.data(), nullptr, labels.data(), 1, stream()),
                     "both");
  EXPECT_USAGE_ERROR(kernels::mean_squared_error(loss.data(), nullptr, loss.data(), loss.data(), 1,
                                                 3, 0, stream()),
                     "(3, 0)");
}

WEFT_ON_EACH_DEVICE(LossTest);

}  // namespace
}  // namespace weft::test

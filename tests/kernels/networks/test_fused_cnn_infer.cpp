// SPDX-License-Identifier: MIT
#include "tests/kernels/networks/fused_cnn_problem.h"

namespace weft::test {
namespace {

using kernels::lenet5_dims;
using kernels::Normalization;

constexpr Normalization kMnistScale{0.1307f, 0.3081f};

class FusedCnnInfer : public DeviceTest {};

struct Answers {
  std::vector<float> logits;
  std::vector<std::int32_t> predictions;
  MetricTotals totals;
};

// With logits and predictions or without them, totals always.
Answers ask(const FusedCnnDims& dims, std::int64_t rows, const std::vector<float>& parameters,
            const std::vector<std::uint8_t>& pixels, const std::vector<std::int32_t>& labels,
            bool outputs, const Stream& stream) {
  const Guarded<float> weights(parameters, stream);
  const Guarded<std::uint8_t> images(pixels, stream);
  const Guarded<std::int32_t> image_labels(labels, stream);
  Guarded<float> logits(rows * dims.classes, stream);
  Guarded<std::int32_t> predictions(rows, stream);
  Guarded<std::uint8_t> totals(std::vector<std::uint8_t>(sizeof(MetricTotals)), stream);
  const std::size_t bytes = kernels::fused_cnn_workspace_bytes(dims, rows, stream.device());
  Guarded<std::uint8_t> scratch(static_cast<std::int64_t>(bytes), stream);
  kernels::fused_cnn_infer(
      outputs ? logits.data() : nullptr, outputs ? predictions.data() : nullptr,
      reinterpret_cast<MetricTotals*>(totals.data()), weights.data(), images.data(),
      image_labels.data(), rows, dims, kMnistScale, {scratch.data(), bytes}, stream);
  Answers answers{logits.get(), predictions.get(), {}};
  const std::vector<std::uint8_t> found = totals.get();
  std::memcpy(&answers.totals, found.data(), sizeof(MetricTotals));
  return answers;
}

TEST_P(FusedCnnInfer, MatchesTheOracle) {
  struct {
    FusedCnnDims dims;
    std::int64_t rows;
  } const cases[] = {{kSmallCnn, 1},       {kSmallCnn, 2},       {kSmallCnn, 31},
                     {lenet5_dims(10), 3}, {lenet5_dims(32), 7}, {lenet5_dims(10), 1001}};
  for (const auto& [dims, rows] : cases) {
    if (!kernels::fused_cnn_supports(dims, device()) ||
        ((small_tests() || device().is_cpu()) && rows > 40)) {
      continue;
    }
    const std::string what = str(rows, " images of ", dims.height, " x ", dims.width);
    const std::vector<float> parameters = initial_parameters(dims, 3);
    const std::vector<std::uint8_t> pixels = random_pixels(rows * dims.height * dims.width, 4);
    const std::vector<std::int32_t> labels = as_labels(random_pixels(rows, 5), dims.classes);

    std::vector<double> logits(static_cast<std::size_t>(rows * dims.classes));
    std::vector<std::int32_t> predictions(static_cast<std::size_t>(rows));
    MetricTotals totals;
    FusedCnnOracle oracle(dims, rows);
    const std::vector<double> weights = to_double(parameters);
    kernels::cpu::fused_cnn_infer<double>(logits.data(), predictions.data(), &totals,
                                          weights.data(), pixels.data(), labels.data(), rows, dims,
                                          kernels::draw::line_of(kMnistScale), oracle.workspace());

    const Answers found = ask(dims, rows, parameters, pixels, labels, true, stream());
    const double eps = std::numeric_limits<float>::epsilon();
    const double error = 8 * eps * std::sqrt(static_cast<double>(dims.features()));
    EXPECT_TRUE(compare(found.logits, logits, {error, error, false}, what));
    std::int64_t hits = 0;
    for (std::size_t r = 0; r < predictions.size(); ++r) {
      // Where two logits are as close as rounding, either is right.
      const double* row = logits.data() + r * static_cast<std::size_t>(dims.classes);
      ASSERT_GE(found.predictions[r], 0) << what;
      ASSERT_LT(found.predictions[r], dims.classes) << what;
      EXPECT_GE(row[found.predictions[r]], row[predictions[r]] - 2 * error)
          << what << ", row " << r;
      hits += found.predictions[r] == labels[r] ? 1 : 0;
    }
    EXPECT_EQ(found.totals.hits, hits) << what;
    EXPECT_EQ(found.totals.rows, rows) << what;
    EXPECT_TRUE(std::fabs(found.totals.loss_sum - totals.loss_sum) <= 10 * error * totals.loss_sum)
        << what << ": " << found.totals.loss_sum << ", expected " << totals.loss_sum;

    const Answers only_totals = ask(dims, rows, parameters, pixels, labels, false, stream());
    EXPECT_EQ(only_totals.totals.loss_sum, found.totals.loss_sum) << what;
    EXPECT_EQ(only_totals.totals.hits, found.totals.hits) << what;
    for (const float value : only_totals.logits) EXPECT_TRUE(std::isnan(value)) << what;
  }
}

// Logits that are biases alone make every loss a whole number, 0, 1025 or 2^24, and a float does
// not hold their sum: they are added up in double.
TEST_P(FusedCnnInfer, LossesAddUpInDouble) {
  const std::int64_t rows = 41;
  std::vector<float> parameters(static_cast<std::size_t>(kSmallCnn.parameters()));
  float* bias = parameters.data() + kSmallCnn.parameters() - kSmallCnn.classes;
  bias[0] = 0x1p24f, bias[1] = 0x1p24f - 1025;
  std::vector<std::int32_t> labels;
  double sum = 0;
  std::int64_t hits = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    labels.push_back(static_cast<std::int32_t>(r * 7 % 3));
    sum += labels.back() == 0 ? 0 : labels.back() == 1 ? 1025 : 0x1p24;
    hits += labels.back() == 0 ? 1 : 0;
  }
  const std::vector<std::uint8_t> pixels =
      random_pixels(rows * kSmallCnn.height * kSmallCnn.width, 6);
  const Answers found = ask(kSmallCnn, rows, parameters, pixels, labels, false, stream());
  EXPECT_EQ(found.totals.loss_sum, sum);
  EXPECT_EQ(found.totals.hits, hits);
}

TEST_P(FusedCnnInfer, NeedsNoLabels) {
  const std::vector<float> parameters = initial_parameters(kSmallCnn, 3);
  const Guarded<float> weights(parameters, stream());
  const std::vector<std::uint8_t> pixels = random_pixels(5 * 13 * 12, 4);
  const std::vector<std::int32_t> labels(5);
  const Guarded<std::uint8_t> images(pixels, stream());
  Guarded<std::int32_t> predictions(5, stream());
  const std::size_t bytes = kernels::fused_cnn_workspace_bytes(kSmallCnn, 5, device());
  const Buffer scratch(bytes, stream());
  kernels::fused_cnn_infer(nullptr, predictions.data(), nullptr, weights.data(), images.data(),
                           nullptr, 5, kSmallCnn, kMnistScale, {scratch.data(), bytes}, stream());
  EXPECT_EQ(predictions.get(),
            ask(kSmallCnn, 5, parameters, pixels, labels, true, stream()).predictions);
  MetricTotals totals;
  EXPECT_USAGE_ERROR(
      kernels::fused_cnn_infer(nullptr, nullptr, &totals, weights.data(), images.data(), nullptr, 5,
                               kSmallCnn, kMnistScale, {scratch.data(), bytes}, stream()),
      "labels");
}

WEFT_ON_EACH_DEVICE(FusedCnnInfer);

}  // namespace
}  // namespace weft::test

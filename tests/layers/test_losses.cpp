// SPDX-License-Identifier: MIT
// The losses against double arithmetic and its central differences, and what they refuse.
#include <algorithm>

#include "layers/losses/mean_squared_error.h"
#include "layers/losses/softmax_cross_entropy.h"
#include "tests/layers/instance.h"
#include "tests/support/compare.h"
#include "tests/support/device_test.h"

namespace weft::test {
namespace {

constexpr std::int64_t kRows = 6, kColumns = 5;

class Losses : public DeviceTest {
 protected:
  Tensor floats(const Shape& shape, const std::vector<float>& values) {
    return tensor_from_host<float>(shape, values, stream());
  }
};

TEST_P(Losses, SoftmaxCrossEntropy) {
  const std::vector<float> x = random_floats(kRows * kColumns, 41, -3, 3);
  const std::vector<std::int32_t> labels{4, 0, 2, 1, 3, 3};
  Tensor logits = floats({kRows, kColumns}, x);
  Tensor device_labels = tensor_from_host<std::int32_t>({kRows}, labels, stream());
  Tensor loss({kRows}, DType::f32, stream()), gradient({kRows, kColumns}, DType::f32, stream());
  Tensor prediction({kRows}, DType::i32, stream());
  layers::softmax_cross_entropy(
      {loss.view<float>(), gradient.view<float>(), prediction.view<std::int32_t>()},
      logits.view<float>(), device_labels.view<std::int32_t>(), 1.0f / kRows, stream());

  const auto mean_loss = [&](std::vector<double>& values) {
    return cross_entropy(Values({kRows, kColumns}, values), labels);
  };
  EXPECT_TRUE(compare(to_host(gradient.view<float>(), stream()),
                      central_differences(mean_loss, to_double(x)), {1e-6, 1e-5}, "gradient"));
  std::vector<double> expected_loss;
  std::vector<std::int32_t> expected_prediction;
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::vector<float> row(x.begin() + static_cast<std::ptrdiff_t>(r * kColumns),
                                 x.begin() + static_cast<std::ptrdiff_t>((r + 1) * kColumns));
    expected_loss.push_back(cross_entropy(Values({1, kColumns}, to_double(row)), {labels[r]}));
    expected_prediction.push_back(
        static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
  }
  EXPECT_TRUE(compare(to_host(loss.view<float>(), stream()), expected_loss, {1e-6, 1e-5}, "loss"));
  EXPECT_EQ(to_host(prediction.view<std::int32_t>(), stream()), expected_prediction);
}

TEST_P(Losses, MeanSquaredError) {
  const std::vector<float> y = random_floats(kRows * kColumns, 42);
  const std::vector<float> target = random_floats(kRows * kColumns, 43);
  Tensor device_y = floats({kRows, kColumns}, y), device_target = floats({kRows, kColumns}, target);
  Tensor loss({kRows}, DType::f32, stream()), gradient({kRows, kColumns}, DType::f32, stream());
  layers::mean_squared_error({loss.view<float>(), gradient.view<float>()}, device_y.view<float>(),
                             device_target.view<float>(), 1.0f / kRows, stream());

  const auto row_loss = [&](const std::vector<double>& values, std::int64_t r) {
    double sum = 0;
    for (std::int64_t c = 0; c < kColumns; ++c) {
      const auto i = static_cast<std::size_t>(r * kColumns + c);
      sum += (values[i] - target[i]) * (values[i] - target[i]) / kColumns;
    }
    return sum;
  };
  const auto mean_loss = [&](std::vector<double>& values) {
    double sum = 0;
    for (std::int64_t r = 0; r < kRows; ++r) sum += row_loss(values, r) / kRows;
    return sum;
  };
  std::vector<double> expected_loss;
  for (std::int64_t r = 0; r < kRows; ++r) expected_loss.push_back(row_loss(to_double(y), r));
  EXPECT_TRUE(compare(to_host(loss.view<float>(), stream()), expected_loss, {1e-6, 1e-5}, "loss"));
  EXPECT_TRUE(compare(to_host(gradient.view<float>(), stream()),
                      central_differences(mean_loss, to_double(y)), {1e-6, 1e-5}, "gradient"));
}

// Only what is asked for is written, and a batch of 0 is fine.
TEST_P(Losses, OutputsAreOptional) {
  Tensor logits = floats({2, 3}, {0, 1, 2, 5, 4, 3});
  Tensor labels = tensor_from_host<std::int32_t>({2}, std::vector<std::int32_t>{2, 1}, stream());
  Tensor prediction({2}, DType::i32, stream());
  layers::softmax_cross_entropy(
      {.loss = {}, .gradient = {}, .prediction = prediction.view<std::int32_t>()},
      logits.view<float>(), labels.view<std::int32_t>(), 1, stream());
  EXPECT_EQ(to_host(prediction.view<std::int32_t>(), stream()), (std::vector<std::int32_t>{2, 0}));

  Tensor none({0, 3}, DType::f32, stream()), no_labels({0}, DType::i32, stream());
  EXPECT_NO_THROW(layers::softmax_cross_entropy({}, none.view<float>(),
                                                no_labels.view<std::int32_t>(), 1, stream()));
  EXPECT_NO_THROW(
      layers::mean_squared_error({}, none.view<float>(), none.view<float>(), 1, stream()));
}

TEST_P(Losses, RefuseShapesThatDoNotFit) {
  Tensor logits = floats({2, 3}, std::vector<float>(6));
  Tensor labels = tensor_from_host<std::int32_t>({3}, std::vector<std::int32_t>(3), stream());
  try {
    layers::softmax_cross_entropy({}, logits.view<float>(), labels.view<std::int32_t>(), 1,
                                  stream());
    FAIL() << "3 labels for 2 rows";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "softmax cross-entropy expects labels (2,), found (3,)");
  }
  EXPECT_THROW(layers::mean_squared_error({}, logits.view<float>(),
                                          logits.view<float>().reshaped({3, 2}), 1, stream()),
               Error);
}

WEFT_ON_EACH_DEVICE(Losses);

}  // namespace
}  // namespace weft::test

// SPDX-License-Identifier: MIT
// Families over rows, images and channels on arrays of 2^24 + 1 elements and of 2^32 + 3 bytes.
#include "kernels/batch/cpu/templates.h"
#include "kernels/batch_norm/batch_norm.h"
#include "kernels/image/image.h"
#include "kernels/loss/loss.h"
#include "kernels/pool/pool.h"
#include "kernels/softmax/softmax.h"
#include "tests/kernels/large_test.h"

namespace weft::test {
namespace {

using kernels::GradientMode;

constexpr std::int64_t kCols = 924, kRows = kPeriod / kCols;  // one period of rows

class LargeRows : public LargeTest {};

TEST_P(LargeRows, Softmax) {
  const std::int64_t rows = rows_of<float>(kCols);
  const std::vector<float> table = random_floats(kPeriod, 1, -4, 4);
  std::vector<std::int32_t> label_table;
  for (std::int32_t r = 0; r < kRows; ++r) label_table.push_back(40 * r);
  const Periodic<float> x(rows * kCols, table, stream());
  const Periodic<std::int32_t> labels(rows, label_table, stream());
  const Guarded<float> few_x(table, stream());
  const Guarded<std::int32_t> few_labels(label_table, stream());
  Periodic<float> out(rows * kCols, stream()), loss(rows, stream());
  Guarded<float> few_out(kPeriod, stream()), few_loss(kRows, stream());
  for (const kernels::Rung& rung : kernels::softmax_rungs()) {
    const std::string_view variant = rung.name;
    if (!kernels::softmax_takes(variant, kCols, device())) continue;
    const std::string name(variant);
    const auto forward = [&](float* y, const float* from, std::int64_t count) {
      kernels::softmax_forward(y, from, count, kCols, variant, stream());
    };
    const auto backward = [&](float* dx, const float* from, std::int64_t count) {
      kernels::softmax_backward(dx, from, from, count, kCols, GradientMode::overwrite, variant,
                                stream());
    };
    out.forget();
    forward(out.data(), x.data(), rows);
    forward(few_out.data(), few_x.data(), kRows);
    EXPECT_TRUE(out.repeats(few_out.get(), name + " forward"));
    out.forget();
    backward(out.data(), x.data(), rows);
    backward(few_out.data(), few_x.data(), kRows);
    EXPECT_TRUE(out.repeats(few_out.get(), name + " backward"));
    out.forget();
    kernels::softmax_cross_entropy(loss.data(), out.data(), nullptr, x.data(), labels.data(), 1,
                                   rows, kCols, variant, stream());
    kernels::softmax_cross_entropy(few_loss.data(), few_out.data(), nullptr, few_x.data(),
                                   few_labels.data(), 1, kRows, kCols, variant, stream());
    EXPECT_TRUE(loss.repeats(few_loss.get(), name + " loss"));
    EXPECT_TRUE(out.repeats(few_out.get(), name + " gradient of the loss"));
  }
}

// Each row against the next.
TEST_P(LargeRows, MeanSquaredError) {
  const std::int64_t rows = rows_of<float>(kCols);
  const std::vector<float> table = random_floats(kPeriod, 2);
  std::vector<float> few = table;
  few.insert(few.end(), table.begin(), table.begin() + kCols);
  const Periodic<float> y((rows + 1) * kCols, table, stream());
  const Guarded<float> few_y(few, stream());
  Periodic<float> dy(rows * kCols, stream()), loss(rows, stream());
  Guarded<float> few_dy(kPeriod, stream()), few_loss(kRows, stream());
  const auto run = [&](float* losses, float* gradient, const float* from, std::int64_t count) {
    kernels::mean_squared_error(losses, gradient, from, from + kCols, 1, count, kCols, stream());
  };
  run(loss.data(), dy.data(), y.data(), rows);
  run(few_loss.data(), few_dy.data(), few_y.data(), kRows);
  EXPECT_TRUE(loss.repeats(few_loss.get(), "loss"));
  EXPECT_TRUE(dy.repeats(few_dy.get(), "gradient"));
}

TEST_P(LargeRows, BatchNormInference) {
  const std::int64_t channels = 7, inner = 11, images = rows_of<float>(channels * inner);
  const std::vector<float> table = random_floats(kPeriod, 3);
  const Guarded<float> mean(random_floats(channels, 4), stream());
  const Guarded<float> var(random_floats(channels, 5, 0.5f, 2), stream());
  const Guarded<float> gamma(random_floats(channels, 6), stream());
  const Guarded<float> beta(random_floats(channels, 7), stream());
  const auto run = [&](float* y, const float* x, std::int64_t count) {
    kernels::batch_norm_inference(y, x, mean.data(), var.data(), gamma.data(), beta.data(), 1e-5f,
                                  {count, channels, inner}, stream());
  };
  const Periodic<float> x(images * channels * inner, table, stream());
  const Guarded<float> few_x(table, stream());
  Periodic<float> y(x.size(), stream());
  Guarded<float> few_y(kPeriod, stream());
  run(y.data(), x.data(), images);
  run(few_y.data(), few_x.data(), kPeriod / (channels * inner));
  EXPECT_TRUE(y.repeats(few_y.get(), "inference"));
}

// One period is one plane; the gradient goes where the input was.
TEST_P(LargeRows, MaxPool) {
  const auto dims = [](std::int64_t planes) {
    return kernels::PoolDims{.n = planes, .c = 1, .h = 132, .w = 140};
  };
  const std::int64_t planes = rows_of<float>(kPeriod), outputs = 66 * 70;
  const std::vector<float> table = random_floats(kPeriod, 8);
  Periodic<float> y(planes * outputs, stream());
  Periodic<std::int32_t> argmax(planes * outputs, stream());
  Guarded<float> few_y(outputs, stream());
  Guarded<std::int32_t> few_argmax(outputs, stream());
  for (const kernels::Rung& rung : kernels::pool_rungs()) {
    const std::string_view variant = rung.name;
    if (!kernels::pool_takes(variant, dims(planes), device())) continue;
    const std::string name(variant);
    Periodic<float> x(planes * kPeriod, table, stream());
    Guarded<float> few_x(table, stream());
    y.forget();
    argmax.forget();
    kernels::max_pool2d_forward(y.data(), argmax.data(), x.data(), dims(planes), variant, stream());
    kernels::max_pool2d_forward(few_y.data(), few_argmax.data(), few_x.data(), dims(1), variant,
                                stream());
    EXPECT_TRUE(y.repeats(few_y.get(), name + " maxima"));
    EXPECT_TRUE(argmax.repeats(few_argmax.get(), name + " argmax"));
    x.forget();
    kernels::max_pool2d_backward(x.data(), y.data(), argmax.data(), dims(planes),
                                 GradientMode::overwrite, variant, stream());
    kernels::max_pool2d_backward(few_x.data(), few_y.data(), few_argmax.data(), dims(1),
                                 GradientMode::overwrite, variant, stream());
    EXPECT_TRUE(x.repeats(few_x.get(), name + " gradient"));
  }
}

TEST_P(LargeRows, RgbToGrey) {
  const std::int64_t pixels = rows_of<std::uint8_t>(3);
  const std::vector<std::uint8_t> table = random_bytes(kPeriod, 9);
  const Periodic<std::uint8_t> rgb(3 * pixels, table, stream());
  const Guarded<std::uint8_t> few_rgb(table, stream());
  Periodic<std::uint8_t> grey(pixels, stream());
  Guarded<std::uint8_t> few_grey(kPeriod / 3, stream());
  for (const kernels::Rung& rung : kernels::image_rungs()) {
    const std::string_view variant = rung.name;
    if (!kernels::image_takes(variant, kernels::ImageOperation::rgb_to_grey, device())) continue;
    grey.forget();
    kernels::rgb_to_grey(grey.data(), rgb.data(), pixels, variant, stream());
    kernels::rgb_to_grey(few_grey.data(), few_rgb.data(), kPeriod / 3, variant, stream());
    EXPECT_TRUE(grey.repeats(few_grey.get(), std::string(variant)));
  }
}

// All rows are the same, so a mean over rows is that of one.
TEST_P(LargeRows, BoxBlur) {
  const std::int64_t height = rows_of<std::uint8_t>(kPeriod), radius = 2;
  const std::vector<std::uint8_t> table = random_bytes(kPeriod, 10);
  const Periodic<std::uint8_t> x(height * kPeriod, table, stream());
  const Guarded<std::uint8_t> few_x(table, stream());
  Periodic<std::uint8_t> y(x.size(), stream());
  Guarded<std::uint8_t> few_y(kPeriod, stream());
  for (const kernels::Rung& rung : kernels::image_rungs()) {
    const std::string_view variant = rung.name;
    if (!kernels::image_takes(variant, kernels::ImageOperation::box_blur, device())) continue;
    if (device().is_cpu() && variant == "box_blur_naive") continue;
    y.forget();
    kernels::box_blur(y.data(), x.data(), {height, kPeriod, 1}, radius, variant, stream());
    kernels::box_blur(few_y.data(), few_x.data(), {1, kPeriod, 1}, radius, variant, stream());
    EXPECT_TRUE(y.repeats(few_y.get(), std::string(variant)));
  }
}

// The last full quarter of a data set: as many bytes of images as of floats.
TEST_P(LargeRows, GatherBatch) {
  const kernels::Normalization norm{0.1307f, 0.3081f};
  const std::int64_t count = rows_of<std::uint8_t>(kCols), batch = count / 4;
  const std::vector<std::uint8_t> pixels = random_bytes(kPeriod, 11),
                                  some = random_bytes(kRows, 12);
  const std::vector<std::int32_t> classes(some.begin(), some.end());
  const std::int64_t phase = 3 * batch % kRows;  // of the first image of step 3
  const kernels::draw::Line line = kernels::draw::line_of(norm);
  std::vector<float> expected;
  std::vector<std::int32_t> expected_labels;
  for (std::int64_t i = 0; i < kPeriod; ++i) {
    const std::size_t at = static_cast<std::size_t>((phase * kCols + i) % kPeriod);
    expected.push_back(std::fma(line.slope, static_cast<float>(pixels[at]), line.offset));
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    expected_labels.push_back(classes[static_cast<std::size_t>((phase + r) % kRows)]);
  }
  const Periodic<std::uint8_t> images(count * kCols, pixels, stream());
  const Periodic<std::int32_t> image_labels(count, classes, stream());
  const Guarded<std::int64_t> step(std::vector<std::int64_t>{3}, stream());
  Periodic<float> x(batch * kCols, stream());
  Periodic<std::int32_t> labels(batch, stream());
  kernels::gather_batch(x.data(), labels.data(), nullptr, images.data(), image_labels.data(), batch,
                        {1, 21, 44}, step.data(),
                        {count, (count + batch - 1) / batch, batch, false, 1}, {},
                        std::span(&norm, 1), stream());
  EXPECT_TRUE(x.repeats(expected, "pixels"));
  EXPECT_TRUE(labels.repeats(expected_labels, "labels"));
}

WEFT_LARGE_ON_EACH_DEVICE(LargeRows);

}  // namespace
}  // namespace weft::test

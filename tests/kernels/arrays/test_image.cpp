// SPDX-License-Identifier: MIT
#include "kernels/image/image.h"

#include <cmath>

#include "kernels/image/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/histogram_cases.h"
#include "tests/cases/image_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(ImageCpu, image_cpu)

namespace weft::test {
namespace {

using kernels::ImageDims;
using kernels::ImageOperation;
using Bytes = std::vector<std::uint8_t>;

Bytes random_bytes(std::int64_t n, std::uint64_t seed) {
  const auto values = cases::histogram_values(n, cases::Distribution::uniform, 8, seed);
  return Bytes(values.begin(), values.end());
}

Bytes grey_oracle(const Bytes& rgb) {
  Bytes grey;
  for (std::size_t i = 0; i + 2 < rgb.size(); i += 3) {
    grey.push_back(static_cast<std::uint8_t>(problems::Grey::expected(&rgb[i])));
  }
  return grey;
}

Bytes blur_oracle(const Bytes& x, const ImageDims& dims, std::int64_t radius) {
  Bytes y;
  for (std::int64_t i = 0; i < dims.elements(); ++i) {
    y.push_back(static_cast<std::uint8_t>(problems::Blur{dims, radius}.expected(i, x.data())));
  }
  return y;
}

class ImageTest : public DeviceTest {
 protected:
  std::vector<std::string_view> variants(ImageOperation operation) const {
    std::vector<std::string_view> result = {kernels::kAutomatic};
    for (const kernels::Rung& rung : kernels::image_rungs()) {
      const bool takes = kernels::image_takes(rung.name, operation, device());
      if (taken(rung, device(), takes)) result.push_back(rung.name);
    }
    EXPECT_GT(result.size(), 1u);
    return result;
  }
};

TEST_P(ImageTest, GreyMatchesAnOracle) {
  for (const std::int64_t pixels : all_or_few(cases::kGreyPixels, cases::kFewGreyPixels)) {
    const Bytes rgb = random_bytes(3 * pixels, 1);
    for (const std::string_view variant : variants(ImageOperation::rgb_to_grey)) {
      for (const std::int64_t misalign : {0, 1}) {
        const Guarded<std::uint8_t> in(rgb, stream(), misalign);
        Guarded<std::uint8_t> grey(pixels, stream());
        kernels::rgb_to_grey(grey.data(), in.data(), pixels, variant, stream());
        EXPECT_EQ(grey.get(), grey_oracle(rgb)) << pixels << " pixels, misaligned by " << misalign;
      }
    }
  }
}

TEST_P(ImageTest, GreyKeepsGreys) {
  Bytes rgb, expected;
  for (int value = 0; value < 256; ++value) {
    rgb.insert(rgb.end(), 3, static_cast<std::uint8_t>(value));
    expected.push_back(static_cast<std::uint8_t>(value));
  }
  const Guarded<std::uint8_t> in(rgb, stream());
  Guarded<std::uint8_t> grey(256, stream());
  kernels::rgb_to_grey(grey.data(), in.data(), 256, "automatic", stream());
  EXPECT_EQ(grey.get(), expected);
}

TEST_P(ImageTest, BlurMatchesAnOracle) {
  for (const problems::Blur& c : all_or_few(cases::kBlurCases, cases::kFewBlurCases)) {
    const Bytes x = random_bytes(c.dims.elements(), 2);
    const Bytes expected = blur_oracle(x, c.dims, c.radius);
    for (const std::string_view variant : variants(ImageOperation::box_blur)) {
      const Guarded<std::uint8_t> in(x, stream(), 1);
      Guarded<std::uint8_t> y(c.dims.elements(), stream(), 1);
      kernels::box_blur(y.data(), in.data(), c.dims, c.radius, variant, stream());
      EXPECT_EQ(y.get(), expected) << c << ", variant " << variant;
    }
  }
}

TEST_P(ImageTest, BlurOfConstantIsConstantAndRadiusZeroCopies) {
  const ImageDims dims{50, 60, 3};
  const Bytes white(9000, 255), x = random_bytes(9000, 3);
  for (const std::string_view variant : variants(ImageOperation::box_blur)) {
    const Guarded<std::uint8_t> in(white, stream()), random(x, stream());
    Guarded<std::uint8_t> y(9000, stream());
    kernels::box_blur(y.data(), in.data(), dims, 9, variant, stream());
    EXPECT_EQ(y.get(), white);
    kernels::box_blur(y.data(), random.data(), dims, 0, variant, stream());
    EXPECT_EQ(y.get(), x);
  }
}

// The sharpest picture, and means that end in a half.
TEST_P(ImageTest, BlurOfACheckerboard) {
  const ImageDims dims{66, 97, 1};
  Bytes x;
  for (std::int64_t p = 0; p < dims.elements(); ++p) {
    x.push_back((p / dims.width + p % dims.width) % 2 == 0 ? 255 : 0);
  }
  const Guarded<std::uint8_t> in(x, stream());
  const Guarded<std::uint8_t> row(Bytes{1, 0, 3, 0}, stream());
  for (const std::string_view variant : variants(ImageOperation::box_blur)) {
    for (const std::int64_t radius : {1, 8}) {
      Guarded<std::uint8_t> y(dims.elements(), stream());
      kernels::box_blur(y.data(), in.data(), dims, radius, variant, stream());
      EXPECT_EQ(y.get(), blur_oracle(x, dims, radius)) << variant;
    }
    Guarded<std::uint8_t> y(4, stream());
    kernels::box_blur(y.data(), row.data(), {1, 4, 1}, 1, variant, stream());
    EXPECT_EQ(y.get(), (Bytes{1, 1, 1, 2})) << variant;  // 1/2 and 3/2 go up
  }
}

TEST_P(ImageTest, EmptyAndWrongArguments) {
  Guarded<std::uint8_t> y(4, stream()), x(12, stream());
  const Bytes before = y.get();
  kernels::rgb_to_grey(y.data(), x.data(), 0, "automatic", stream());
  kernels::box_blur(y.data(), x.data(), {0, 5, 3}, 1, "automatic", stream());
  EXPECT_EQ(y.get(), before);
  EXPECT_USAGE_ERROR(kernels::box_blur(y.data(), x.data(), {2, 2, 1}, -1, "automatic", stream()),
                     "radius -1");
  EXPECT_USAGE_ERROR(
      kernels::box_blur(y.data(), x.data(), {2, 2, 1}, 1, "rgb_to_grey_vectorized", stream()),
      device().is_cpu() ? "does not run on cpu" : "not of box_blur");
  EXPECT_USAGE_ERROR(kernels::rgb_to_grey(y.data(), x.data(), -1, "automatic", stream()),
                     "negative");
  EXPECT_USAGE_ERROR(kernels::rgb_to_grey(y.data(), x.data(), 1, "naive", stream()), "choose from");
}

TEST(ImageCpu, EveryInstructionSetAgrees) {
  const ImageDims dims{70, 67, 3};
  const Bytes x = random_bytes(dims.elements(), 4);
  for (const auto& [isa, table] : image_cpu_tables()) {
    Bytes grey(static_cast<std::size_t>(dims.height * dims.width)), y(x.size());
    table->rgb_to_grey(grey.data(), x.data(), dims.height * dims.width);
    EXPECT_EQ(grey, grey_oracle(x)) << isa;
    std::vector<std::uint32_t> sums(static_cast<std::size_t>(2 * dims.width * dims.channels));
    table->box_blur_running_sums(y.data(), x.data(), dims, 6, sums.data());
    EXPECT_EQ(y, blur_oracle(x, dims, 6)) << isa;
  }
}

WEFT_ON_EACH_DEVICE(ImageTest);

}  // namespace
}  // namespace weft::test

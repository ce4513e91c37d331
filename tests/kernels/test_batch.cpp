// SPDX-License-Identifier: MIT
#include "kernels/batch/batch.h"

#include <algorithm>
#include <limits>

#include "kernels/batch/cpu/templates.h"
#include "tests/cases/batch_cases.h"
#include "tests/kernels/kernel_test.h"

namespace weft::test {
namespace {

using cases::BatchCase;
using kernels::Augmentation;
using kernels::BatchOrder;
using kernels::Normalization;

constexpr Normalization kMnist{0.1307f, 0.3081f};
constexpr Augmentation kStrong{15, 0.1f, 0.2f, 2};

struct Batch {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> indices;
};

// A data set of random bytes on the device, and batches from it.
class Gatherer {
 public:
  Gatherer(const BatchCase& c, const Stream& stream, std::int64_t misalign = 0)
      : case_(c),
        stream_(stream),
        image_bytes(random_bytes(c.count * c.pixels(), 1)),
        label_bytes(random_bytes(c.count, 2)),
        images_(image_bytes, stream, misalign),
        labels_(label_bytes, stream) {}

  BatchOrder order(bool shuffle, std::uint64_t seed = 42) const {
    return {case_.count, case_.steps(), case_.batch, shuffle, seed};
  }

  Batch gather(std::int64_t step_value, const BatchOrder& order, const Augmentation& augmentation,
               std::int64_t misalign = 0) {
    const std::int64_t rows = case_.rows(step_value);
    Guarded<float> x(rows * case_.pixels(), stream_, misalign);
    Guarded<std::int32_t> labels(rows, stream_);
    Guarded<std::int64_t> indices(rows, stream_);
    Guarded<std::int64_t> step(std::vector<std::int64_t>{step_value}, stream_);
    kernels::gather_batch(x.data(), labels.data(), indices.data(), images_.data(), labels_.data(),
                          rows, case_.height, case_.width, step.data(), order, augmentation, kMnist,
                          stream_);
    return {x.get(), labels.get(), indices.get()};
  }

  std::vector<double> oracle(std::int64_t step_value, const BatchOrder& order,
                             const Augmentation& augmentation) const {
    const std::int64_t rows = case_.rows(step_value);
    std::vector<double> x(static_cast<std::size_t>(rows * case_.pixels()));
    kernels::cpu::gather_batch<double>(x.data(), nullptr, nullptr, image_bytes.data(), nullptr,
                                       rows, case_.height, case_.width, &step_value, order,
                                       augmentation, kernels::draw::line_of(kMnist));
    return x;
  }

 private:
  BatchCase case_;
  Stream stream_;

 public:
  std::vector<std::uint8_t> image_bytes, label_bytes;

 private:
  Guarded<std::uint8_t> images_, labels_;
};

class BatchTest : public DeviceTest {};

TEST_P(BatchTest, AnEpochShowsEachImageOnce) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    Gatherer gatherer(c, stream());
    std::vector<std::int64_t> previous;
    for (const bool shuffle : {false, true}) {
      for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<std::int64_t> seen;
        for (std::int64_t k = 0; k < c.steps(); ++k) {
          const Batch batch = gatherer.gather(epoch * c.steps() + k, gatherer.order(shuffle), {});
          seen.insert(seen.end(), batch.indices.begin(), batch.indices.end());
        }
        if (!shuffle) {
          EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
        }
        if (shuffle && c.count > 10) {
          EXPECT_NE(seen, previous) << c << ", epoch " << epoch;
        }
        previous = seen;
        std::sort(seen.begin(), seen.end());
        std::vector<std::int64_t> all(static_cast<std::size_t>(c.count));
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
        EXPECT_EQ(seen, all) << c << ", epoch " << epoch;
      }
    }
  }
}

TEST_P(BatchTest, PixelsAndLabelsAreThoseOfTheIndex) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    for (const std::int64_t misalign : {0, 1}) {
      Gatherer gatherer(c, stream(), misalign);
      const kernels::draw::Line line = kernels::draw::line_of(kMnist);
      for (const std::int64_t step : {std::int64_t{0}, c.steps() - 1, 5 * c.steps()}) {
        const Batch batch = gatherer.gather(step, gatherer.order(true), {}, misalign);
        std::vector<float> same;
        std::vector<double> formula;
        for (std::size_t r = 0; r < batch.indices.size(); ++r) {
          EXPECT_EQ(batch.labels[r],
                    gatherer.label_bytes[static_cast<std::size_t>(batch.indices[r])]);
          for (std::int64_t k = 0; k < c.pixels(); ++k) {
            const std::uint8_t byte =
                gatherer.image_bytes[static_cast<std::size_t>(batch.indices[r] * c.pixels() + k)];
            same.push_back(std::fma(line.slope, static_cast<float>(byte), line.offset));
            formula.push_back((byte / 255.0 - static_cast<double>(kMnist.mean)) /
                              static_cast<double>(kMnist.stddev));
          }
        }
        EXPECT_TRUE(same_bits(batch.x, same)) << c;  // on every device
        EXPECT_TRUE(compare(batch.x, formula, {5e-7, 0, false}, str(c)));
      }
    }
  }
}

TEST_P(BatchTest, AugmentationMatchesOracle) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    Gatherer gatherer(c, stream());
    for (const Augmentation& augmentation :
         {kStrong, Augmentation{0, 0, 0, 1.5f}, Augmentation{180, 0, 0, 0},
          Augmentation{0, 0.5f, 0, 0}, Augmentation{0, 0, 0.5f, 0}, Augmentation{0, 0, 0, 1e4f}}) {
      const BatchOrder order = gatherer.order(true);
      const Batch batch = gatherer.gather(c.steps(), order, augmentation);
      // A coordinate error of 1e-5 pixels times a slope of up to 255 levels, of 78 per unit.
      EXPECT_TRUE(compare(batch.x, gatherer.oracle(c.steps(), order, augmentation),
                          {2e-4, 0, false}, str(c)));
      const Batch again = gatherer.gather(c.steps(), order, augmentation);
      EXPECT_TRUE(same_bits(batch.x, again.x));
    }
  }
}

// What shift alone must give, by another route: whole and fractional part of the drawn shift.
TEST_P(BatchTest, ShiftMovesThePicture) {
  const BatchCase c{40, 9, 11, 40};
  Gatherer gatherer(c, stream());
  const float limit = 3;
  const Batch batch = gatherer.gather(0, gatherer.order(false), {0, 0, 0, limit});
  std::vector<double> expected;
  bool both_signs[2] = {};
  for (std::int64_t s = 0; s < c.count; ++s) {
    const std::uint32_t bits =
        philox(42, RandomStream::augmentation, 0, static_cast<std::uint64_t>(s)).value[3];
    const double shift_x = 3.0 * (2.0 * (bits >> 16) / 65536 - 1);
    const double shift_y = 3.0 * (2.0 * (bits & 0xffff) / 65536 - 1);
    both_signs[shift_x < 0] = true;
    const auto pixel = [&](std::int64_t i, std::int64_t j) -> double {
      if (i < 0 || i >= c.height || j < 0 || j >= c.width) return 0;
      return gatherer.image_bytes[static_cast<std::size_t>(s * c.pixels() + i * c.width + j)];
    };
    for (std::int64_t i = 0; i < c.height; ++i) {
      for (std::int64_t j = 0; j < c.width; ++j) {
        const double y = static_cast<double>(i) - shift_y, x = static_cast<double>(j) - shift_x;
        const double fy = y - std::floor(y), fx = x - std::floor(x);
        const std::int64_t y0 = static_cast<std::int64_t>(std::floor(y));
        const std::int64_t x0 = static_cast<std::int64_t>(std::floor(x));
        const double value = (1 - fy) * ((1 - fx) * pixel(y0, x0) + fx * pixel(y0, x0 + 1)) +
                             fy * ((1 - fx) * pixel(y0 + 1, x0) + fx * pixel(y0 + 1, x0 + 1));
        expected.push_back((value / 255 - static_cast<double>(kMnist.mean)) /
                           static_cast<double>(kMnist.stddev));
      }
    }
  }
  EXPECT_TRUE(both_signs[0] && both_signs[1]);
  EXPECT_TRUE(compare(batch.x, expected, {1e-4, 0, false}));
}

TEST_P(BatchTest, AnImageIsDistortedTheSameWayWhereverItLands) {
  const BatchCase c{24, 12, 12, 24};
  Gatherer gatherer(c, stream());
  const Batch plain = gatherer.gather(0, gatherer.order(false), kStrong);
  const Batch shuffled = gatherer.gather(0, gatherer.order(true), kStrong);
  const Batch next_epoch = gatherer.gather(1, gatherer.order(false), kStrong);
  const Batch other_seed = gatherer.gather(0, gatherer.order(false, 43), kStrong);
  for (std::size_t r = 0; r < shuffled.indices.size(); ++r) {
    const std::int64_t source = shuffled.indices[r];
    const auto row = [&](const Batch& batch, std::int64_t index) {
      const auto first = batch.x.begin() + index * c.pixels();
      return std::vector<float>(first, first + c.pixels());
    };
    EXPECT_TRUE(same_bits(row(shuffled, static_cast<std::int64_t>(r)), row(plain, source)));
    EXPECT_NE(row(plain, source), row(next_epoch, source));
    EXPECT_NE(row(plain, source), row(other_seed, source));
  }
}

TEST(BatchDraw, MapsStayWithinTheirLimits) {
  double largest_angle = 0, largest_size = 0;
  for (std::int64_t s = 0; s < 2000; ++s) {
    const kernels::draw::Affine map = kernels::draw::affine_of({3, s}, 1, {10, 0.1f, 0, 0}, 28, 28);
    const double size = 1 / std::hypot(static_cast<double>(map.xj), static_cast<double>(map.yj));
    const double angle = std::atan2(static_cast<double>(map.yj), static_cast<double>(map.xj));
    largest_angle = std::max(largest_angle, std::fabs(angle) * 180 / 3.14159265358979);
    largest_size = std::max(largest_size, std::fabs(std::log(size)));
    // The centre of the image stays where it is.
    EXPECT_NEAR(map.x0 + 13.5f * (map.xj + map.xi), 13.5f, 1e-5f);
    EXPECT_NEAR(map.y0 + 13.5f * (map.yj + map.yi), 13.5f, 1e-5f);
  }
  EXPECT_TRUE(largest_angle > 9.9 && largest_angle <= 10.0001) << largest_angle;
  EXPECT_TRUE(largest_size > 0.099 && largest_size <= 0.100001) << largest_size;
}

TEST_P(BatchTest, OptionalOutputsAndSafety) {
  const BatchCase c{5, 3, 5, 2};
  Gatherer gatherer(c, stream());
  Guarded<std::uint8_t> images(gatherer.image_bytes, stream());
  Guarded<float> x(2 * c.pixels(), stream());
  Guarded<std::int32_t> labels(2, stream());
  Guarded<std::int64_t> step(std::vector<std::int64_t>{2}, stream());
  const auto gather = [&](std::int64_t rows, const BatchOrder& order, const Augmentation& limits,
                          std::int32_t* wanted, float stddev = 1) {
    kernels::gather_batch(x.data(), wanted, nullptr, images.data(), nullptr, rows, c.height,
                          c.width, step.data(), order, limits, {0, stddev}, stream());
  };
  const BatchOrder order = gatherer.order(false);
  gather(2, order, {}, nullptr);  // position 5 of 5 wraps around to image 0
  const float first = x.get()[static_cast<std::size_t>(c.pixels())];
  EXPECT_NEAR(first, static_cast<float>(gatherer.image_bytes[0]) / 255, 1e-6f);
  EXPECT_USAGE_ERROR(gather(3, order, {}, nullptr), "3 rows");
  EXPECT_USAGE_ERROR(gather(2, {0, 1, 2, false, 0}, {}, nullptr), "0 images");
  EXPECT_USAGE_ERROR(gather(2, order, {}, labels.data()), "without labels");
  EXPECT_USAGE_ERROR(gather(2, order, {-1, 0, 0, 0}, nullptr), "limits");
  EXPECT_USAGE_ERROR(gather(2, order, {0, std::numeric_limits<float>::quiet_NaN(), 0, 0}, nullptr),
                     "limits");
  EXPECT_USAGE_ERROR(gather(2, order, {}, nullptr, 0), "deviation");
  const std::vector<float> before = x.get();
  gather(0, order, {}, nullptr);
  EXPECT_TRUE(same_bits(x.get(), before));
}

WEFT_ON_EACH_DEVICE(BatchTest);

}  // namespace
}  // namespace weft::test

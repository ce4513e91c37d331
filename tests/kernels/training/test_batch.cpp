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

// Up to four channels; a case takes as many as it has.
constexpr Normalization kNormalization[] = {
    {0.1307f, 0.3081f}, {0.4822f, 0.2435f}, {0.4465f, 0.2616f}, {0.5f, 1}};

std::span<const Normalization> normalization(const BatchCase& c) {
  return std::span(kNormalization).first(static_cast<std::size_t>(c.channels));
}
constexpr Augmentation kStrong{15, 0.1f, 0.2f, 2};
constexpr Augmentation kEverything{15, 0.1f, 0.2f, 2, true, 3, 0.2f, 0.3f, 2};

struct Batch {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> indices;
};

// Labels that a byte does not hold.
std::vector<std::int32_t> large_labels(std::int64_t count) {
  std::vector<std::int32_t> labels = as_labels(random_bytes(count, 2), 256);
  for (std::int32_t& label : labels) label *= 75;
  return labels;
}

// A data set of random bytes on the device, and batches from it.
class Gatherer {
 public:
  Gatherer(const BatchCase& c, const Stream& stream, std::int64_t misalign = 0)
      : case_(c),
        stream_(stream),
        image_bytes(random_bytes(c.count * c.pixels(), 1)),
        image_labels(large_labels(c.count)),
        images_(image_bytes, stream, misalign),
        labels_(image_labels, stream) {}

  BatchOrder order(bool shuffle, std::uint64_t seed = 42) const {
    return {case_.count, case_.steps(), case_.batch, shuffle, seed};
  }

  Batch gather(std::int64_t step_value, const BatchOrder& order, const Augmentation& augmentation,
               std::int64_t misalign = 0) {
    return gather_rows(case_.rows(step_value), step_value, order, augmentation, misalign);
  }

  Batch gather_rows(std::int64_t rows, std::int64_t step_value, const BatchOrder& order,
                    const Augmentation& augmentation, std::int64_t misalign = 0) {
    return gather_from(images_, labels_, rows, step_value, order, augmentation, misalign);
  }

  // The same batch when only its rows are on the device, at their place among `staged_steps`.
  Batch gather_staged(std::int64_t step_value, BatchOrder order, const Augmentation& augmentation,
                      std::int64_t staged_steps) {
    std::vector<std::uint8_t> bytes(
        static_cast<std::size_t>(staged_steps * case_.batch * case_.pixels()), 0xa5);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(staged_steps * case_.batch), -1);
    for (std::int64_t row = 0; row < case_.rows(step_value); ++row) {
      const std::int64_t index = kernels::batch_index(row, step_value, order);
      const std::int64_t place = step_value % staged_steps * case_.batch + row;
      std::copy_n(image_bytes.begin() + index * case_.pixels(), case_.pixels(),
                  bytes.begin() + place * case_.pixels());
      labels[static_cast<std::size_t>(place)] = image_labels[static_cast<std::size_t>(index)];
    }
    const Guarded<std::uint8_t> images(bytes, stream_);
    const Guarded<std::int32_t> staged_labels(labels, stream_);
    order.staged_steps = staged_steps;
    return gather_from(images, staged_labels, case_.rows(step_value), step_value, order,
                       augmentation, 0);
  }

  std::vector<double> oracle(std::int64_t step_value, const BatchOrder& order,
                             const Augmentation& augmentation) const {
    const std::int64_t rows = case_.rows(step_value);
    std::vector<double> x(static_cast<std::size_t>(rows * case_.pixels()));
    kernels::cpu::gather_batch<double>(x.data(), nullptr, nullptr, image_bytes.data(), nullptr,
                                       rows, case_.dims(), &step_value, order, augmentation,
                                       kernels::draw::lines_of(normalization(case_)));
    return x;
  }

 private:
  Batch gather_from(const Guarded<std::uint8_t>& images, const Guarded<std::int32_t>& of_images,
                    std::int64_t rows, std::int64_t step_value, const BatchOrder& order,
                    const Augmentation& augmentation, std::int64_t misalign) {
    Guarded<float> x(rows * case_.pixels(), stream_, misalign);
    Guarded<std::int32_t> labels(rows, stream_);
    Guarded<std::int64_t> indices(rows, stream_);
    Guarded<std::int64_t> step(std::vector<std::int64_t>{step_value}, stream_);
    kernels::gather_batch(x.data(), labels.data(), indices.data(), images.data(), of_images.data(),
                          rows, case_.dims(), step.data(), order, augmentation,
                          normalization(case_), stream_);
    return {x.get(), labels.get(), indices.get()};
  }

  BatchCase case_;
  Stream stream_;

 public:
  std::vector<std::uint8_t> image_bytes;
  std::vector<std::int32_t> image_labels;

 private:
  Guarded<std::uint8_t> images_;
  Guarded<std::int32_t> labels_;
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

// Shares that start where the one before ends make up the batch, also the last one of an epoch.
TEST_P(BatchTest, SharesMakeUpTheBatch) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    Gatherer gatherer(c, stream());
    for (const Augmentation& augmentation : {Augmentation{}, kStrong, kEverything}) {
      const std::int64_t step = 2 * c.steps() - 1, rows = c.rows(step);
      BatchOrder order = gatherer.order(true);
      const Batch whole = gatherer.gather(step, order, augmentation);
      Batch shares;
      for (std::int64_t count = rows / 2; order.first < rows; count = rows - order.first) {
        const Batch share = gatherer.gather_rows(count, step, order, augmentation);
        shares.x.insert(shares.x.end(), share.x.begin(), share.x.end());
        shares.labels.insert(shares.labels.end(), share.labels.begin(), share.labels.end());
        shares.indices.insert(shares.indices.end(), share.indices.begin(), share.indices.end());
        order.first += count;
      }
      EXPECT_EQ(shares.indices, whole.indices) << c;
      EXPECT_EQ(shares.labels, whole.labels) << c;
      EXPECT_TRUE(same_bits(shares.x, whole.x)) << c;
    }
  }
}

TEST_P(BatchTest, PixelsAndLabelsAreThoseOfTheIndex) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    for (const std::int64_t misalign : {0, 1}) {
      Gatherer gatherer(c, stream(), misalign);
      const kernels::draw::Lines lines = kernels::draw::lines_of(normalization(c));
      for (const std::int64_t step : {std::int64_t{0}, c.steps() - 1, 5 * c.steps()}) {
        const Batch batch = gatherer.gather(step, gatherer.order(true), {}, misalign);
        std::vector<float> same;
        std::vector<double> formula;
        for (std::size_t r = 0; r < batch.indices.size(); ++r) {
          EXPECT_EQ(batch.labels[r],
                    gatherer.image_labels[static_cast<std::size_t>(batch.indices[r])]);
          for (std::int64_t k = 0; k < c.pixels(); ++k) {
            const std::uint8_t byte =
                gatherer.image_bytes[static_cast<std::size_t>(batch.indices[r] * c.pixels() + k)];
            const std::int64_t channel = k / (c.height * c.width);
            const kernels::draw::Line line = lines.of[channel];
            same.push_back(std::fma(line.slope, static_cast<float>(byte), line.offset));
            formula.push_back((byte / 255.0 - static_cast<double>(kNormalization[channel].mean)) /
                              static_cast<double>(kNormalization[channel].stddev));
          }
        }
        EXPECT_TRUE(same_bits(batch.x, same)) << c;  // on every device
        EXPECT_TRUE(compare(batch.x, formula, {5e-7, 0, false}, str(c)));
      }
    }
  }
}

// All 256 bytes, copied or in an image that is edited, have the bits that a reader of single images
// gives them.
TEST_P(BatchTest, NormalisesEachByteAsInASingleImage) {
  std::vector<std::uint8_t> ramp(256);
  for (std::size_t byte = 0; byte < 256; ++byte) ramp[byte] = static_cast<std::uint8_t>(byte);
  const Guarded<std::uint8_t> images(ramp, stream());
  const Guarded<std::int64_t> step(std::vector<std::int64_t>{0}, stream());
  for (const Normalization& channel :
       {Normalization{0.1307f, 0.3081f}, Normalization{0, 1}, Normalization{0.5f, 0.5f},
        Normalization{0.4465f, 0.2616f}, Normalization{-1, 1e-3f}, Normalization{123.7f, 58.4f}}) {
    const std::array<float, 256> values = kernels::normalized_bytes(channel);
    const std::vector<float> forward(values.begin(), values.end());
    const std::vector<float> backward(values.rbegin(), values.rend());
    for (const int height : {16, 1, 256}) {
      const int width = 256 / height;
      const auto gathered = [&](const Augmentation& augmentation) {
        Guarded<float> x(256, stream());
        kernels::gather_batch(x.data(), nullptr, nullptr, images.data(), nullptr, 1,
                              {1, height, width}, step.data(), {1, 1, 1, false}, augmentation,
                              std::span(&channel, 1), stream());
        return x.get();
      };
      EXPECT_TRUE(same_bits(gathered({}), forward)) << channel.mean << ", " << channel.stddev;
      if (height == 16) continue;
      // With a draw for the flip, which turns a row over and leaves a column as it is.
      const std::vector<float> drawn = gathered({.flip = true});
      EXPECT_TRUE(same_bits(drawn, forward) || (height == 1 && same_bits(drawn, backward)))
          << channel.mean << ", " << channel.stddev;
    }
  }
}

TEST_P(BatchTest, StagedRowsGiveTheSameBits) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    Gatherer gatherer(c, stream());
    for (const Augmentation& augmentation : {Augmentation{}, kStrong, kEverything}) {
      for (const std::int64_t step : {std::int64_t{0}, c.steps() - 1, 5 * c.steps() + 1}) {
        const BatchOrder order = gatherer.order(true);
        const Batch whole = gatherer.gather(step, order, augmentation);
        for (const std::int64_t staged : {1, 2, 3}) {
          const Batch batch = gatherer.gather_staged(step, order, augmentation, staged);
          EXPECT_TRUE(same_bits(whole.x, batch.x)) << c << ", step " << step << ", " << staged;
          EXPECT_EQ(whole.labels, batch.labels);
          EXPECT_EQ(whole.indices, batch.indices);
        }
      }
    }
  }
}

TEST_P(BatchTest, AugmentationMatchesOracle) {
  for (const BatchCase& c : all_or_few(cases::kBatchCases, cases::kFewBatchCases)) {
    Gatherer gatherer(c, stream());
    for (const Augmentation& augmentation :
         {kStrong, Augmentation{0, 0, 0, 1.5f}, Augmentation{180, 0, 0, 0},
          Augmentation{0, 0.5f, 0, 0}, Augmentation{0, 0, 0.5f, 0}, Augmentation{0, 0, 0, 1e4f},
          kEverything}) {
      const BatchOrder order = gatherer.order(true);
      const Batch batch = gatherer.gather(c.steps(), order, augmentation);
      // A coordinate error of 1e-5 pixels times a slope of up to 255 levels, of 78 per unit.
      EXPECT_TRUE(compare(batch.x, gatherer.oracle(c.steps(), order, augmentation),
                          {2e-4, 0, c.pixels() == 1}, str(c)));
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
        expected.push_back((value / 255 - static_cast<double>(kNormalization[0].mean)) /
                           static_cast<double>(kNormalization[0].stddev));
      }
    }
  }
  EXPECT_TRUE(both_signs[0] && both_signs[1]);
  EXPECT_TRUE(compare(batch.x, expected, {1e-4, 0, false}));
}

// Flip, crop, contrast, brightness and cutout by another route: the words of the random numbers and
// the order that batch.h tells. No warp, so the bits are the same on every device.
TEST_P(BatchTest, EditsAreWhatTheHeaderSays) {
  struct {
    BatchCase c;
    Augmentation limits;
  } const problems[] = {
      {{40, 9, 11, 40, 3}, {.flip = true}},
      {{40, 9, 11, 40, 3}, {.crop = 4}},
      {{40, 9, 11, 40, 1}, {.crop = 20}},
      {{40, 9, 11, 40, 3}, {.brightness = 0.3f}},
      {{40, 9, 11, 40, 3}, {.contrast = 0.5f}},
      {{40, 9, 11, 40, 3}, {.cutout = 4}},
      {{40, 9, 11, 40, 2}, {.cutout = 1}},
      {{40, 9, 11, 40, 1},
       {.flip = true, .crop = 2, .brightness = 0.1f, .contrast = 0.2f, .cutout = 5}},
      {{40, 8, 8, 40, 3},
       {.flip = true, .crop = 2, .brightness = 0.1f, .contrast = 0.2f, .cutout = 5}},
  };
  for (const auto& [c, limits] : problems) {
    Gatherer gatherer(c, stream());
    const Batch batch = gatherer.gather(0, gatherer.order(false), limits);
    std::vector<double> expected;
    std::int64_t flipped = 0;
    for (std::int64_t s = 0; s < c.count; ++s) {
      const Random4 bits = philox(42, RandomStream::augmentation, 0,
                                  static_cast<std::uint64_t>(s) + (std::uint64_t{1} << 63));
      const auto half = [&](int word, bool upper, std::int64_t n) {
        return static_cast<std::int64_t>(
            static_cast<double>(n * (upper ? bits.value[word] >> 16 : bits.value[word] & 0xffff)) /
            65536);
      };
      const auto uniform = [&](int word) { return (bits.value[word] >> 8) / 8388608.0 - 1; };
      const bool mirrored = limits.flip && bits.value[0] % 2 == 1;
      flipped += mirrored ? 1 : 0;
      const double b = static_cast<double>(limits.brightness) * uniform(0);
      const double contrast = 1 + static_cast<double>(limits.contrast) * uniform(1);
      const std::int64_t dx = half(2, true, 2 * limits.crop + 1) - limits.crop;
      const std::int64_t dy = half(2, false, 2 * limits.crop + 1) - limits.crop;
      const std::int64_t left = half(3, true, c.width) - limits.cutout / 2;
      const std::int64_t top = half(3, false, c.height) - limits.cutout / 2;
      for (std::int64_t k = 0; k < c.pixels(); ++k) {
        const std::int64_t plane = k / (c.height * c.width);
        const std::int64_t i = k / c.width % c.height, j = k % c.width;
        const std::int64_t y = i + dy, x = (mirrored ? c.width - 1 - j : j) + dx;
        const bool inside = y >= 0 && y < c.height && x >= 0 && x < c.width;
        const std::int64_t at = ((s * c.channels + plane) * c.height + y) * c.width + x;
        const double value =
            inside ? gatherer.image_bytes[static_cast<std::size_t>(at)] / 255.0 : 0.0;
        const double mean = static_cast<double>(kNormalization[plane].mean);
        const bool cut =
            i >= top && i < top + limits.cutout && j >= left && j < left + limits.cutout;
        const double stddev = static_cast<double>(kNormalization[plane].stddev);
        expected.push_back(cut ? 0 : ((value - mean) * contrast + b) / stddev);
      }
    }
    if (limits.flip) {
      EXPECT_TRUE(flipped > 5 && flipped < 35) << flipped;
    }
    EXPECT_TRUE(compare(batch.x, expected, {2e-6, 0, false}, str(c)));
    Gatherer on_cpu(c, Stream(Device::cpu()));
    EXPECT_TRUE(same_bits(batch.x, on_cpu.gather(0, on_cpu.order(false), limits).x)) << c;
  }
}

// All places of the window and of the square come up, and nothing beyond them.
TEST(BatchDraw, PlacesCoverTheirRange) {
  std::vector<int> crops(9), lefts(10), tops(7);
  for (std::int64_t s = 0; s < 4000; ++s) {
    kernels::draw::Distortion d;
    kernels::draw::draw_distortion(d, {2, s}, 1, {.crop = 4, .cutout = 3},
                                   kernels::draw::lines_of(kNormalization), 7, 10);
    ++crops.at(static_cast<std::size_t>(d.crop_x + 4));
    ++lefts.at(static_cast<std::size_t>(d.cut_left + 1));
    ++tops.at(static_cast<std::size_t>(d.cut_top + 1));
  }
  // Each of n equally likely places comes up 4000 / n times, within five standard errors.
  for (const std::vector<int>* places : {&crops, &lefts, &tops}) {
    const double mean = 4000.0 / static_cast<double>(places->size());
    for (const int count : *places) EXPECT_NEAR(count, mean, 5 * std::sqrt(mean));
  }
}

TEST_P(BatchTest, AnImageIsDistortedTheSameWayWhereverItLands) {
  const BatchCase c{24, 12, 12, 24, 3};
  Gatherer gatherer(c, stream());
  const Batch plain = gatherer.gather(0, gatherer.order(false), kEverything);
  const Batch shuffled = gatherer.gather(0, gatherer.order(true), kEverything);
  const Batch next_epoch = gatherer.gather(1, gatherer.order(false), kEverything);
  const Batch other_seed = gatherer.gather(0, gatherer.order(false, 43), kEverything);
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

// e^10000 is no float: an image that large, or that small, shows the background or one point.
TEST_P(BatchTest, ImagesOfAnySizeAreFinite) {
  Gatherer gatherer({40, 9, 11, 40}, stream());
  const Batch batch = gatherer.gather(0, gatherer.order(false), {0, 10000, 0, 0});
  for (const float value : batch.x) EXPECT_TRUE(std::isfinite(value));
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
    const Normalization channel{0, stddev};
    kernels::gather_batch(x.data(), wanted, nullptr, images.data(), nullptr, rows, c.dims(),
                          step.data(), order, limits, std::span(&channel, 1), stream());
  };
  const BatchOrder order = gatherer.order(false);
  gather(2, order, {}, nullptr);  // position 5 of 5 wraps around to image 0
  const float first = x.get()[static_cast<std::size_t>(c.pixels())];
  EXPECT_NEAR(first, static_cast<float>(gatherer.image_bytes[0]) / 255, 1e-6f);
  EXPECT_USAGE_ERROR(gather(3, order, {}, nullptr), "3 rows");
  const Normalization channel{0, 1};
  EXPECT_USAGE_ERROR(
      kernels::gather_batch(x.data(), nullptr, nullptr, images.data(), nullptr, 1,
                            {1, std::int64_t{1} << 16, std::int64_t{1} << 16}, step.data(), order,
                            {}, std::span(&channel, 1), stream()),
      "too large");
  EXPECT_USAGE_ERROR(gather(2, {5, 3, 2, false, 0, 1}, {}, nullptr), "2 rows from row 1");
  EXPECT_USAGE_ERROR(gather(1, {5, 3, 2, false, 0, -1}, {}, nullptr), "from row -1");
  EXPECT_USAGE_ERROR(gather(2, {0, 1, 2, false, 0}, {}, nullptr), "0 images");
  EXPECT_USAGE_ERROR(gather(2, order, {}, labels.data()), "without labels");
  EXPECT_USAGE_ERROR(gather(2, order, {-1, 0, 0, 0}, nullptr), "limits");
  EXPECT_USAGE_ERROR(gather(2, order, {0, std::numeric_limits<float>::quiet_NaN(), 0, 0}, nullptr),
                     "limits");
  EXPECT_USAGE_ERROR(gather(2, order, {}, nullptr, 0), "deviation");
  EXPECT_USAGE_ERROR(gather(2, order, {.crop = -1}, nullptr), "crop");
  EXPECT_USAGE_ERROR(gather(2, order, {.cutout = 5000}, nullptr), "cutout");
  EXPECT_USAGE_ERROR(gather(2, order, {.contrast = NAN}, nullptr), "limits");
  EXPECT_USAGE_ERROR(kernels::gather_batch(x.data(), nullptr, nullptr, images.data(), nullptr, 2,
                                           c.dims(), step.data(), order, {}, {}, stream()),
                     "found 1 and 0");
  EXPECT_USAGE_ERROR(
      kernels::gather_batch(x.data(), nullptr, nullptr, images.data(), nullptr, 1, {5, 3, 1},
                            step.data(), order, {}, std::vector<Normalization>(5), stream()),
      "1 to 4 channels");
  const std::vector<float> before = x.get();
  gather(0, order, {}, nullptr);
  EXPECT_TRUE(same_bits(x.get(), before));
}

WEFT_ON_EACH_DEVICE(BatchTest);

}  // namespace
}  // namespace weft::test

// SPDX-License-Identifier: MIT
// Calibration: the temperature and the threshold that are found, and the error that is told.
#include "models/answers/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/folder.h"
#include "tests/support/random.h"

namespace weft::models {
namespace {

constexpr std::size_t kClasses = 5;

struct Drawn {
  std::vector<float> logits;  // (images, kClasses)
  std::vector<std::int32_t> labels;
  std::vector<double> variation;
};

// Labels drawn from the softmax of logits, which are then multiplied by `factor`.
Drawn draw(std::size_t images, float factor) {
  Drawn drawn;
  drawn.logits = test::random_floats(static_cast<std::int64_t>(images * kClasses), 3, -3, 3);
  const std::vector<float> chance = test::random_floats(static_cast<std::int64_t>(images), 4, 0, 1);
  for (std::size_t i = 0; i < images; ++i) {
    const auto row = std::span(drawn.logits).subspan(i * kClasses, kClasses);
    double left = chance[i];
    std::size_t label = 0;
    for (const double probability : softmax(row, 1)) {
      if (left < probability || label + 1 == kClasses) break;
      left -= probability;
      ++label;
    }
    drawn.labels.push_back(static_cast<std::int32_t>(label));
  }
  for (float& logit : drawn.logits) logit *= factor;
  for (const float value : chance) drawn.variation.push_back(20 + 50 * value);
  return drawn;
}

float calibration_error(const Drawn& drawn, double temperature) {
  std::vector<float> probabilities;
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    for (const double p :
         softmax(std::span(drawn.logits).subspan(i * kClasses, kClasses), temperature)) {
      probabilities.push_back(static_cast<float>(p));
    }
  }
  return static_cast<float>(expected_calibration_error(probabilities, drawn.labels));
}

// Whatever was fitted, and where nothing was, as for a network that was imported.
TEST(Calibration, BelowOneHalfNoAnswerIsCertain) {
  Calibration calibration;
  const auto unsure = [&](std::vector<double> probabilities, float familiarity) {
    const std::vector<float> logits = {familiarity, -1e9f};  // of which this is the energy
    return is_unsure(calibration, probabilities, logits, 1);
  };
  EXPECT_FALSE(unsure({0.5, 0.5}, 1));
  EXPECT_FALSE(unsure({0.2, 0.7, 0.1}, 1));
  EXPECT_TRUE(unsure({0.3, 0.499, 0.201}, 1));
  EXPECT_TRUE(unsure(std::vector<double>(10, 0.1), 1));
  EXPECT_TRUE(unsure({std::nan(""), std::nan("")}, 1));
  calibration.threshold = 2;
  EXPECT_TRUE(unsure({0.2, 0.8}, 1.9f));
  EXPECT_FALSE(unsure({0.2, 0.8}, 2));
  EXPECT_TRUE(unsure({0.4, 0.3, 0.3}, 100));
}

TEST(Calibration, TheTemperatureUndoesAFactorOfTheLogits) {
  for (const float factor : {0.3f, 1.0f, 3.0f}) {
    const Drawn drawn = draw(20'000, factor);
    const Calibration calibration = fit_calibration(drawn.logits, drawn.labels, drawn.variation);
    // The standard error of 1 / temperature is about 1 / (sqrt(images) * deviation of a logit).
    EXPECT_NEAR(calibration.temperature / factor, 1, 0.03) << factor;
    EXPECT_EQ(calibration.images, 20'000);
    EXPECT_LT(calibration_error(drawn, calibration.temperature), 0.01) << factor;
    if (factor != 1) {
      EXPECT_GT(calibration_error(drawn, 1), 0.05) << factor;
    }
  }
}

TEST(Calibration, WithoutMistakesTheTemperatureStays) {
  const std::vector<float> logits = {4, 0, 1, 7};
  const std::vector<std::int32_t> labels = {0, 1};
  const std::vector<double> variation = {1, 1};
  EXPECT_EQ(fit_calibration(logits, labels, variation).temperature, 1);
}

TEST(Calibration, TheThresholdRefusesTheShareOfTheHeldOutImages) {
  const Drawn drawn = draw(10'000, 1);
  const double threshold = fit_calibration(drawn.logits, drawn.labels, drawn.variation).threshold;
  int refused = 0;
  for (std::size_t i = 0; i < drawn.labels.size(); ++i) {
    const auto row = std::span(drawn.logits).subspan(i * kClasses, kClasses);
    refused += familiarity(row, drawn.variation[i]) < threshold ? 1 : 0;
  }
  EXPECT_EQ(refused, static_cast<int>(kRefusedShare * 10'000));
}

TEST(Calibration, FamiliarityAndSoftmaxAreWhatTheFormulasSay) {
  const std::vector<float> logits = {1, 2, 3}, large = {1e30f, 0, 0};
  const double energy = std::log(std::exp(1) + std::exp(2) + std::exp(3));
  EXPECT_NEAR(familiarity(logits, 1), energy, 1e-12);
  EXPECT_NEAR(familiarity(logits, 4), energy / 2, 1e-12);
  EXPECT_EQ(familiarity(logits, 0), -INFINITY);
  EXPECT_EQ(familiarity(large, 1), static_cast<double>(1e30f));
  const std::vector<double> halved = softmax(logits, 2);
  EXPECT_NEAR(halved[2] / halved[0], std::exp(1), 1e-12);
  EXPECT_NEAR(halved[0] + halved[1] + halved[2], 1, 1e-12);
  EXPECT_FALSE(std::isfinite(softmax(std::vector<float>{NAN, 1}, 1)[0]));
  EXPECT_FALSE(std::isfinite(softmax(std::vector<float>{INFINITY, 1}, 1)[0]));
  EXPECT_FALSE(std::isfinite(softmax(std::vector<float>{1, NAN}, 1)[0]));
}

// Right answers have odds of e^4 or so, wrong ones and those without a class of e^1, and energy and
// variation say nothing.
TEST(Calibration, CertaintyTellsRightAnswersFromOthers) {
  constexpr std::size_t kImages = 4'000;
  const std::vector<float> noise = test::random_floats(4 * kImages, 8, -1, 1);
  std::vector<float> logits;
  std::vector<std::int32_t> labels;
  std::vector<std::uint8_t> shows_class;
  std::vector<double> variation;
  for (std::size_t i = 0; i < kImages; ++i) {
    const bool is_right = i % 2 == 0, shows = i % 4 != 3;
    const float margin = (is_right ? 4.0f : 1.0f) + 0.9f * noise[4 * i];
    const float level = noise[4 * i + 1];
    logits.insert(logits.end(), {level + margin, level, level - 9});
    labels.push_back(is_right || !shows ? 0 : 1);
    shows_class.push_back(shows ? 1 : 0);
    variation.push_back(40 + 10 * noise[4 * i + 2]);
  }
  Calibration calibration;
  calibration.certainty = fit_certainty(logits, labels, shows_class, variation);
  ASSERT_TRUE(calibration.certainty.has_value());
  calibration.threshold = 1e9;  // which certainty takes the place of
  std::size_t right_unsure = 0, others_certain = 0;
  for (std::size_t i = 0; i < kImages; ++i) {
    const auto row = std::span(logits).subspan(3 * i, 3);
    const bool unsure = is_unsure(calibration, softmax(row, 1), row, variation[i]);
    right_unsure += unsure && i % 2 == 0 ? 1 : 0;
    others_certain += !unsure && i % 2 == 1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(right_unsure), kRefusedHardShare * kImages / 2, 2);
  EXPECT_LT(others_certain, kImages / 100);  // margins of 1 +- 0.9 and of 4 +- 0.9 do not meet
  EXPECT_GT((*calibration.certainty)[0], 0);

  std::fill(shows_class.begin(), shows_class.end(), std::uint8_t{0});
  EXPECT_FALSE(fit_certainty(logits, labels, shows_class, variation).has_value());
  shows_class.pop_back();
  EXPECT_TRUE(test::throws(ErrorKind::usage, "hard images",
                           [&] { fit_certainty(logits, labels, shows_class, variation); }));
}

TEST(Calibration, CertaintyLooksAtOddsEnergyAndVariation) {
  const std::vector<float> logits = {1, 3, 2};
  const auto features = certainty_features(logits, 9);
  EXPECT_NEAR(features[0], -std::log(std::exp(-2) + std::exp(-1)), 1e-6);
  EXPECT_NEAR(features[1], std::log(std::exp(1) + std::exp(2) + std::exp(3)), 1e-6);
  EXPECT_EQ(features[2], 3);
  EXPECT_TRUE(std::isfinite(certainty_features(std::vector<float>{1e30f, 0}, 0)[0]));
}

TEST(Calibration, TheVariationIsThatOfNeighbours) {
  const std::vector<std::uint8_t> pixels = {0, 255, 255,  //
                                            0, 0,   51};
  // Across: 1, 0, 0, 0.2. Down: 0, 1, 0.8.
  EXPECT_NEAR(total_variation(pixels, 2, 3), 3.0, 1e-12);
  // Two planes of 1 x 3: 1 and 0.2 across, nothing between the planes.
  EXPECT_NEAR(total_variation(pixels, 1, 3), 1.2, 1e-12);
  EXPECT_EQ(total_variation(std::vector<std::uint8_t>(12, 77), 3, 4), 0);
}

TEST(Calibration, TheErrorIsTheDistanceBinByBin) {
  // Bin 13 of 15 (0.87 to 0.93): one of two right at 0.9. Bin 9 (0.6 to 0.67): right at 0.65.
  const std::vector<float> probabilities = {0.9f, 0.1f, 0.9f, 0.1f, 0.35f, 0.65f};
  const std::vector<std::int32_t> labels = {0, 1, 1};
  EXPECT_NEAR(expected_calibration_error(probabilities, labels), (0.8 + 0.35) / 3, 1e-7);
}

TEST(Calibration, LabelsWithoutARowAreRefused) {
  const std::vector<float> logits = {1, 2, 3, 4};
  const std::vector<std::int32_t> three = {0, 1, 1}, high = {0, 2};
  const std::vector<double> none, of_two(2), of_three(3);
  EXPECT_TRUE(test::throws(ErrorKind::usage, "3 labels",
                           [&] { fit_calibration(logits, three, of_three); }));
  EXPECT_TRUE(
      test::throws(ErrorKind::usage, "2 labels", [&] { fit_calibration(logits, high, of_two); }));
  const std::vector<std::int32_t> two = {0, 1};
  EXPECT_TRUE(
      test::throws(ErrorKind::usage, "2 images", [&] { fit_calibration(logits, two, of_three); }));
  EXPECT_TRUE(test::throws(ErrorKind::usage, "0 labels", [&] { fit_calibration({}, {}, none); }));
}

}  // namespace
}  // namespace weft::models

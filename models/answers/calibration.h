// SPDX-License-Identifier: MIT
// How far a classifier's answer can be trusted: probabilities that mean what they say, and a
// threshold below which an answer is "unsure".
//
//   temperature   Softmax is taken of logits / temperature, which makes the held-out labels most
//                 likely (Guo, Pleiss, Sun and Weinberger, On Calibration of Modern Neural
//                 Networks, ICML 2017). It moves no class before another.
//   threshold     The energy log(sum(exp(logits))) is low for what is unlike the training images,
//                 also where softmax is certain (Liu, Wang, Owens and Li, Energy-based
//                 Out-of-distribution Detection, NeurIPS 2020). Complicated pictures excite a
//                 network more than simple ones, so it is related to how complicated a picture is
//                 (after Serrà et al., Input Complexity and Out-of-distribution Detection with
//                 Likelihood-based Generative Models, ICLR 2020). kRefusedShare of the held-out
//                 images lie below the threshold.
//   certainty     Where pictures are known that are hard to read or show none of the classes, a
//                 logistic regression of probability and familiarity together says whether an
//                 answer is right. It takes the place of the threshold.
//
// An answer below kLeastCertain is unsure whatever was fitted.
//
// All are fitted on images that the network was not trained on. models/README.md shows what other
// scores would refuse.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace weft::models {

inline constexpr double kRefusedShare = 0.0075;
// This share of the hard pictures that are answered right is unsure. With four times as many, so
// are over 5 % of MNIST's digits. models/README.md has what it does to drawn pictures without a
// digit.
inline constexpr double kRefusedHardShare = 0.05;
inline constexpr int kCalibrationBins = 15;

// An answer is unsure where the sum of these times certainty_features(), and of the last of them,
// is below 0.
using Certainty = std::array<double, 4>;

struct Calibration {
  double temperature = 1;                                       // > 0
  double threshold = -std::numeric_limits<double>::infinity();  // of familiarity()
  std::int64_t images = 0;  // that it was fitted on; 0: nothing was fitted, nothing is unfamiliar
  std::optional<Certainty> certainty = {};  // in the place of the threshold
};

// `logits` is (images, classes), `variation` the total_variation() of each image. The temperature
// stays 1 when every label has the largest logit: then no temperature is the most likely one.
Calibration fit_calibration(std::span<const float> logits, std::span<const std::int32_t> labels,
                            std::span<const double> variation);

// The logarithm of the odds of the answer at temperature 1, the energy of the logits, and the
// square root of the variation.
std::array<double, 3> certainty_features(std::span<const float> logits, double variation);

// What tells right answers to hard pictures from wrong ones, and from those to pictures that show
// none of the classes (where `shows_class` is 0; what the label says is ignored). Right and other
// answers weigh the same in all. Then the constant is moved until kRefusedHardShare of the right
// answers are unsure. Nothing when all answers are right, or none. Sizes as for fit_calibration().
std::optional<Certainty> fit_certainty(std::span<const float> logits,
                                       std::span<const std::int32_t> labels,
                                       std::span<const std::uint8_t> shows_class,
                                       std::span<const double> variation);

// A class that has less than this is as likely as not another one.
inline constexpr double kLeastCertain = 0.5;

// Is the answer of these logits, and probabilities, to a picture of this variation unsure?
bool is_unsure(const Calibration& calibration, std::span<const double> probabilities,
               std::span<const float> logits, double variation);

// The sum of the differences between neighbouring pixels of an image (channels, height, width), 255
// being 1: in grey about twice the length of its strokes.
double total_variation(std::span<const std::uint8_t> pixels, std::int64_t height,
                       std::int64_t width);
// The energy of the logits over the square root of the variation; -infinity for a flat picture.
double familiarity(std::span<const float> logits, double variation);
// Not finite when a logit is not.
std::vector<double> softmax(std::span<const float> logits, double temperature);

// The mean distance, 0..1, between what is said and what comes true: predictions are sorted by
// their probability into kCalibrationBins bins of equal width, and each bin's accuracy is compared
// with its mean probability. `probabilities` is (images, classes).
double expected_calibration_error(std::span<const float> probabilities,
                                  std::span<const std::int32_t> labels);

}  // namespace weft::models

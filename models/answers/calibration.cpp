// SPDX-License-Identifier: MIT
#include "models/answers/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "engine/error.h"

namespace weft::models {

namespace {

// Row by row: f(row's values, its label).
template <class F>
void for_each_row(std::span<const float> values, std::span<const std::int32_t> labels, F f) {
  const std::size_t classes = labels.empty() ? 0 : values.size() / labels.size();
  if (classes == 0 || values.size() != classes * labels.size() ||
      *std::min_element(labels.begin(), labels.end()) < 0 ||
      *std::max_element(labels.begin(), labels.end()) >= static_cast<std::int64_t>(classes)) {
    throw Error(ErrorKind::usage, str("expected a row of values for each of ", labels.size(),
                                      " labels, found ", values.size(), " values"));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    f(values.subspan(i * classes, classes), static_cast<std::size_t>(labels[i]));
  }
}

std::size_t largest(std::span<const float> row) {
  return static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

// The log-likelihood of the labels is concave in 1 / temperature. This is its slope and curvature.
std::array<double, 2> derivatives(std::span<const float> logits,
                                  std::span<const std::int32_t> labels, double inverse) {
  double slope = 0, curvature = 0;
  for_each_row(logits, labels, [&](std::span<const float> row, std::size_t label) {
    const double top = row[largest(row)];
    double sum = 0, first = 0, second = 0;
    for (const float logit : row) {
      const double z = logit - top, p = std::exp(inverse * z);
      sum += p;
      first += p * z;
      second += p * z * z;
    }
    const double mean = first / sum;
    slope += row[label] - top - mean;
    curvature -= second / sum - mean * mean;
  });
  return {slope, curvature};
}

// Newton's method, kept inside a bracket that halves.
double fit_temperature(std::span<const float> logits, std::span<const std::int32_t> labels) {
  double low = 0.1, high = 10, inverse = 1;
  for (int i = 0; i < 50; ++i) {
    const auto [slope, curvature] = derivatives(logits, labels, inverse);
    (slope > 0 ? low : high) = inverse;
    double next = inverse - slope / curvature;
    if (!(next > low && next < high)) next = std::sqrt(low * high);
    if (std::fabs(next - inverse) < 1e-9 * inverse) break;
    inverse = next;
  }
  return 1 / inverse;
}

// The sum of |a[i] - b[i]|. Without other conditions compilers make one instruction of 16 of them.
int distance(const std::uint8_t* a, const std::uint8_t* b, std::size_t count) {
  int sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

}  // namespace

Calibration fit_calibration(std::span<const float> logits, std::span<const std::int32_t> labels,
                            std::span<const double> variation) {
  if (variation.size() != labels.size()) {
    throw Error(ErrorKind::usage, str("expected the variation of ", labels.size(),
                                      " images, found ", variation.size()));
  }
  Calibration calibration;
  calibration.images = std::ssize(labels);
  bool all_right = true;
  std::vector<double> scores;
  for_each_row(logits, labels, [&](std::span<const float> row, std::size_t label) {
    all_right = all_right && row[label] == row[largest(row)];
    scores.push_back(familiarity(row, variation[scores.size()]));
  });
  if (!all_right) calibration.temperature = fit_temperature(logits, labels);
  const auto below =
      static_cast<std::ptrdiff_t>(kRefusedShare * static_cast<double>(scores.size()));
  std::nth_element(scores.begin(), scores.begin() + below, scores.end());
  calibration.threshold = scores[static_cast<std::size_t>(below)];
  return calibration;
}

double total_variation(std::span<const std::uint8_t> pixels, std::int64_t height,
                       std::int64_t width) {
  const auto across = static_cast<std::size_t>(width), down = static_cast<std::size_t>(height);
  std::int64_t sum = 0;
  for (std::size_t plane = 0; plane < pixels.size(); plane += down * across) {
    for (std::size_t row = plane; row < plane + down * across; row += across) {
      const std::uint8_t* const first = pixels.data() + row;
      sum += distance(first, first + 1, across - 1);
      if (row > plane) sum += distance(first - across, first, across);
    }
  }
  return static_cast<double>(sum) / 255;
}

double familiarity(std::span<const float> logits, double variation) {
  if (variation == 0) return -std::numeric_limits<double>::infinity();
  const double top = logits[largest(logits)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return (top + std::log(sum)) / std::sqrt(variation);
}

bool is_unsure(const Calibration& calibration, std::span<const double> probabilities,
               double familiarity) {
  const double largest = *std::max_element(probabilities.begin(), probabilities.end());
  return !(largest >= kLeastCertain) || familiarity < calibration.threshold;
}

std::vector<double> softmax(std::span<const float> logits, double temperature) {
  const double top = logits[largest(logits)];
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : logits) {
    probabilities.push_back(std::exp((logit - top) / temperature));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

double expected_calibration_error(std::span<const float> probabilities,
                                  std::span<const std::int32_t> labels) {
  std::array<double, kCalibrationBins> excess{};  // sum of probability - right
  for_each_row(probabilities, labels, [&](std::span<const float> row, std::size_t label) {
    const std::size_t answer = largest(row);
    const int bin = row[answer] < 1 ? static_cast<int>(kCalibrationBins * row[answer])
                                    : kCalibrationBins - 1;  // also where it is not a number
    excess[static_cast<std::size_t>(bin)] += row[answer] - (answer == label ? 1.0 : 0.0);
  });
  double error = 0;
  for (const double bin : excess) error += std::fabs(bin);
  return error / static_cast<double>(labels.size());
}

}  // namespace weft::models

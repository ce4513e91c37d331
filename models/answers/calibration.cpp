// SPDX-License-Identifier: MIT
#include "models/answers/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>

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

// log(sum(exp(logits)))
double energy_of(std::span<const float> logits) {
  const double top = logits[largest(logits)];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return top + std::log(sum);
}

struct Example {
  std::array<double, 3> features;
  bool is_right = false;
};

double score_of(const Certainty& certainty, const std::array<double, 3>& features) {
  return std::inner_product(features.begin(), features.end(), certainty.begin(), certainty.back());
}

// Solves a x = b for a symmetric positive definite `a` by elimination.
Certainty solve(std::array<Certainty, 4> a, Certainty b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t row = i + 1; row < b.size(); ++row) {
      const double factor = a[row][i] / a[i][i];
      for (std::size_t k = i; k < b.size(); ++k) a[row][k] -= factor * a[i][k];
      b[row] -= factor * b[i];
    }
  }
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

// The log-likelihood, with right and other examples of the same weight, is concave: Newton's
// method, with a small penalty on the weights so that it ends where the two can be told apart
// without error.
Certainty logistic_regression(const std::vector<Example>& examples, std::size_t right) {
  constexpr double kPenalty = 1e-4;
  const double of_right = 0.5 / static_cast<double>(right);
  const double of_others = 0.5 / static_cast<double>(examples.size() - right);
  Certainty weights{};
  for (int step = 0; step < 50; ++step) {
    std::array<Certainty, 4> curvature{};
    Certainty slope{};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      slope[i] = -kPenalty * weights[i];
      curvature[i][i] = kPenalty;
    }
    for (const Example& example : examples) {
      const double score = score_of(weights, example.features);
      const double p = 1 / (1 + std::exp(-score)), weight = example.is_right ? of_right : of_others;
      Certainty x{};
      std::copy(example.features.begin(), example.features.end(), x.begin());
      x.back() = 1;
      for (std::size_t i = 0; i < x.size(); ++i) {
        slope[i] += weight * ((example.is_right ? 1 : 0) - p) * x[i];
        for (std::size_t k = 0; k < x.size(); ++k) {
          curvature[i][k] += weight * p * (1 - p) * x[i] * x[k];
        }
      }
    }
    const Certainty change = solve(curvature, slope);
    double largest_change = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] += change[i];
      largest_change = std::max(largest_change, std::fabs(change[i]));
    }
    if (largest_change < 1e-9) break;
  }
  return weights;
}

// The sum of |a[i] - b[i]|. Compilers make one instruction of the 16 of a block.
std::int64_t distance(const std::uint8_t* a, const std::uint8_t* b, std::size_t count) {
  constexpr std::size_t kBlock = 16;
  std::int64_t sum = 0;
  for (; count >= kBlock; count -= kBlock, a += kBlock, b += kBlock) {
    int block = 0;
    for (std::size_t i = 0; i < kBlock; ++i) block += std::abs(a[i] - b[i]);
    sum += block;
  }
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
    const std::uint8_t* const first = pixels.data() + plane;
    const std::uint8_t* const end = first + down * across;
    sum += distance(first, first + across, (down - 1) * across);
    sum += distance(first, first + 1, down * across - 1);
    for (const std::uint8_t* row = first + across; row < end; row += across) {
      sum -= std::abs(row[0] - row[-1]);  // which are no neighbours
    }
  }
  return static_cast<double>(sum) / 255;
}

double familiarity(std::span<const float> logits, double variation) {
  if (variation == 0) return -std::numeric_limits<double>::infinity();
  return energy_of(logits) / std::sqrt(variation);
}

std::array<double, 3> certainty_features(std::span<const float> logits, double variation) {
  const std::size_t answer = largest(logits);
  double others = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    others += i == answer ? 0 : std::exp(logits[i] - logits[answer]);
  }
  constexpr double kLeast = 1e-12;  // where one class is certain
  return {-std::log(std::max(others, kLeast)), energy_of(logits), std::sqrt(variation)};
}

std::optional<Certainty> fit_certainty(std::span<const float> logits,
                                       std::span<const std::int32_t> labels,
                                       std::span<const std::uint8_t> shows_class,
                                       std::span<const double> variation) {
  if (variation.size() != labels.size() || shows_class.size() != labels.size()) {
    throw Error(ErrorKind::usage, str("expected the variation of ", labels.size(),
                                      " hard images, found ", variation.size()));
  }
  std::vector<Example> examples;
  std::size_t right = 0;
  for_each_row(logits, labels, [&](std::span<const float> row, std::size_t label) {
    const std::size_t i = examples.size();
    const bool is_right = shows_class[i] != 0 && row[label] == row[largest(row)];
    right += is_right ? 1 : 0;
    examples.push_back({certainty_features(row, variation[i]), is_right});
  });
  if (right == 0 || right == examples.size()) return std::nullopt;
  Certainty certainty = logistic_regression(examples, right);
  std::vector<double> scores;  // of the right answers
  for (const Example& example : examples) {
    if (example.is_right) scores.push_back(score_of(certainty, example.features));
  }
  const auto below =
      static_cast<std::ptrdiff_t>(kRefusedHardShare * static_cast<double>(scores.size()));
  std::nth_element(scores.begin(), scores.begin() + below, scores.end());
  certainty.back() -= scores[static_cast<std::size_t>(below)];
  return certainty;
}

bool is_unsure(const Calibration& calibration, std::span<const double> probabilities,
               std::span<const float> logits, double variation) {
  const double largest = *std::max_element(probabilities.begin(), probabilities.end());
  if (!(largest >= kLeastCertain)) return true;
  if (!calibration.certainty) return familiarity(logits, variation) < calibration.threshold;
  return score_of(*calibration.certainty, certainty_features(logits, variation)) < 0;
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

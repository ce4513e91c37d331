// SPDX-License-Identifier: MIT
// compare(): the one comparison of computed values with a double oracle.
//
// It passes only when the counts are equal and above zero, the expected values are not all zero
// (unless the case says that zero is right), and every element satisfies err <= bound, written so
// that a NaN on either side fails. test_compare.cpp proves that it can fail.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>

namespace weft::test {

// |actual - expected| must be <= absolute + relative * |expected|.
struct Bound {
  double absolute = 0;
  double relative = 0;
  bool zero_is_right =
      false;  // expected may be all zero (ReLU of negatives, an exact cancellation)

  double at(double expected) const { return absolute + relative * std::fabs(expected); }
};

// Bound for a float sum of `length` products whose absolute values sum to about `magnitude`:
// rounding errors grow like sqrt(length) on random data; the factor 4 covers unlucky signs.
inline Bound sum_bound(double length, double magnitude = 1) {
  const double eps = std::numeric_limits<float>::epsilon();
  return {4 * eps * std::sqrt(length + 1) * magnitude, 4 * eps, false};
}

inline Bound exact() {
  return {0, 0, false};
}

template <class Actual, class Expected>
testing::AssertionResult compare(std::span<const Actual> actual, std::span<const Expected> expected,
                                 const Bound& bound, const std::string& what = "") {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure()
           << what << ": " << actual.size() << " values, expected " << expected.size();
  }
  if (expected.empty()) return testing::AssertionFailure() << what << ": nothing was compared";
  double norm = 0, worst = -1;
  std::size_t worst_index = 0, failures = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
    norm += std::fabs(e);
    const double error = std::fabs(a - e);
    if (!(error <= bound.at(e))) {
      ++failures;
      const double units = std::isfinite(error) ? error / (bound.at(e) + 1e-300)
                                                : std::numeric_limits<double>::infinity();
      if (units > worst) {
        worst = units;
        worst_index = i;
      }
    }
  }
  if (failures > 0) {
    return testing::AssertionFailure()
           << what << ": " << failures << " of " << expected.size() << " values differ; worst at "
           << worst_index << ": found " << static_cast<double>(actual[worst_index]) << ", expected "
           << static_cast<double>(expected[worst_index]) << ", error is " << worst
           << " times the bound";
  }
  if (!(norm > 0) && !bound.zero_is_right) {
    return testing::AssertionFailure() << what << ": the expected values are all zero";
  }
  return testing::AssertionSuccess();
}

template <class A, class E>
testing::AssertionResult compare(const A& actual, const E& expected, const Bound& bound,
                                 const std::string& what = "") {
  using Actual = typename A::value_type;
  using Expected = typename E::value_type;
  return compare<Actual, Expected>(std::span<const Actual>(actual),
                                   std::span<const Expected>(expected), bound, what);
}

}  // namespace weft::test

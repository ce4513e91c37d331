// SPDX-License-Identifier: MIT
// What the kernel tests share: sizes, bitwise equality and central differences.
#pragma once

#include <gtest/gtest.h>
#include <omp.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/device_test.h"
#include "tests/support/guarded.h"
#include "tests/support/random.h"
#include "tests/support/small.h"

namespace weft::test {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// An index of a vector.
inline std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Extents around warp, vector and block boundaries, a prime, and one that wakes several threads.
inline std::vector<std::int64_t> linear_sizes() {
  return sizes_here({1, 2, 3, 4, 5, 31, 32, 33, 1021, 1023, 1024, 1025, 2049, 40000, 100003},
                    {1, 33, 2049});
}

// NaNs compare by their bits too.
template <class T>
testing::AssertionResult same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size() || a.empty()) {
    return testing::AssertionFailure() << a.size() << " and " << b.size() << " values";
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) {
      return testing::AssertionFailure()
             << "bits differ at " << i << " of " << a.size() << ": " << a[i] << " and " << b[i];
    }
  }
  return testing::AssertionSuccess();
}

// d/dx of sum over i of dy[i] * forward(x)[i], by central differences in double.
template <class Forward>
std::vector<double> numeric_gradient(Forward forward, std::vector<double> x,
                                     const std::vector<double>& dy, double step = 1e-5) {
  std::vector<double> gradient(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double saved = x[k];
    x[k] = saved + step;
    const std::vector<double> high = forward(x);
    x[k] = saved - step;
    const std::vector<double> low = forward(x);
    x[k] = saved;
    double difference = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) difference += dy[i] * (high[i] - low[i]);
    gradient[k] = difference / (2 * step);
  }
  return gradient;
}

// Truncation is step^2 and rounding eps / step, both near 1e-10 for values near 1.
inline Bound gradient_bound() {
  return {1e-8, 1e-6, false};
}

// Runs `work` with 1 and then 3 OpenMP threads; results must not depend on it.
template <class Work>
auto with_thread_counts(Work work) {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto one = work();
  omp_set_num_threads(3);
  const auto three = work();
  omp_set_num_threads(threads);
  return std::pair(one, three);
}

#define EXPECT_USAGE_ERROR(statement, text)                            \
  try {                                                                \
    statement;                                                         \
    ADD_FAILURE() << "no error from " #statement;                      \
  } catch (const weft::Error& error) {                                 \
    EXPECT_EQ(error.kind(), weft::ErrorKind::usage);                   \
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) \
        << "message is: " << error.what();                             \
  }

}  // namespace weft::test

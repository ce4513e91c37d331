// SPDX-License-Identifier: MIT
// The comparator and the guard bands must be able to fail.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/compare.h"
#include "tests/support/guarded.h"

namespace weft::test {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Compare, AcceptsValuesWithinTheBound) {
  EXPECT_TRUE(compare(Floats{1, 2}, Doubles{1, 2.001}, Bound{0.01, 0}));
}

TEST(Compare, RefusesOneWrongValue) {
  EXPECT_FALSE(compare(Floats{1, 2, 3}, Doubles{1, 2, 3.1}, Bound{0.01, 0}));
}

TEST(Compare, RefusesNaNOnEitherSide) {
  EXPECT_FALSE(compare(Floats{1, kNaN}, Doubles{1, 2}, Bound{1e9, 1e9}));
  EXPECT_FALSE(compare(Floats{1, 2}, Doubles{1, double{kNaN}}, Bound{1e9, 1e9}));
  EXPECT_FALSE(compare(Floats{kNaN}, Doubles{double{kNaN}}, Bound{1e9, 1e9}));
}

TEST(Compare, RefusesInfinity) {
  EXPECT_FALSE(compare(Floats{1, kInfinity}, Doubles{1, 2}, Bound{1e9, 0}));
}

TEST(Compare, RefusesAnotherCount) {
  EXPECT_FALSE(compare(Floats{1}, Doubles{1, 2}, Bound{1, 0}));
}

TEST(Compare, RefusesToCompareNothing) {
  EXPECT_FALSE(compare(Floats{}, Doubles{}, Bound{1, 0}));
}

TEST(Compare, RefusesAnAllZeroExpectationUnlessToldThatZeroIsRight) {
  EXPECT_FALSE(compare(Floats{0, 0}, Doubles{0, 0}, Bound{1, 0}));
  EXPECT_TRUE(compare(Floats{0, 0}, Doubles{0, 0}, Bound{0, 0, true}));
}

TEST(Guarded, StartsPoisonedAndNoticesAWriteBesideIt) {
  const Stream stream(Device::cpu());
  Guarded<float> memory(3, stream);
  EXPECT_TRUE(std::isnan(memory.get()[0]));
  memory.data()[3] = 0;
  EXPECT_NONFATAL_FAILURE(static_cast<void>(memory.get()), "was overwritten");
}

// A kernel that goes one element too far, and so computes on the bands.
TEST(Guarded, NoticesAnOverrunThatReadsOneBandAndWritesAnother) {
  const Stream stream(Device::cpu());
  const auto overrun = [&](auto compute) {
    Guarded<float> x(Floats{1, 2}, stream), y(2, stream), in_place(Floats{3, 4}, stream);
    for (int i = 0; i < 3; ++i) compute(y.data() + i, in_place.data() + i, x.data() + i);
    EXPECT_NONFATAL_FAILURE(static_cast<void>(y.get()), "was overwritten");
    EXPECT_NONFATAL_FAILURE(static_cast<void>(in_place.get()), "was overwritten");
  };
  overrun([](float* y, float* in_place, const float* x) {
    *y = *x + 1;
    *in_place += *x;
  });
  overrun([](float* y, float* in_place, const float* x) {
    std::memcpy(y, x, sizeof(float));  // no arithmetic: the bits as they are
    *in_place *= 2;
  });
}

}  // namespace
}  // namespace weft::test

// SPDX-License-Identifier: MIT
// Taking turns, on a clock of the test's own: what drifts alike cancels, and an interval tells what
// is known of a ratio.
#include "measure/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/error.h"

namespace weft::measure {
namespace {

TEST(Interval, LeavesOutAsMuchAsTheBinomialDistributionAllows) {
  // The second to the eighth of nine values hold the median with 1 - 2 * 10 / 512.
  const Interval nine = interval_of({9, 1, 8, 2, 7, 3, 6, 4, 5});
  EXPECT_EQ(nine.low, 2);
  EXPECT_EQ(nine.median, 5);
  EXPECT_EQ(nine.high, 8);
  const Interval six = interval_of({6, 1, 5, 2, 4, 3});  // 1 - 2 / 64
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  const Interval twelve = interval_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});  // 2 * 79 / 4096
  EXPECT_EQ(twelve.low, 3);
  EXPECT_EQ(twelve.high, 10);
  const Interval two = interval_of({3, 1});
  EXPECT_EQ(two.low, 1);
  EXPECT_EQ(two.high, 3);
  EXPECT_THROW(interval_of({}), Error);
}

TEST(Interval, OneMeansThatItContainsOne) {
  EXPECT_EQ(ratio_text({0.99, 1.04, 1.06}), "1.0");
  EXPECT_EQ(ratio_text({1.03, 1.04, 1.06}), "1.04");
  EXPECT_EQ(ratio_text({0.90, 0.94, 0.97}), "0.94");
  EXPECT_EQ(ratio_text({1.001, 1.003, 1.004}), "1.003") << "it is not 1";
}

// A clock that runs slower and slower, as a GPU that gets warm: in a row after the other the second
// would look a third slower, though both do the same.
class Drift {
 public:
  Turn work(double cost) {
    return [this, cost] {
      std::vector<double> samples;
      for (int i = 0; i < 5; ++i)
        samples.push_back(cost * (1 + 0.02 * static_cast<double>(++now_)));
      return samples;
    };
  }

 private:
  int now_ = 0;
};

TEST(Alternate, ADriftThatMeetsAllAlikeCancels) {
  Drift drift;
  const std::vector<Repeats> same = alternate({drift.work(1), drift.work(1)}, 9);
  const Interval one = ratio_of(same[0].turns, same[1].turns);
  EXPECT_TRUE(one.contains(1)) << one.low << " to " << one.high;
  EXPECT_EQ(ratio_text(one), "1.0");
  // What one after the other would have told of the same drift.
  Drift again;
  const std::vector<Repeats> first = alternate({again.work(1)}, 9);
  const std::vector<Repeats> second = alternate({again.work(1)}, 9);
  EXPECT_GT(interval_of(second[0].turns).low, interval_of(first[0].turns).high);

  const std::vector<Repeats> differ = alternate({drift.work(1), drift.work(1.5)}, 9);
  const Interval half = ratio_of(differ[1].turns, differ[0].turns);
  EXPECT_FALSE(half.contains(1));
  EXPECT_NEAR(half.median, 1.5, 0.1);
}

TEST(Alternate, TakesEveryTurnForwardAndBackward) {
  std::string order;
  const auto noted = [&](char name) {
    return [&order, name] {
      order += name;
      return std::vector<double>{1, 2, 3};
    };
  };
  const std::vector<Repeats> found =
      alternate({noted('a'), noted('b'), noted('c')}, 3, [&] { order += '|'; });
  EXPECT_EQ(order, "|abc|cba|abc");
  for (const Repeats& one : found) {
    EXPECT_EQ(one.turns, std::vector<double>(3, 2.0));
    EXPECT_EQ(one.samples.size(), 9u);
    EXPECT_EQ(one.error, "");
  }
}

TEST(Alternate, WhatFailsTakesNoFurtherTurn) {
  int turns = 0;
  const std::vector<Repeats> found = alternate({[&]() -> std::vector<double> {
                                                  if (++turns == 2)
                                                    throw Error(ErrorKind::device, "no such luck");
                                                  return {1};
                                                },
                                                [] { return std::vector<double>{1}; }},
                                               4);
  EXPECT_EQ(turns, 2);
  EXPECT_EQ(found[0].error, "no such luck");
  EXPECT_EQ(found[1].turns.size(), 4u);
  EXPECT_THROW(ratio_of(found[0].turns, found[1].turns), Error);
}

}  // namespace
TEST(FastestOf, TakesTheLeastMedianOfThoseThatRun) {
  const auto taking = [](double seconds) { return [=] { return std::vector<double>{seconds}; }; };
  const Turn fails = []() -> std::vector<double> { throw Error(ErrorKind::device, "refused"); };
  int turns = 0;
  const Turn mostly_slow = [&] { return std::vector<double>{++turns == 1 ? 0.1 : 5.0}; };
  const Fastest best = fastest_of({taking(3), fails, taking(2), mostly_slow});
  EXPECT_EQ(best.index, 2u);
  EXPECT_EQ(best.seconds, 2);
  EXPECT_THROW(fastest_of({fails, fails}), Error);
  EXPECT_THROW(fastest_of({}), Error);
}

TEST(Turns, TheFastestOfAProblemIsFoundOnce) {
  int turns = 0;
  const auto taking = [&](double seconds) {
    return [&turns, seconds] {
      ++turns;
      return std::vector<double>{seconds};
    };
  };
  EXPECT_THROW(fastest_of("a product", {}), Error);
  EXPECT_EQ(fastest_of("a product", {taking(3), taking(2)}).index, 1u);
  const int taken = turns;
  EXPECT_EQ(fastest_of("a product", {taking(1), taking(2)}).index, 1u);
  EXPECT_EQ(turns, taken);
  EXPECT_EQ(fastest_of("another", {taking(1), taking(2)}).index, 0u);
}

}  // namespace weft::measure

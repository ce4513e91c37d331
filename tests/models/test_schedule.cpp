// SPDX-License-Identifier: MIT
// Learning-rate tables: exact values at the corners, monotone parts between.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/training/schedule.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::throws;

Schedule schedule_of(std::string_view kind, float peak = 0.5f) {
  Schedule schedule;
  schedule.kind = schedule_named(kind);
  schedule.peak = peak;
  return schedule;
}

TEST(Schedule, ConstantIsThePeak) {
  const auto table = tabulate(schedule_of("constant"), 3, 4);
  EXPECT_EQ(table, std::vector<float>(12, 0.5f));
}

TEST(Schedule, StepDropsAtEpochBoundaries) {
  Schedule schedule = schedule_of("step", 1.0f);
  schedule.step_every_epochs = 2;
  schedule.step_factor = 0.25f;
  const auto table = tabulate(schedule, 5, 3);
  ASSERT_EQ(table.size(), 15u);
  for (std::size_t step = 0; step < table.size(); ++step) {
    const float expected = step < 6 ? 1.0f : step < 12 ? 0.25f : 0.0625f;
    EXPECT_EQ(table[step], expected) << "step " << step;
  }
}

// A longer run must start with the same bits, or a resume with more epochs would not be exact.
TEST(Schedule, ATableThatMayLengthenBeginsAsThatOfALongerRun) {
  for (const ScheduleKind& kind : schedules()) {
    const auto shorter = tabulate(schedule_of(kind.name), 4, 7);
    const auto longer = tabulate(schedule_of(kind.name), 9, 7);
    EXPECT_EQ(std::equal(shorter.begin(), shorter.end(), longer.begin()), kind.may_lengthen)
        << kind.name;
  }
}

TEST(Schedule, CosineFallsFromPeakThroughHalfTowardsZero) {
  const auto table = tabulate(schedule_of("cosine"), 10, 10);
  EXPECT_EQ(table[0], 0.5f);
  EXPECT_FLOAT_EQ(table[50], 0.25f);
  EXPECT_GT(table[99], 0.0f);
  EXPECT_LT(table[99], 0.001f);
  EXPECT_TRUE(std::is_sorted(table.rbegin(), table.rend()));
}

TEST(Schedule, OneCycleRisesLinearlyToThePeakAndFallsToItsBottom) {
  const auto table = tabulate(schedule_of("one-cycle"), 4, 25);
  ASSERT_EQ(table.size(), 100u);
  EXPECT_FLOAT_EQ(table[0], 0.5f / 25);
  EXPECT_EQ(table[25], 0.5f);  // a quarter of 100 steps
  EXPECT_FLOAT_EQ(table[99], 0.5f / 2500);
  const float rise = table[1] - table[0];
  for (std::size_t step = 1; step <= 25; ++step) {
    EXPECT_NEAR(table[step] - table[step - 1], rise, 1e-7) << "step " << step;
  }
  EXPECT_TRUE(std::is_sorted(table.begin(), table.begin() + 26));
  EXPECT_TRUE(std::is_sorted(table.rbegin(), table.rend() - 25));
  EXPECT_FLOAT_EQ(table[62], 0.5f / 2500 + (0.5f - 0.5f / 2500) * 0.5f);  // half-way down
}

TEST(Schedule, OneCycleCornersHaveNoNaN) {
  for (const double warmup : {0.0, 0.25, 1.0}) {
    for (const std::int64_t steps : {1, 2, 3, 7}) {
      Schedule schedule = schedule_of("one-cycle");
      schedule.warmup_fraction = warmup;
      for (const float lr : tabulate(schedule, 1, steps)) {
        EXPECT_TRUE(lr > 0 && lr <= 0.5f) << lr << " with warm-up " << warmup << ", " << steps;
      }
    }
  }
}

TEST(Schedule, EmptyRunHasAnEmptyTable) {
  EXPECT_TRUE(tabulate(Schedule{}, 0, 10).empty());
  EXPECT_TRUE(tabulate(Schedule{}, 3, 0).empty());
}

TEST(Schedule, ValuesThatMakeNoSenseAreUsageErrors) {
  EXPECT_TRUE(throws(ErrorKind::usage, "the limit is", [] { tabulate({}, 1'000'000, 1'000'000); }));
  EXPECT_TRUE(throws(ErrorKind::usage, ">= 0", [] { tabulate({}, -1, 1); }));
  Schedule of_no_epoch = schedule_of("step");
  of_no_epoch.step_every_epochs = 0;
  EXPECT_TRUE(throws(ErrorKind::usage, "step of", [&] { tabulate(of_no_epoch, 1, 1); }));
}

}  // namespace
}  // namespace weft::models

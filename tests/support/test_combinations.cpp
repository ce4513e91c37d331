// SPDX-License-Identifier: MIT
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/support/combinations.h"

namespace weft::test {
namespace {

TEST(Combinations, PrintWhatWasPassedOver) {
  EXPECT_TRUE(taken("naive", true));
  EXPECT_FALSE(taken("tiled", false));
  EXPECT_FALSE(taken("tiled", false));
  testing::internal::CaptureStdout();
  combinations->finish();
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "2 of 3 combinations were not taken: tiled 2\n");
}

TEST(Combinations, OfWhichNoneWasTakenFail) {
  EXPECT_FALSE(taken("tiled", false));
  EXPECT_NONFATAL_FAILURE(combinations->finish(), "nothing was compared");
}

TEST(Combinations, ThatALoopLeftOutFail) {
  must_compare();
  EXPECT_NONFATAL_FAILURE(combinations->finish(), "nothing was compared");
  must_compare();
  EXPECT_TRUE(taken("naive", true));
  combinations->finish();
}

TEST(Combinations, ThatNobodyCountedAreNoFailure) {
  combinations->finish();
}

}  // namespace
}  // namespace weft::test

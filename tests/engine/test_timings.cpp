// SPDX-License-Identifier: MIT
#include "engine/timings.h"

#include <gtest/gtest.h>

#include <thread>

namespace weft::test {
namespace {

// In this order: once kept, timings are kept to the end of the process.
TEST(Timings, KeepsWhatIsAskedFor) {
  { const TimedScope unseen("before"); }
  EXPECT_TRUE(timings().empty());
  keep_timings();
  {
    const TimedScope outer("outer");
    const TimedScope inner("inner");
    std::thread([] { const TimedScope other("other"); }).join();
  }
  const std::vector<TimedPart> parts = timings();
  ASSERT_EQ(parts.size(), 4u);
  EXPECT_EQ(parts[0].name, "start the process");
  EXPECT_EQ(parts[1].name, "outer");
  EXPECT_EQ(parts[2].name, "inner");
  EXPECT_EQ(parts[3].name, "other");
  EXPECT_EQ(parts[1].depth, 0);
  EXPECT_EQ(parts[2].depth, 1);
  EXPECT_EQ(parts[3].depth, 0);
  EXPECT_FALSE(parts[2].beside);
  EXPECT_TRUE(parts[3].beside);
  EXPECT_GE(parts[1].seconds, parts[2].seconds);
  EXPECT_GE(parts[1].start, parts[0].start + parts[0].seconds);
  EXPECT_GE(seconds_since_start(), parts[1].start + parts[1].seconds);
  EXPECT_LT(seconds_since_start(), 600);
}

}  // namespace
}  // namespace weft::test

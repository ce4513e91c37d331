// SPDX-License-Identifier: MIT
// The type that a list of numbers ends with.
#include "data/arrays/number_list.h"

#include "tests/data/files.h"

namespace weft::data {
namespace {

NpyArray list_of(const std::vector<std::string>& numbers) {
  NumberList list;
  for (const std::string& number : numbers) EXPECT_TRUE(list.add(number)) << number;
  return list.take();
}

TEST(NumberList, IsOfIntegersUntilOneIsNone) {
  EXPECT_EQ(list_of({"1", "-2", "+3"}).dtype, "i8");
  EXPECT_EQ(list_of({"1", "18446744073709551615"}).dtype, "u8");
  EXPECT_EQ(list_of({"-1", "18446744073709551615"}).dtype, "f8");
  EXPECT_EQ(test::values_of<double>(list_of({"1", "-2", "0.5"})),
            (std::vector<double>{1, -2, 0.5}));
}

TEST(NumberList, TakesNothingElse) {
  NumberList list;
  for (const char* text : {"", "x", "1x", "0x10", "1,5", "+-1", " 1", "1 "}) {
    EXPECT_FALSE(list.add(text)) << text;
  }
  EXPECT_FALSE(list.add(std::string(kLongestToken + 1, '1')));
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace weft::data

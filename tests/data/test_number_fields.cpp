// SPDX-License-Identifier: MIT
// Lines of tables as fields, with quotes, blanks and comments.
#include "data/arrays/number_fields.h"

#include <gtest/gtest.h>

namespace weft::data {
namespace {

using Fields = std::vector<std::string_view>;

TEST(NumberFields, AreCutAtTheDelimiterOutsideOfQuotes) {
  EXPECT_EQ(fields_of("a, b ,\"c, d\"", ','), (Fields{"a", "b", "c, d"}));
  EXPECT_EQ(fields_of("1,,2", ','), (Fields{"1", "", "2"}));
  EXPECT_EQ(fields_of("1,2,\r", ','), (Fields{"1", "2"}));  // it ends the line
  EXPECT_EQ(fields_of("1\t\t2", '\t'), (Fields{"1", "", "2"}));
  EXPECT_EQ(fields_of("  1 \t 2 ", ' '), (Fields{"1", "2"}));
  EXPECT_EQ(fields_of("\"a b\" c", ' '), (Fields{"a b", "c"}));
  EXPECT_EQ(fields_of("", ','), Fields());
  EXPECT_EQ(without_comment("1,\"#2\" # 3"), "1,\"#2\" ");
  EXPECT_EQ(delimiters_in("\"a;b\",c\td"), ",\t");
  EXPECT_EQ(delimiters_in(" 1 2\t"), "");
}

TEST(NumberFields, NamesAreNoNumbers) {
  for (const char* name : {"price", "x1", "(EUR)", "_", "größe", "NA", "$"}) {
    EXPECT_TRUE(is_name(name)) << name;
  }
  for (const char* name : {"", "1", "nan", "inf", "1x", "-x", ".5", "a\x01"}) {
    EXPECT_FALSE(is_name(name)) << name;
  }
  EXPECT_TRUE(are_names({"", "value"}));
  EXPECT_FALSE(are_names({"", ""}));
  EXPECT_FALSE(are_names({"a", "2"}));
  EXPECT_TRUE(holds_two_numbers("5 2"));
  EXPECT_FALSE(holds_two_numbers("New York 2"));
}

}  // namespace
}  // namespace weft::data

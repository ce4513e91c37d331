// SPDX-License-Identifier: MIT
// Lines of a table as fields. Internal to number_text.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::data {

bool is_blank(char c);  // white space within a line

// The line up to a '#' that is not in double quotes.
std::string_view without_comment(std::string_view line);

// The fields without the blanks around them, and without their double quotes. `delimiter` is a
// character, or ' ' for any run of blanks. A delimiter may end the line.
std::vector<std::string_view> fields_of(std::string_view line, char delimiter);

// The commas, semicolons and tabs that stand in the line outside of double quotes, each once.
std::string delimiters_in(std::string_view line);

// Could the field name a column? It begins with a letter, or the like, and is no number.
bool is_name(std::string_view field);

// Is every field a name or empty, and one at least a name?
bool are_names(const std::vector<std::string_view>& fields);

bool is_number(std::string_view field);

// Does a blank part two numbers in the field?
bool holds_two_numbers(std::string_view field);

}  // namespace weft::data

// SPDX-License-Identifier: MIT
#include "data/arrays/number_fields.h"

#include <algorithm>
#include <cctype>

#include "data/arrays/number_list.h"

namespace weft::data {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Calls visit(i, c) for each character outside of double quotes, until it returns true.
template <class Visit>
void outside_quotes(std::string_view text, Visit visit) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && visit(i, text[i])) {
      return;
    }
  }
}

std::string_view unquoted(std::string_view field) {
  field = trimmed(field);
  const bool quoted = field.size() >= 2 && field.front() == '"' && field.back() == '"';
  return quoted ? trimmed(field.substr(1, field.size() - 2)) : field;
}

}  // namespace

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

std::string_view without_comment(std::string_view line) {
  std::size_t end = line.size();
  outside_quotes(line, [&](std::size_t i, char c) {
    if (c == '#') end = i;
    return c == '#';
  });
  return line.substr(0, end);
}

std::vector<std::string_view> fields_of(std::string_view line, char delimiter) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    const std::string_view field = line.substr(begin, end - begin);
    if (delimiter != ' ' || !field.empty()) fields.push_back(unquoted(field));
    begin = end + 1;
  };
  outside_quotes(line, [&](std::size_t i, char c) {
    if (delimiter == ' ' ? is_blank(c) : c == delimiter) add(i);
    return false;
  });
  if (delimiter == ' ' || !trimmed(line.substr(std::min(begin, line.size()))).empty()) {
    add(line.size());
  }
  return fields;
}

std::string delimiters_in(std::string_view line) {
  std::string found;
  outside_quotes(trimmed(line), [&](std::size_t, char c) {
    const bool delimits = c == ',' || c == ';' || c == '\t';
    if (delimits && found.find(c) == std::string::npos) found += c;
    return false;
  });
  return found;
}

bool is_number(std::string_view field) {
  return NumberList().add(field);
}

bool is_name(std::string_view field) {
  if (field.empty() || is_number(field)) return false;
  const auto first = static_cast<unsigned char>(field.front());
  const bool begins_a_number =
      std::isdigit(first) != 0 || first == '+' || first == '-' || first == '.';
  return !begins_a_number && std::all_of(field.begin(), field.end(), [](char c) {
    return std::iscntrl(static_cast<unsigned char>(c)) == 0 || c == '\t';
  });
}

bool are_names(const std::vector<std::string_view>& fields) {
  return std::any_of(fields.begin(), fields.end(), is_name) &&
         std::all_of(fields.begin(), fields.end(),
                     [](std::string_view field) { return field.empty() || is_name(field); });
}

bool holds_two_numbers(std::string_view field) {
  const std::vector<std::string_view> parts = fields_of(field, ' ');
  return parts.size() >= 2 && std::all_of(parts.begin(), parts.end(), is_number);
}

}  // namespace weft::data

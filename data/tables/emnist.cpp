// SPDX-License-Identifier: MIT
#include "data/tables/emnist.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace weft::data {
namespace {

std::string small(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The classes in the order of their labels. Balanced and bymerge have the small letters that do not
// look like their capitals.
constexpr std::string_view kCapitals = " ABCDEFGHIJKLMNOPQRSTUVWXYZ";  // letters begin at 1
constexpr std::string_view kMerged = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabdefghnqrt";
constexpr std::string_view kAll = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

std::string_view classes_of(const std::string& set) {
  const auto has = [&](std::string_view word) { return set.find(word) != std::string::npos; };
  if (has("letters")) return kCapitals;
  if (has("balanced") || has("bymerge")) return kMerged;
  return has("byclass") ? kAll : std::string_view();
}

}  // namespace

bool is_emnist(std::string_view name) {
  return small(name).starts_with("emnist");
}

std::string emnist_class(std::string_view name, std::string_view label) {
  const std::string_view classes = classes_of(small(name));
  std::size_t index = 0;
  const char* end = label.data() + label.size();
  const auto [stop, code] = std::from_chars(label.data(), end, index);
  const bool is_known = code == std::errc{} && stop == end && index < classes.size();
  return std::string(is_known && classes[index] != ' ' ? classes.substr(index, 1) : label);
}

}  // namespace weft::data

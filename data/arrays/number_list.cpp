// SPDX-License-Identifier: MIT
#include "data/arrays/number_list.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

namespace weft::data {
namespace {

template <class Whole>
bool read_whole(std::string_view text, Whole& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && code == std::errc{};
}

bool read_real(std::string_view text, double& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size() || code == std::errc::invalid_argument) return false;
  // "1e400" and "1e-400" are infinity and zero, which only strtod() says.
  if (code == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr);
  return true;
}

}  // namespace

bool NumberList::add(std::string_view text) {
  if (text.empty() || text.size() > kLongestToken) return false;
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t whole = 0;
  std::uint64_t large = 0;
  if (!real_ && read_whole(digits, whole) && !(needs_unsigned_ && whole < 0)) {
    has_negative_ = has_negative_ || whole < 0;
    append(&whole);
    return true;
  }
  if (!real_ && !has_negative_ && read_whole(digits, large)) {
    needs_unsigned_ = true;
    append(&large);
    return true;
  }
  double value = 0;
  if (!read_real(digits, value)) return false;
  become_real();
  append(&value);
  return true;
}

void NumberList::append(const void* value) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + 8);
  std::memcpy(bytes_.data() + at, value, 8);
}

void NumberList::become_real() {
  if (real_) return;
  real_ = true;
  for (std::size_t at = 0; at < bytes_.size(); at += 8) {
    std::int64_t whole = 0;
    std::memcpy(&whole, bytes_.data() + at, 8);
    const double value = needs_unsigned_ ? static_cast<double>(static_cast<std::uint64_t>(whole))
                                         : static_cast<double>(whole);
    std::memcpy(bytes_.data() + at, &value, 8);
  }
}

NpyArray NumberList::take() {
  const std::int64_t count = static_cast<std::int64_t>(bytes_.size() / 8);
  return {real_ ? "f8" : needs_unsigned_ ? "u8" : "i8", {count}, bytes_};
}

}  // namespace weft::data

// SPDX-License-Identifier: MIT
#include "data/number_text.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/error.h"
#include "engine/names.h"

namespace weft::data {
namespace {

constexpr std::size_t kLongestToken = 400;  // all digits of any double fit

bool is_separator(char c) {
  return c == ' ' || c == '\n' || c == ',' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

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

constexpr std::size_t kLongestNumber = 32;  // of what to_chars writes, with ".0"

template <class T>
char* write_number(char* to, T value) {
  char* end = std::to_chars(to, to + kLongestNumber, value).ptr;
  if constexpr (std::is_floating_point_v<T>) {
    // "55" becomes "55.0"; exponents, "nan" and "inf" are floats as they are.
    const bool whole =
        std::all_of(to, end, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
    if (whole) end = std::copy_n(".0", 2, end);
  }
  return end;
}

}  // namespace

void NumberReader::feed(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (in_comment_) {
      at = std::min(text.find('\n', at), text.size());
      in_comment_ = at == text.size();
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_separator(text[end]) && text[end] != '#') ++end;
    const std::string_view part = text.substr(at, end - at);
    if (end == text.size() || !begun_.empty()) {
      begun_ += part;
      if (begun_.size() > kLongestToken) token(begun_);  // which refuses it
    }
    if (end == text.size()) return;
    if (begun_.empty()) {
      token(part);
    } else {
      token(begun_);
      begun_.clear();
    }
    in_comment_ = text[end] == '#';
    if (text[end] == ',') comma();
    if (text[end] == '\n') {
      ++line_;
      after_number_ = false;
    }
    at = end + 1;
  }
}

void NumberReader::comma() {
  if (!std::exchange(after_number_, false)) {
    throw Error(ErrorKind::data, str(name_, ": line ", line_, ": no number before a comma"));
  }
}

void NumberReader::token(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (!text.empty() && std::exchange(begins_, false) && text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (text.empty()) return;
  after_number_ = true;
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t whole = 0;
  std::uint64_t large = 0;
  if (!real_ && read_whole(digits, whole) && !(needs_unsigned_ && whole < 0)) {
    has_negative_ = has_negative_ || whole < 0;
    return append(&whole);
  }
  if (!real_ && !has_negative_ && read_whole(digits, large)) {
    needs_unsigned_ = true;
    return append(&large);
  }
  double value = 0;
  if (text.size() > kLongestToken || !read_real(digits, value)) {
    throw Error(ErrorKind::data,
                str(name_, ": line ", line_, ": ", shown(text, 24), " is not a number"));
  }
  become_real();
  append(&value);
}

void NumberReader::append(const void* value) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + 8);
  std::memcpy(bytes_.data() + at, value, 8);
}

void NumberReader::become_real() {
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

NpyArray NumberReader::finish() {
  token(begun_);
  if (bytes_.empty()) throw Error(ErrorKind::data, str(name_, ": holds no numbers"));
  const std::int64_t count = static_cast<std::int64_t>(bytes_.size() / 8);
  return {real_ ? "f8" : needs_unsigned_ ? "u8" : "i8", {count}, std::move(bytes_)};
}

template <class T>
void append_lines(std::string& out, std::span<const T> values) {
  std::size_t used = out.size();
  out.resize(used + values.size() * (kLongestNumber + 1));
  for (const T value : values) {
    char* end = write_number(out.data() + used, value);
    *end++ = '\n';
    used = static_cast<std::size_t>(end - out.data());
  }
  out.resize(used);
}

template <class T>
std::string number_text(T value) {
  char text[kLongestNumber];
  return {text, write_number(text, value)};
}

template void append_lines(std::string&, std::span<const std::int8_t>);
template void append_lines(std::string&, std::span<const std::int16_t>);
template void append_lines(std::string&, std::span<const std::int32_t>);
template void append_lines(std::string&, std::span<const std::int64_t>);
template void append_lines(std::string&, std::span<const std::uint8_t>);
template void append_lines(std::string&, std::span<const std::uint16_t>);
template void append_lines(std::string&, std::span<const std::uint32_t>);
template void append_lines(std::string&, std::span<const std::uint64_t>);
template void append_lines(std::string&, std::span<const float>);
template void append_lines(std::string&, std::span<const double>);
template std::string number_text(std::int8_t);
template std::string number_text(std::int16_t);
template std::string number_text(std::int32_t);
template std::string number_text(std::int64_t);
template std::string number_text(std::uint8_t);
template std::string number_text(std::uint16_t);
template std::string number_text(std::uint32_t);
template std::string number_text(std::uint64_t);
template std::string number_text(float);
template std::string number_text(double);

}  // namespace weft::data

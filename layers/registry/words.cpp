// SPDX-License-Identifier: MIT
#include "layers/registry/words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "engine/error.h"
#include "engine/text.h"

namespace weft::layers {

namespace {

constexpr std::int64_t kMostExtent = 1024;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// The number that is all of `text`.
template <class Number>
std::optional<Number> whole(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string number_text(float value) {
  std::array<char, 32> text{};
  const char* end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return std::string(std::string_view(text.data(), end));
}

Words::Words(std::string_view text, std::string_view where) : rest_(text), where_(where) {
  advance();
}

void Words::fail(const Token& at, const std::string& problem) const {
  throw Error(ErrorKind::data, str(where_, ":", at.line, ":", at.column, ": ", problem));
}

void Words::fail_here(const std::string& expected) const {
  fail(token_, str("expected ", expected, ", found ",
                   token_.text.empty() ? "the end of the line" : in_quotes(token_.text)));
}

void Words::drop(std::size_t bytes) {
  rest_.remove_prefix(bytes);
  column_ += static_cast<int>(bytes);
}

void Words::advance() {
  while (!rest_.empty() && is_blank(rest_.front())) drop(1);
  if (!rest_.empty() && rest_.front() == '#') drop(std::min(rest_.find('\n'), rest_.size()));
  token_ = {{}, line_, column_};
  if (rest_.empty()) {
    at_end_ = ended_;
    ended_ = true;  // the last line ends too
    return;
  }
  if (rest_.front() == '\n') {
    drop(1);
    ++line_;
    column_ = 1;
    return;
  }
  std::size_t size = 1;
  if (rest_.front() != '{' && rest_.front() != '}') {
    size = std::min(rest_.find_first_of(" \t\r\n#{}"), rest_.size());
  }
  token_.text = rest_.substr(0, size);
  drop(size);
}

bool Words::accept(std::string_view word) {
  if (token_.text != word) return false;
  advance();
  return true;
}

std::int64_t Words::number(const char* what, std::int64_t least, std::int64_t most) {
  const auto value = whole<std::int64_t>(token_.text);
  if (!value || *value < least || *value > most) {
    fail_here(str(what, " from ", least, " to ", most));
  }
  advance();
  return *value;
}

float Words::real(const std::string& what, float least, float below) {
  const auto value = whole<float>(token_.text);
  if (!value || !(*value >= least && *value < below)) fail_here(what);
  advance();
  return *value;
}

std::pair<std::int64_t, std::int64_t> Words::extents(const char* what, std::int64_t least) {
  const std::size_t cross = token_.text.find('x');
  const auto rows = whole<std::int64_t>(token_.text.substr(0, cross));
  const auto columns =
      cross == std::string_view::npos ? rows : whole<std::int64_t>(token_.text.substr(cross + 1));
  const auto within = [&](const auto& value) {
    return value && *value >= least && *value <= kMostExtent;
  };
  if (!within(rows) || !within(columns)) {
    fail_here(str(what, " such as 3x3 or 3, each from ", least, " to ", kMostExtent));
  }
  advance();
  return {*rows, *columns};
}

}  // namespace weft::layers

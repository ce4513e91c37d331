// SPDX-License-Identifier: MIT
// Words: the text of a network word by word, for those who read the arguments of a layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft::layers {

inline constexpr std::int64_t kMostFeatures = 1 << 20;  // of one layer in a text

// A number as a text has it: the shortest that Words::real() reads as the same float.
std::string number_text(float value);

class Words {
 public:
  // A word, a brace, or the end of a line (empty text), with its place from 1.
  struct Token {
    std::string_view text;
    int line = 1, column = 1;

    bool ends_line() const { return text.empty() || text == "{" || text == "}"; }
  };

  // Stands at the first token. `where` begins every message; both texts must outlive this.
  Words(std::string_view text, std::string_view where);

  const Token& token() const { return token_; }
  bool at_end() const { return at_end_; }
  void advance();
  bool accept(std::string_view word);  // Is it the next one? Then it is taken.

  // Each takes one word, or throws Error{data}: "WHERE:LINE:COLUMN: expected WHAT ..., found ...".
  std::int64_t number(const char* what, std::int64_t least, std::int64_t most);
  float real(const std::string& what, float least, float below);
  // "3x5", or "3" for "3x3".
  std::pair<std::int64_t, std::int64_t> extents(const char* what, std::int64_t least);

  [[noreturn]] void fail(const Token& at, const std::string& problem) const;
  [[noreturn]] void fail_here(const std::string& expected) const;

 private:
  void drop(std::size_t bytes);

  std::string_view rest_, where_;
  int line_ = 1, column_ = 1;
  bool at_end_ = false, ended_ = false;
  Token token_;
};

}  // namespace weft::layers

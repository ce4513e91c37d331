// SPDX-License-Identifier: MIT
// The words of a CUDA source, as far as `weft lab` has to know them.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace weft::lab {

enum class TokenKind : unsigned char { word, number, text, mark };

// text[begin, end). A mark is one character, but for `<<<`, `::`, `->`, `<=`, `>=`, `==` and `!=`:
// `>>>` is three, because it may also close template arguments.
struct Token {
  TokenKind kind = TokenKind::mark;
  std::size_t begin = 0, end = 0;
  int line = 1;
  bool conditional = false;  // within #if, other than an include guard around the file
};

struct Include {
  std::size_t begin = 0, end = 0;  // of the name with its quotes or angle brackets
  std::string name;
  bool quoted = false;
  bool conditional = false;  // as a token's
  int line = 1;
};

// The tokens outside of comments. Those of a preprocessor line are apart, one list for each line,
// so that brackets pair up.
struct Tokens {
  std::vector<Token> code;
  std::vector<std::vector<Token>> directives;
  std::vector<Include> includes;
};

Tokens tokenize(std::string_view source);

bool one_of(std::string_view text, std::initializer_list<std::string_view> list);
// Words that round brackets follow without making a function of a declaration.
bool is_attribute(std::string_view word);

// Tokens of one list with the text that they are of.
class TokenView {
 public:
  TokenView(std::string_view source, const std::vector<Token>& tokens)
      : source_(source), tokens_(tokens) {}

  std::size_t size() const { return tokens_.size(); }
  const Token& operator[](std::size_t i) const { return tokens_[i]; }
  std::string_view text(std::size_t i) const {  // empty beyond either end
    if (i >= tokens_.size()) return {};
    return source_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  bool is(std::size_t i, std::string_view text_) const { return text(i) == text_; }
  bool is_word(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::word;
  }
  bool is_text(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::text;
  }
  // The token behind the bracket that closes the one at `i`; size() when none does. Of `<`, only
  // round and square brackets nest.
  std::size_t behind_bracket(std::size_t i) const;
  // The token that opens what the one at `i` closes; size() when none does.
  std::size_t opening_bracket(std::size_t i) const;

 private:
  std::string_view source_;
  const std::vector<Token>& tokens_;
};

}  // namespace weft::lab

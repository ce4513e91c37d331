// SPDX-License-Identifier: MIT
#include "lab/tokens.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace weft::lab {

bool one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool is_attribute(std::string_view word) {
  return one_of(word, {"__attribute__", "__align__", "alignas", "__launch_bounds__", "decltype",
                       "__declspec"});
}

namespace {

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool in_word(char c) {
  return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view source) : source_(source) {}

  Tokens run() {
    while (at_ < source_.size()) step();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool next_is(std::string_view text) const { return source_.substr(at_).starts_with(text); }
  void skip() {
    if (source_[at_++] == '\n') ++line_;
  }
  void skip_to(std::size_t end) {
    while (at_ < std::min(end, source_.size())) skip();
  }

  void step() {
    if (peek() == '\n') {
      in_directive_ = false;
      line_is_empty_ = true;
      skip();
    } else if (std::isspace(static_cast<unsigned char>(peek())) != 0) {
      skip();
    } else if (peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      skip_to(source_.find('\n', at_) + 1);  // the line goes on
    } else if (next_is("//")) {
      while (at_ < source_.size() && peek() != '\n') {
        if (peek() == '\\' && peek(1) == '\n') skip();
        skip();
      }
    } else if (next_is("/*")) {
      const std::size_t end = source_.find("*/", at_ + 2);
      skip_to(end == std::string_view::npos ? end : end + 2);
    } else if (peek() == '#' && line_is_empty_) {
      begin_directive();
    } else {
      line_is_empty_ = false;
      token();
    }
  }

  bool is_conditional() const { return conditions_ > (guarded_ ? 1 : 0); }

  void begin_directive() {
    in_directive_ = true;
    line_is_empty_ = false;
    tokens_.directives.emplace_back();
    skip();
    while (peek() == ' ' || peek() == '\t') skip();
    const std::string_view rest = source_.substr(at_);
    if (rest.starts_with("if")) ++conditions_;
    if (rest.starts_with("endif")) --conditions_;
    if (conditions_ == 1 && rest.starts_with("ifndef") && tokens_.code.empty()) guarded_ = true;
    if (rest.starts_with("include")) {
      at_ += 7;
      include_name();
    }
  }

  void include_name() {
    while (peek() == ' ' || peek() == '\t') skip();
    const char close = peek() == '"' ? '"' : peek() == '<' ? '>' : '\0';
    if (close == '\0') return;
    const std::size_t end = source_.find_first_of(std::string{close, '\n'}, at_ + 1);
    if (end == std::string_view::npos || source_[end] != close) return;
    tokens_.includes.push_back({at_, end + 1, std::string(source_.substr(at_ + 1, end - at_ - 1)),
                                close == '"', is_conditional(), line_});
    skip_to(end + 1);
  }

  void add(TokenKind kind, std::size_t end) {
    (in_directive_ ? tokens_.directives.back() : tokens_.code)
        .push_back({kind, at_, end, line_, is_conditional()});
    skip_to(end);
  }

  void token() {
    const char c = peek();
    if (starts_word(c)) {
      std::size_t end = at_;
      while (end < source_.size() && in_word(source_[end])) ++end;
      const std::string_view word = source_.substr(at_, end - at_);
      const char quote = end < source_.size() ? source_[end] : '\0';
      const bool raw = word == "R" || word == "LR" || word == "uR" || word == "UR" || word == "u8R";
      const bool prefix = word == "L" || word == "u" || word == "U" || word == "u8";
      if (raw && quote == '"') return add(TokenKind::text, end_of_raw(end));
      if (prefix && (quote == '"' || quote == '\'')) return add(TokenKind::text, end_of_text(end));
      return add(TokenKind::word, end);
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
        (c == '.' && std::isdigit(static_cast<unsigned char>(peek(1))) != 0)) {
      return add(TokenKind::number, end_of_number());
    }
    if (c == '"' || c == '\'') return add(TokenKind::text, end_of_text(at_));
    for (const std::string_view mark : {"<<<", "::", "->", "<=", ">=", "==", "!="}) {
      if (next_is(mark)) return add(TokenKind::mark, at_ + mark.size());
    }
    add(TokenKind::mark, at_ + 1);
  }

  std::size_t end_of_number() const {
    std::size_t end = at_;
    while (end < source_.size()) {
      const char c = source_[end];
      const bool sign = (c == '+' || c == '-') &&
                        std::string_view("eEpP").find(source_[end - 1]) != std::string_view::npos;
      const bool separator = c == '\'' && end + 1 < source_.size() && in_word(source_[end + 1]);
      if (!in_word(c) && c != '.' && !sign && !separator) break;
      ++end;
    }
    return end;
  }
  // The end of the literal whose quote is at `quote`.
  std::size_t end_of_text(std::size_t quote) const {
    std::size_t end = quote + 1;
    while (end < source_.size() && source_[end] != source_[quote] && source_[end] != '\n') {
      end += source_[end] == '\\' ? 2 : 1;
    }
    return std::min(end + 1, source_.size());
  }
  std::size_t end_of_raw(std::size_t quote) const {
    const std::size_t open = source_.find('(', quote);
    if (open == std::string_view::npos) return source_.size();
    const std::string close = ")" + std::string(source_.substr(quote + 1, open - quote - 1)) + "\"";
    const std::size_t end = source_.find(close, open);
    return end == std::string_view::npos ? source_.size() : end + close.size();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1, conditions_ = 0;
  bool in_directive_ = false, line_is_empty_ = true, guarded_ = false;
  Tokens tokens_;
};

}  // namespace

Tokens tokenize(std::string_view source) {
  return Tokenizer(source).run();
}

std::size_t TokenView::behind_bracket(std::size_t i) const {
  const bool angle = is(i, "<");
  int depth = 0;
  for (std::size_t at = i; at < size(); ++at) {
    const std::string_view one = text(at);
    if (one == "(" || one == "[" || one == "{" || (angle && one == "<")) ++depth;
    if (one == ")" || one == "]" || one == "}" || (angle && one == ">")) --depth;
    if (depth == 0) return at + 1;
    if (angle && one == ";") break;
  }
  return size();
}

std::size_t TokenView::opening_bracket(std::size_t i) const {
  const bool angle = is(i, ">");
  int depth = 0;
  for (std::size_t at = i + 1; at-- > 0;) {
    const std::string_view one = text(at);
    if (one == ")" || one == "]" || one == "}" || (angle && one == ">")) ++depth;
    if (one == "(" || one == "[" || one == "{" || (angle && one == "<")) --depth;
    if (depth == 0) return at;
    if (angle && (one == ";" || one == "{")) break;
  }
  return size();
}

}  // namespace weft::lab

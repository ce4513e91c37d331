// SPDX-License-Identifier: MIT
#include "lab/translate/main_function.h"

namespace weft::lab {
namespace {

// The name of main() from `i` on where it is declared or called, or the end.
std::size_t next_main(const TokenView& code, std::size_t i) {
  for (; i < code.size(); ++i) {
    const bool is_member = i > 0 && one_of(code.text(i - 1), {".", "->", "::"});
    if (code.is(i, "main") && code.is(i + 1, "(") && !is_member) break;
  }
  return i;
}

// Behind the lambda or the type that begins at `i`, which has functions of its own; else `i`.
std::size_t behind_functions(const TokenView& code, std::size_t i) {
  const bool subscript = i > 0 && (code.is_word(i - 1) || one_of(code.text(i - 1), {"]", ")"}));
  const bool lambda = code.is(i, "[") && (!subscript || code.is(i - 1, "return"));
  if (!lambda && !one_of(code.text(i), {"struct", "class", "union"})) return i;
  std::size_t at = lambda ? code.behind_bracket(i) : i + 1;
  while (at < code.size() && !one_of(code.text(at), {"{", ";", "=", ")", "}"})) {
    at = code.is(at, "(") ? code.behind_bracket(at) : at + 1;
  }
  return code.is(at, "{") ? code.behind_bracket(at) : i;
}

}  // namespace

bool has_main(const TokenView& code) {
  return next_main(code, 0) < code.size();
}

void complete_returns_of_main(const TokenView& code, Rewriting& result) {
  for (std::size_t i = next_main(code, 0); i < code.size(); i = next_main(code, i + 1)) {
    const std::size_t begin = code.behind_bracket(i + 1);
    if (i == 0 || !code.is(i - 1, "int") || !code.is(begin, "{")) continue;
    const std::size_t end = code.behind_bracket(begin);
    for (std::size_t at = begin + 1; at < end; ++at) {
      const std::size_t behind = behind_functions(code, at);
      if (behind > at) {
        at = behind - 1;
      } else if (code.is(at, "return") && code.is(at + 1, ";")) {
        result.edits.push_back({code[at].end, 0, " 0"});
      }
    }
  }
}

}  // namespace weft::lab

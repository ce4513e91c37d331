// SPDX-License-Identifier: MIT
// This file finds which kernels there are, and which of them are launched by their names.
#include "lab/translate/rewrite.h"

namespace weft::lab {
namespace {

// The words of the parameters in these brackets without their names.
std::string types_of_parameters(const TokenView& code, std::size_t open) {
  std::string types;
  const std::size_t end = code.behind_bracket(open);
  for (std::size_t at = open + 1; at < end; ++at) {
    const bool is_last = one_of(code.text(at + 1), {",", ")", "[", "="});
    const bool is_name = code.is_word(at) && is_last && at > open + 1 && !code.is(at - 1, ",");
    if (!is_name) types += std::string(code.text(at)) + " ";
  }
  return types;
}

// Does a function with a body begin at the name at `i`, which is no kernel?
bool is_function(const TokenView& code, std::size_t i) {
  const bool follows_type = i > 0 && (code.is_word(i - 1) || one_of(code.text(i - 1), {"*", "&"}));
  if (!follows_type || !code.is_word(i) || !code.is(i + 1, "(")) return false;
  if (!code.is(code.behind_bracket(i + 1), "{")) return false;
  for (std::size_t back = i; back-- > 0 && !one_of(code.text(back), {";", "}", "{"});) {
    if (code.is(back, "__global__")) return false;
  }
  return true;
}

}  // namespace

void collect_kernels(const TokenView& code, KernelNames& names) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (is_function(code, i)) names.functions.emplace(code.text(i));
    if (!code.is(i, "__global__")) continue;
    std::size_t at = i + 1;
    while (at < code.size() && !(code.is_word(at) && code.is(at + 1, "("))) ++at;
    while (at < code.size() && is_attribute(code.text(at))) {
      at = code.behind_bracket(at + 1);
      while (at < code.size() && !(code.is_word(at) && code.is(at + 1, "("))) ++at;
    }
    if (at >= code.size()) continue;
    bool deduces = false;
    for (std::size_t in = at + 1; in < code.behind_bracket(at + 1); ++in) {
      deduces = deduces || code.is(in, "=");  // a default argument
    }
    for (std::size_t back = i; back-- > 0 && !one_of(code.text(back), {";", "}", "{"});) {
      deduces = deduces || code.is(back, "template");
    }
    const std::string name(code.text(at));
    // The same kernel twice was declared before, or stands in two branches of an #if.
    const std::string types = types_of_parameters(code, at + 1);
    if (names.types.emplace(name, types).first->second != types) names.overloaded.insert(name);
    (deduces ? names.templates : names.plain).insert(name);
  }
}

}  // namespace weft::lab

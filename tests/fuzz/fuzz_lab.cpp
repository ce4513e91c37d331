// SPDX-License-Identifier: MIT
// Any text becomes C++ or is refused with a sentence and a line that it has (`weft lab`): edits lie
// within the text and move no line.
#include <algorithm>

#include "lab/translate/rewrite.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace weft;
namespace fuzz = weft::fuzz;

std::ptrdiff_t lines(std::string_view text) {
  return std::count(text.begin(), text.end(), '\n');
}

void check_sentence(std::string_view sentence) {
  fuzz::require(!sentence.empty() && lines(sentence) == 0, "a reason that is not one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::TimeLimit limit(2);
  const std::string_view source = fuzz::text_of({bytes, size});
  const lab::Tokens tokens = lab::tokenize(source);
  const lab::TokenView code(source, tokens.code);
  for (std::size_t i = 0; i < code.size(); ++i) {
    fuzz::require(code[i].begin < code[i].end && code[i].end <= size,
                  "a token outside of the text");
    fuzz::require(i == 0 || code[i - 1].end <= code[i].begin, "tokens that overlap");
  }
  lab::KernelNames kernels;
  lab::collect_kernels(code, kernels);
  lab::Rewriting result;
  lab::rewrite(source, tokens, kernels, result);
  for (const lab::Refusal& refusal : result.refusals) {
    fuzz::require(refusal.line >= 1 && refusal.line <= lines(source) + 1,
                  "a line that is not there");
    check_sentence(refusal.reason);
  }
  for (const lab::Edit& edit : result.edits) {
    fuzz::require(edit.begin <= size && edit.length <= size - edit.begin,
                  "an edit out of the text");
  }
  if (result.refusals.empty()) {
    fuzz::require(lines(lab::applied(source, result.edits)) == lines(source), "lines that moved");
  }
  return 0;
}

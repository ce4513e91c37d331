// SPDX-License-Identifier: MIT
#include "lab/ptx/ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lab/ptx/ptx_instructions.h"

namespace weft::lab {
namespace {

// "a" "b\n": what the compiler makes of neighbouring literals. PTX needs few escapes.
std::string literal_text(std::string_view quoted) {
  std::string text;
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      text += quoted[i];
      continue;
    }
    ++i;
    text += quoted[i] == 'n' || quoted[i] == 't' ? ' ' : quoted[i];
    if (quoted[i] == '\n') text.back() = ' ';
  }
  return text;
}

// What stands between the colons: constraints and expressions.
struct AsmOperand {
  std::string constraint, expression, name;
};

class Statement {
 public:
  Statement(std::string_view source, const TokenView& code, std::size_t i)
      : source_(source), code_(code), at_(i + 1) {
    while (code_.is(at_, "volatile") || code_.is(at_, "__volatile__")) ++at_;
    if (!code_.is(at_, "(")) throw std::invalid_argument("this asm statement has no brackets.");
    end_ = code_.behind_bracket(at_);
    ++at_;
  }

  std::size_t end() const { return end_; }

  std::string text() {
    while (at_ + 1 < end_ && code_.is_text(at_)) {
      template_ += literal_text(code_.text(at_++));
    }
    if (!code_.is(at_, ":") && !code_.is(at_, "::") && at_ + 1 != end_) {
      throw std::invalid_argument("the text of inline PTX has to be a plain string here.");
    }
    int list = 0;  // 1: outputs, 2: inputs, 3: what it overwrites
    while (at_ + 1 < end_) {
      if (code_.is(at_, ":") || code_.is(at_, "::")) {
        list += code_.is(at_, "::") ? 2 : 1;
        ++at_;
      } else if (list == 1 || list == 2) {
        operand(list == 1);
      } else {
        ++at_;
      }
    }
    std::string out = "do { namespace weft_ptx = ::weft::host_cuda::lab::ptx; ";
    out += declarations_;
    for (const PtxInstruction& one : parse_ptx(template_, names_)) out += cpp_of(one);
    return out + "} while (false)";
  }

 private:
  void operand(bool output) {
    std::string name;
    if (code_.is(at_, "[")) {
      name = std::string(code_.text(at_ + 1));
      at_ = code_.behind_bracket(at_);
    }
    if (code_.is(at_, ",")) {
      ++at_;
      return;
    }
    if (!code_.is_text(at_) || !code_.is(at_ + 1, "(")) {
      throw std::invalid_argument("an operand of inline PTX is \"constraint\"(expression).");
    }
    const std::size_t open = at_ + 1, close = code_.behind_bracket(open);
    std::string expression(
        source_.substr(code_[open].begin, code_[close - 1].end - code_[open].begin));
    for (std::size_t line = 0; (line = expression.find('\n', line)) != std::string::npos;) {
      if (line > 0 && expression[line - 1] == '\\') expression[line - 1] = ' ';
      expression[line] = ' ';
    }
    const std::size_t number = names_.size();
    // An input is a value; arrays become pointers.
    declarations_ += fmt::format("auto{} weft_{} = {}; ", output ? "&&" : "", number, expression);
    names_.push_back(name);
    at_ = close;
  }

  std::string_view source_;
  const TokenView& code_;
  std::size_t at_, end_ = 0;
  std::string template_, declarations_;
  std::vector<std::string> names_;  // of the operands
};

}  // namespace

PtxStatement translate_ptx(std::string_view source, const TokenView& code, std::size_t i) {
  PtxStatement result;
  try {
    Statement statement(source, code, i);
    result.end = statement.end();
    result.text = statement.text();
  } catch (const std::invalid_argument& reason) {
    result.refusal = reason.what();
  }
  return result;
}

}  // namespace weft::lab

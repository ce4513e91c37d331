// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <stdexcept>

#include "lab/ptx/ptx_instructions.h"

namespace weft::lab {
namespace {

// As words: a dot is an underscore here.
constexpr std::string_view kSpecialRegisters[] = {"laneid",
                                                  "warpid",
                                                  "nwarpid",
                                                  "smid",
                                                  "nsmid",
                                                  "gridid",
                                                  "clock",
                                                  "clock_hi",
                                                  "clock64",
                                                  "globaltimer",
                                                  "globaltimer_lo",
                                                  "lanemask_eq",
                                                  "lanemask_lt",
                                                  "lanemask_le",
                                                  "lanemask_gt",
                                                  "lanemask_ge",
                                                  "tid_x",
                                                  "tid_y",
                                                  "tid_z",
                                                  "ntid_x",
                                                  "ntid_y",
                                                  "ntid_z",
                                                  "ctaid_x",
                                                  "ctaid_y",
                                                  "ctaid_z",
                                                  "nctaid_x",
                                                  "nctaid_y",
                                                  "nctaid_z",
                                                  "dynamic_smem_size"};
constexpr std::size_t kMostRegisters = 4096;  // of one name<COUNT>
constexpr int kDeepestOperand = 8;            // brackets in brackets; PTX itself has three

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class Parser {
 public:
  Parser(std::string_view text, const std::vector<std::string>& names)
      : text_(text), names_(names) {}

  std::vector<PtxInstruction> run() {
    while (skip(), at_ < text_.size()) {
      if (take('{') || take('}') || take(';')) continue;
      if (text_.substr(at_).starts_with(".reg")) {
        declare();
      } else {
        instruction();
      }
    }
    return std::move(found_);
  }

 private:
  void skip() {
    for (;;) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      const std::string_view rest = text_.substr(at_);
      const char* end = rest.starts_with("//") ? "\n" : rest.starts_with("/*") ? "*/" : nullptr;
      if (end == nullptr) return;
      const std::size_t found = rest.find(end);
      at_ = found == std::string_view::npos ? text_.size()
                                            : at_ + found + std::string_view(end).size();
    }
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) {
      throw std::invalid_argument(fmt::format(
          "this PTX is not understood: expected '{}' before '{}'.", c, text_.substr(at_, 20)));
    }
  }
  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  static std::optional<std::size_t> number(std::string_view text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  // .reg .pred p, q;   .reg .b32 r<4>;
  void declare() {
    at_ += 4;
    expect('.');
    const std::string type = word();
    PtxInstruction out;
    do {
      take('%');
      const std::string name = word();
      std::optional<std::size_t> count;
      if (take('<')) {
        count = number(word());
        expect('>');
        if (!count || *count > kMostRegisters) {
          throw std::invalid_argument(fmt::format(
              "inline PTX declares {0}<N> with an N from 0 to {1} here.", name, kMostRegisters));
        }
      }
      for (std::size_t i = 0; i < count.value_or(1); ++i) {
        const std::string one = count ? fmt::format("{}{}", name, i) : name;
        registers_[one] = type == "pred";
        out.declaration += fmt::format("unsigned long long weft_r_{} = 0; ", one);
      }
    } while (take(','));
    expect(';');
    if (!out.declaration.empty()) found_.push_back(out);  // r<0> declares none
  }

  void instruction() {
    PtxInstruction out;
    if (take('@')) {
      out.guard = operand();
      if (out.guard.text.empty()) throw std::invalid_argument("a guard of PTX is @p or @!p.");
    }
    out.parts.push_back(word());
    if (out.parts[0].empty()) {
      throw std::invalid_argument(
          fmt::format("this PTX is not understood: '{}'.", text_.substr(at_, 20)));
    }
    if (take(':')) throw std::invalid_argument("inline PTX with labels is not there.");
    while (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      std::string part = word();
      while (text_.substr(at_).starts_with("::")) {  // L2::128B
        at_ += 2;
        part += "::" + word();
      }
      out.parts.push_back(part);
    }
    if (!take(';')) {
      do out.operands.push_back(operand());
      while (take(','));
      skip();
      if (at_ < text_.size()) expect(';');
    }
    found_.push_back(std::move(out));
  }

  PtxOperand operand(int depth = 0) {
    if (depth > kDeepestOperand) {
      throw std::invalid_argument("this PTX is not understood: its brackets lie too deep.");
    }
    PtxOperand out;
    if (take('{')) {
      do out.list.push_back(operand(depth + 1));
      while (take(','));
      expect('}');
      return out;
    }
    if (take('[')) {
      out = operand(depth + 1);
      out.memory = true;
      if (take('+')) out.offset = word();
      if (take('-')) out.offset = "-" + word();
      expect(']');
      return out;
    }
    out.negated = take('!');
    if (take('|')) return out;
    skip();
    if (at_ < text_.size() &&
        (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-')) {
      const std::string sign = take('-') ? "-" : "";
      std::string number = word();
      const bool is_float = number.starts_with("0f") || number.starts_with("0F");
      const bool is_double = number.starts_with("0d") || number.starts_with("0D");
      if (is_float || is_double) {
        number = "0x" + number.substr(2) + (is_float ? "u" : "ull");
      } else if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        number += "." + word();
      } else if (number.ends_with("U")) {
        number.pop_back();
      }
      out.text = sign + number;
      return out;
    }
    out.text = name(out.is_predicate);
    if (take('|')) {
      bool ignored = false;
      out.predicate = name(ignored);
    }
    return out;
  }

  // %0, %name of an operand, %laneid, or a register that was declared.
  std::string name(bool& is_predicate) {
    skip();
    bool percent = false;
    while (at_ < text_.size() && text_[at_] == '%') {
      percent = true;
      ++at_;
    }
    if (percent && take('[')) {
      const std::string wanted = word();
      expect(']');
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i] == wanted) return fmt::format("weft_{}", i);
      }
      throw std::invalid_argument(fmt::format("no operand of inline PTX is named '{}'.", wanted));
    }
    std::string text = word();
    if (const auto found = registers_.find(text); found != registers_.end()) {
      is_predicate = found->second;
      return "weft_r_" + text;
    }
    if (percent && !text.empty()) {
      const bool number = std::isdigit(static_cast<unsigned char>(text[0])) != 0;
      return number ? numbered(text) : special(std::move(text));
    }
    if (text == "_") {  // what goes there is not kept
      if (registers_.try_emplace("_", false).second) {
        found_.emplace_back().declaration = "unsigned long long weft_r__ = 0; ";
      }
      return "weft_r__";
    }
    throw std::invalid_argument(
        fmt::format("this PTX is not understood: '{}'.",
                    text.empty() ? std::string(text_.substr(at_, 20)) : text));
  }
  std::string numbered(const std::string& text) const {
    const std::optional<std::size_t> index = number(text);
    if (!index || *index >= names_.size()) {
      throw std::invalid_argument(fmt::format("inline PTX has no operand %{}.", text));
    }
    return fmt::format("weft_{}", *index);
  }
  std::string special(std::string text) {
    while (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      text += "_" + word();
    }
    for (const std::string_view one : kSpecialRegisters) {
      if (text == one) return fmt::format("weft_ptx::special_{}()", text);
    }
    throw std::invalid_argument(
        fmt::format("the lab does not have the special register '%{}' of PTX.", text));
  }

  std::string_view text_;
  const std::vector<std::string>& names_;
  std::size_t at_ = 0;
  std::map<std::string, bool> registers_;  // declared: predicates?
  std::vector<PtxInstruction> found_;
};

}  // namespace

std::string PtxInstruction::opcode() const {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ".") + part;
  return text;
}

std::vector<PtxInstruction> parse_ptx(std::string_view text,
                                      const std::vector<std::string>& names) {
  return Parser(text, names).run();
}

}  // namespace weft::lab

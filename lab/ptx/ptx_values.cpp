// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "lab/ptx/ptx_values.h"

namespace weft::lab {
// The C++ type of ".u32", or nothing.
std::string_view type_of(std::string_view part) {
  constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
      {"u8", "unsigned char"},    {"s8", "signed char"},
      {"b8", "unsigned char"},    {"u16", "unsigned short"},
      {"s16", "short"},           {"b16", "unsigned short"},
      {"u32", "unsigned"},        {"s32", "int"},
      {"b32", "unsigned"},        {"u64", "unsigned long long"},
      {"s64", "long long"},       {"b64", "unsigned long long"},
      {"f32", "float"},           {"f64", "double"},
      {"pred", "bool"},           {"f16", "weft_ptx::Half"},
      {"bf16", "weft_ptx::Bf16"}, {"tf32", "weft_ptx::Tf32"}};
  for (const auto& [name, type] : kTypes) {
    if (part == name) return type;
  }
  return "";
}

void unknown(const PtxInstruction& one) {
  throw std::invalid_argument(fmt::format(
      "the lab does not have the PTX instruction '{}'; docs/lab.md lists those that it has.",
      one.opcode()));
}

bool has(const PtxInstruction& one, std::string_view part) {
  return std::find(one.parts.begin(), one.parts.end(), part) != one.parts.end();
}

const PtxOperand& operand(const PtxInstruction& one, std::size_t i) {
  if (i >= one.operands.size()) {
    throw std::invalid_argument(
        fmt::format("the PTX instruction '{}' has too few operands.", one.opcode()));
  }
  return one.operands[i];
}

std::string value(const PtxOperand& from, std::string_view type) {
  const std::string text = fmt::format("weft_ptx::as<{}>({})", type, from.text);
  return from.negated ? "!" + text : text;
}
std::string value(const PtxInstruction& one, std::size_t i, std::string_view type) {
  return value(operand(one, i), type);
}
std::string put(const PtxOperand& to, const std::string& expression) {
  return fmt::format("weft_ptx::put({}, {}); ", to.text, expression);
}

std::string type_or_unknown(const PtxInstruction& one, std::size_t from_end) {
  const std::string_view type =
      one.parts.size() > from_end ? type_of(one.parts[one.parts.size() - from_end]) : "";
  if (type.empty()) unknown(one);
  return std::string(type);
}

std::string fence_of(const PtxInstruction& one) {
  return has(one, "cta") ? "__threadfence_block(); " : "__threadfence(); ";
}

}  // namespace weft::lab

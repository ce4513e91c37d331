// SPDX-License-Identifier: MIT
// Instructions of PTX, and the C++ that does what they say. Both functions throw
// std::invalid_argument, with a sentence, for what the lab does not have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::lab {

struct PtxOperand {
  std::string text;              // a C++ name or a number; of a memory operand its address
  std::vector<PtxOperand> list;  // of {a, b}
  std::string offset;            // bytes behind the address, or empty
  std::string predicate;         // of d|p, the second
  bool memory = false;           // [address]
  bool negated = false;          // !p
  bool is_predicate = false;     // declared as .pred
};

struct PtxInstruction {
  PtxOperand guard;                // @p, or an empty text
  std::vector<std::string> parts;  // "ld", "global", "f32"
  std::vector<PtxOperand> operands;
  std::string declaration;  // of registers, instead of all that
  std::string opcode() const;
};

// `names` are those of the operands of the asm statement, most of them empty: %0 is weft_0.
std::vector<PtxInstruction> parse_ptx(std::string_view text, const std::vector<std::string>& names);
std::string cpp_of(const PtxInstruction& instruction);

}  // namespace weft::lab

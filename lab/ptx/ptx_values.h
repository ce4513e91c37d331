// SPDX-License-Identifier: MIT
// Operands of PTX as C++ expressions. Internal.
#pragma once

#include "lab/ptx/ptx_instructions.h"

namespace weft::lab {

std::string_view type_of(std::string_view part);  // the C++ type of "u32", or nothing
std::string type_or_unknown(const PtxInstruction& one, std::size_t from_end = 1);
[[noreturn]] void unknown(const PtxInstruction& one);
bool has(const PtxInstruction& one, std::string_view part);
const PtxOperand& operand(const PtxInstruction& one, std::size_t i);
std::string value(const PtxOperand& from, std::string_view type);
std::string value(const PtxInstruction& one, std::size_t i, std::string_view type);
std::string put(const PtxOperand& to, const std::string& expression);  // a statement

std::string memory_cpp(const PtxInstruction& one);  // nothing: it is none of memory's

// A fence of the scope that the instruction names.
std::string fence_of(const PtxInstruction& one);

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
// Inline PTX: an asm statement becomes C++ that calls lab/api/ptx.h.
#pragma once

#include <string>

#include "lab/tokens.h"

namespace weft::lab {

struct PtxStatement {
  std::size_t end = 0;  // the token behind the closing bracket
  std::string text;     // in one line, without a semicolon behind it
  std::string refusal;  // a sentence, if the lab cannot do it
};

// The statement whose word `asm` is token `i`.
PtxStatement translate_ptx(std::string_view source, const TokenView& code, std::size_t i);

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
// The program's main().
#pragma once

#include "lab/translate/rewrite.h"

namespace weft::lab {

bool has_main(const TokenView& code);

// `return;` in main() becomes `return 0;`, as nvcc makes it. In another function it is an error.
void complete_returns_of_main(const TokenView& code, Rewriting& result);

}  // namespace weft::lab

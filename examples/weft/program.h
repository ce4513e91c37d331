// SPDX-License-Identifier: MIT
// The program as a function, for those who link it into something else: the Python package does.
#pragma once

#include <string>
#include <vector>

namespace weft::cli {

// Runs `weft ARGUMENTS...` in this process and returns its exit code (docs/exit-codes.md). An error
// is printed as one line on stderr, and nothing is thrown.
int run_program(const std::vector<std::string>& arguments);

}  // namespace weft::cli

// SPDX-License-Identifier: MIT
// Names for addresses of this program: functions and variables from its symbol table, source lines
// from its debug information.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::host_cuda {

struct Variable {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name;  // "tile"
};

// The static __shared__ variables, by address.
const std::vector<Variable>& shared_variables();
// The one that the address is in or behind; null before the first.
const Variable* nearest_shared_variable(std::uintptr_t address);

bool in_program(std::uintptr_t address);  // in code or data of the executable

// "reduce_kernel<float>" for the address of a function.
std::string function_name(const void* function);
// "kernels/reduce/interleaved.cu:31", and where that was inlined, for a return address.
std::string source_line(const void* site);

}  // namespace weft::host_cuda

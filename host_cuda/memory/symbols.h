// SPDX-License-Identifier: MIT
// Names for addresses of this program: functions and variables from its symbol table, source lines
// from its debug information.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::host_cuda {

class Call;

struct Variable {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::string name;  // "tile"
};

// The static __shared__ variables, the __device__ and the __constant__ ones, by address.
const std::vector<Variable>& shared_variables();
const std::vector<Variable>& device_variables();
const std::vector<Variable>& constant_variables();
std::size_t shared_bytes_of(const void* kernel);  // without variables of functions that it calls
std::size_t constant_bytes();                     // of all __constant__ variables
// Processes that this one forks write to the same __device__ variables (arena.h).
void share_device_variables();
// The one that the address is in or behind; null before the first.
const Variable* nearest_shared_variable(std::uintptr_t address);

// The __constant__ variable that the address is in or right behind; null elsewhere.
const Variable* constant_at(std::uintptr_t address);

bool in_program(std::uintptr_t address);  // in code or data of the executable

// "reduce_kernel<float>" for the address of a function.
std::string function_name(const void* function);
// The name of a call's kernel.
std::string kernel_name(const Call& call);
inline constexpr const char* kUnknownLine = "an unknown line";
// "kernels/reduce/rungs/interleaved.cu:31", and where that was inlined, for a return address.
std::string source_line(const void* site);
// The text of a file that source_line() names, from the sources of this build or of an installed
// package; empty where it is in neither.
std::string source_text(const std::string& file);
// Looks up those of many return addresses at once, so that source_line() knows them.
void find_source_lines(const std::vector<const void*>& sites);

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// The host compiler and the lab's own files, with which programs are compiled and linked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/compile/folders.h"

namespace weft::lab {

struct Toolchain {
  std::filesystem::path lab;  // the folder with the headers, the library and the linker script
  std::string cxx;            // the compiler's path
  bool is_clang = false;
  std::vector<std::string> libraries;  // of host-cuda, by their paths: Boost.Context
  std::string state;  // another text when the compiler or a file of the lab is another one
};

// `weft` is this program, beside or above which the lab's folder is. $CXX chooses the compiler.
// Throws usage when this Weft was built without the lab, or no compiler is found.
Toolchain find_toolchain(const std::filesystem::path& weft);

// The words that every compilation begins with: the compiler, the instrumentation that host-cuda
// relies on, and the lab's headers.
std::vector<std::string> first_words(const Toolchain& tools);

// The lab's header in front of every program, as a word for -include. `begin` are all words that
// change what it means. It is compiled once for them and kept in the cache: g++ takes what it has
// made of it, but where a program's macros change what it means.
std::filesystem::path precompiled_header(const Toolchain& tools, const std::filesystem::path& cache,
                                         const std::vector<std::string>& begin);
// The same header as it is.
inline constexpr const char* kLabHeader = "lab/api/lab.h";
// And one behind it, in sources for host compilers.
inline constexpr const char* kHostSourceHeader = "lab/runtime/host_source.h";

// The command that links a program from these objects, archives and -l words.
std::vector<std::string> link_command(const Toolchain& tools,
                                      const std::vector<std::string>& inputs, bool openmp,
                                      const std::filesystem::path& program);

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
// From sources to objects of host-cuda: each is translated and compiled by itself, several at once,
// and kept by the contents of all that it is made of.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lab/compile/compile.h"
#include "lab/compile/toolchain.h"

namespace weft::lab {

struct SourceFile {
  std::filesystem::path path;
  bool is_c = false;     // compiled as C
  bool is_host = false;  // C++ for a host compiler, which does not define __CUDACC__
};
bool is_c(const std::filesystem::path& path);

struct ObjectFile {
  std::filesystem::path path;
  bool openmp = false;
};

struct Compilation {
  CompilerFlags flags;
  bool openmp_by_source = true;  // also where a source has a pragma of OpenMP's
  bool needs_main = false;       // one of the sources has to have main()
  std::filesystem::path keep;    // where what is made stays; empty: objects are in the cache
  bool dry = false;              // the commands are printed on stderr, and nothing is compiled
  Tell tell;                     // told of notes
};

// The objects of these sources, in their order. Throws usage when there is no main(), or when a
// source does not compile: the compiler has said why at the lines of the source.
std::vector<ObjectFile> compile_sources(const Toolchain& tools,
                                        const std::vector<SourceFile>& sources,
                                        const Compilation& how);

// What the compiler sees of a source behind the preprocessor.
std::string preprocessed(const Toolchain& tools, const SourceFile& source, const Compilation& how);

// What a program is linked from.
struct LinkInputs {
  std::vector<std::string> words;              // objects, archives, -l and -L
  std::map<std::string, std::string> sources;  // by the path of an object of the lab's cache
  bool openmp = false;
  std::string name;  // of the program in messages
};
LinkInputs link_inputs(const std::vector<SourceFile>& sources,
                       const std::vector<ObjectFile>& objects);
// Throws usage when that fails: the linker's messages have been printed, without the lab's names.
void link_program(const Toolchain& tools, const LinkInputs& inputs,
                  const std::filesystem::path& program);

}  // namespace weft::lab

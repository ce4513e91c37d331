// SPDX-License-Identifier: MIT
// weft lab nvcc: the lab in nvcc's place, for a course's own build.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/compile/compile.h"
#include "lab/compile/objects.h"

namespace weft::lab {

// What a call of nvcc asks for.
struct NvccCall {
  enum class Task : unsigned char {
    program,       // compiles and links
    run,           // the same, and runs the program
    objects,       // -c, -dc
    device_link,   // -dlink: an object that says nothing
    archive,       // -lib
    preprocess,    // -E
    dependencies,  // -M, -MM
    version
  };
  Task task = Task::program;
  CompilerFlags flags;
  std::string output;
  std::vector<SourceFile> sources;
  std::vector<std::string> inputs;     // objects, archives and -l words, in their order
  std::vector<std::string> arguments;  // of the program that -run runs
  bool writes_dependencies = false;    // -MD, -MMD: beside the object
  bool phony = false;                  // -MP
  std::string dependency_file;
  std::vector<std::string> targets;  // -MT, -MQ
  bool verbose = false, dry = false;
  std::vector<std::string> ignored;
};

// Throws usage for a flag that nvcc does not have, and for what the lab cannot make.
NvccCall read_nvcc_call(const std::vector<std::string>& words);

// The words of a text, quoted as a shell has it.
std::vector<std::string> split_words(const std::string& text);
// The words of a response file. Throws data when it cannot be read.
std::vector<std::string> words_of_file(const std::string& name);

// Does what nvcc does with these words, for host-cuda. Returns the exit code; throws as the parts
// do. `weft` is this program.
int run_nvcc(const std::vector<std::string>& words, const std::filesystem::path& weft,
             const Tell& tell);
// Has the lab compiled this object, or one in this archive?
bool holds_lab_code(const std::string& name);
// Stands in for a host compiler, such as g++. What includes CUDA's headers, and a program of the
// lab's objects or of CUDA's runtime, is compiled and linked as run_nvcc() does it, and else the
// compiler runs.
int run_host_compiler(const std::string& name, const std::vector<std::string>& words,
                      const std::filesystem::path& weft, const Tell& tell);

}  // namespace weft::lab

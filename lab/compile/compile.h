// SPDX-License-Identifier: MIT
// From a student's program to one that runs, for host-cuda or for the machine's GPU.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/compile/folders.h"

namespace weft::lab {

// What a compiler is told, beside the files.
struct CompilerFlags {
  std::vector<std::string> folders, definitions;  // -I and -D
  std::vector<std::string> passed_on;             // words for the compiler as they are
  std::vector<std::string> libraries;             // -L, -l and -Wl words
  std::string standard = "gnu++17";               // nvcc's default
  bool openmp = false;
};

struct LabRun : CompilerFlags {
  std::string file;                    // the program, or the first of its sources
  std::vector<std::string> more;       // its other sources
  std::vector<std::string> arguments;  // of the program
  std::string device = "host-cuda", keep, watch;
  std::string stop = "kernel", json, sarif;
  std::vector<std::string> allow;  // kinds of findings that are notes
  bool strict = false;             // the kinds that are notes are findings
  std::string check;               // "all", or seconds of checks; empty: as the environment says
  std::int64_t schedules = 1;
  std::optional<std::int64_t> jobs;  // processes for the blocks of a grid; else one for each core
  bool counts = false, gdb = false;
  std::filesystem::path weft;  // this program, beside or above which the lab's folder is
  Tell tell;                   // told of notes and of what is out of the ordinary
};

// Takes nvcc's flags in front of the first word that is none: they set what they mean here, and one
// line of `run.tell` names those that mean nothing. Throws usage for one that lacks its value.
void take_nvcc_flags(std::vector<std::string>& words, LabRun& run);
// Takes the flag of nvcc at words[at] when it is one that says how to compile or link; `at` is its
// last word then. What means nothing here is added to `ignored`.
bool take_nvcc_flag(const std::vector<std::string>& words, std::size_t& at, CompilerFlags& flags,
                    std::vector<std::string>& ignored);
void tell_ignored(const std::vector<std::string>& ignored, const Tell& tell);
// The value of a flag that takes one: behind `=`, at once behind a short one, or the next word.
bool take_value(const std::vector<std::string>& words, std::size_t& at,
                std::initializer_list<std::string_view> names, std::string& value);

// Is this the name of a source of C, C++ or CUDA?
bool is_source(std::string_view name);

// The finished program. It and the object of each of its sources are kept in the user's cache, by
// the contents of all that they are made of. Throws usage when the program does not compile; the
// compiler has said why.
std::filesystem::path compile_for_host_cuda(const LabRun& run);

// Compiles the program as it is with nvcc, runs it on the GPU, and says how long it took. Throws
// device where there is no nvcc or no GPU.
int run_on_gpu(const LabRun& run);

}  // namespace weft::lab

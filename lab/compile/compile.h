// SPDX-License-Identifier: MIT
// From a student's program to one that runs, for host-cuda or for the machine's GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lab/compile/folders.h"

namespace weft::lab {

struct LabRun {
  std::string file;                    // the program, or the first of its sources
  std::vector<std::string> more;       // its other sources
  std::vector<std::string> arguments;  // of the program
  std::string device = "host-cuda", keep, watch;
  std::vector<std::string> folders, definitions;  // -I and -D
  std::string standard = "gnu++17";               // nvcc's default
  bool openmp = false;                            // also where a source has it
  std::int64_t schedules = 1;
  std::optional<std::int64_t> jobs;  // processes for the blocks of a grid; else one for each core
  bool counts = false, gdb = false;
  std::filesystem::path weft;  // this program, beside or above which the lab's folder is
  Tell tell;                   // told of notes and of what is out of the ordinary
};

// Takes nvcc's flags in front of the first word that is none: they set what they mean here, and one
// line of `run.tell` names those that mean nothing. Throws usage for one that lacks its value.
void take_nvcc_flags(std::vector<std::string>& words, LabRun& run);

// The finished program. It is kept in the user's cache, by the contents of all that it is made of.
// Throws usage when the program does not compile; the compiler has said why.
std::filesystem::path compile_for_host_cuda(const LabRun& run);

// Compiles the program as it is with nvcc, runs it on the GPU, and says how long it took. Throws
// device where there is no nvcc or no GPU.
int run_on_gpu(const LabRun& run);

// Runs a program to its end, with these words; returns its exit code, or 128 and the number of the
// signal that ended it. Until then Ctrl-C, SIGTERM and SIGHUP go to the program.
int run_program(const std::vector<std::string>& words);
// The same for a compiler or the like: when a signal ends this program, the tool and what it has
// started end as well. `output`: its standard output and error, else these are its parent's.
int run_tool(const std::vector<std::string>& words, std::string* output = nullptr);
// The path of a command, empty when it is not there.
std::string find_command(const std::string& name);

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
// Starting other programs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::lab {

// Runs a program to its end, with these words; returns its exit code, or 128 and the number of the
// signal that ended it. Until then Ctrl-C, SIGTERM and SIGHUP go to the program.
int run_program(const std::vector<std::string>& words);

struct ToolResult {
  int code = -1;  // as run_program() returns it; -1 when the tool was not started
  std::string output;
};
// Runs compilers or the like to their ends, at most `at_once` at a time, and returns what each has
// printed on standard output and error. When a signal ends this program, the tools and what they
// have started end as well. Once a tool has failed, no other one is started.
std::vector<ToolResult> run_tools(const std::vector<std::vector<std::string>>& commands,
                                  std::size_t at_once);
// One tool. Without `output`, its standard output and error are its parent's.
int run_tool(const std::vector<std::string>& words, std::string* output = nullptr);

// The folder of the lab shell that this process runs in ($WEFT_LAB_SHELL; see nvcc/shell.h); empty
// outside of one.
std::filesystem::path shell_folder();

// The path of a command, empty when it is not there. PATH's relative folders are not searched. A
// name with a slash is a path as it is, but for that of a stand-in of the shell's, which is never
// found: the command behind it is.
std::string find_command(const std::string& name);

// As a line for a shell.
std::string joined(const std::vector<std::string>& words);

}  // namespace weft::lab

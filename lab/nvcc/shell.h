// SPDX-License-Identifier: MIT
// weft lab shell: a shell in which nvcc is the lab.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/compile/folders.h"

namespace weft::lab {

// Runs this command, or the user's shell where there is none, with the lab's nvcc in front of PATH,
// and returns its exit code. The stand-ins are in a folder of the lab's cache with the layout of a
// toolkit, to which $CUDA_PATH and $CUDA_HOME point. It stays, because CMake remembers it. Throws
// usage where this Weft or this machine cannot compile for the lab.
int run_shell(const std::vector<std::string>& command, const std::filesystem::path& weft,
              const Tell& tell);

// Has a lab shell, or `weft lab run`, made this program?
bool is_lab_program(const std::filesystem::path& file);

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
// weft lab shell: a shell in which nvcc is the lab.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/compile/folders.h"

namespace weft::lab {

// The folder with the stand-ins of the lab shell that this process runs in; empty outside of one.
std::filesystem::path stand_in_folder();

}  // namespace weft::lab

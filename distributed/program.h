// SPDX-License-Identifier: MIT
// Tells what program this is.
#pragma once

#include <string>

namespace weft::distributed {

// A hash of the file that holds this code, so that ranks of different builds tell each other apart.
std::string program_fingerprint();

// The folder of that file: where the program's own libraries lie.
std::string program_folder();

}  // namespace weft::distributed

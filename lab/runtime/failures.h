// SPDX-License-Identifier: MIT
// What a program of `weft lab` is told of failures and mistakes of its host code.
#pragma once

#include <string>

#include "lab/runtime/launch.h"

namespace weft::host_cuda::lab {

void print_error(const std::string& message);

// Says why, remembers the code for cudaGetLastError(), and returns it.
cudaError_t launch_failed(const Configuration& at, const std::string& kernel, cudaError_t code);

}  // namespace weft::host_cuda::lab

// SPDX-License-Identifier: MIT
// cuda_check(): turns a CUDA error code into an Error of kind device. For .cu and CUDA-only .cpp.
#pragma once

#include <cuda_runtime.h>

#include "engine/error.h"

namespace weft {

// Clears the sticky error and throws with the call site, the error's name and its text.
void cuda_check(cudaError_t code, const char* what, SourceLocation where = SourceLocation::here());

}  // namespace weft

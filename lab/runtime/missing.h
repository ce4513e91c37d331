// SPDX-License-Identifier: MIT
// What of the runtime the lab does not have: a program may name it, and a call that is reached ends
// the program with exit code 2 and its line.
#pragma once

#include "host_cuda/language/runtime_api.h"

namespace weft::host_cuda::lab {
// `call`: the return address of the function.
[[noreturn]] cudaError_t missing(const char* function, const void* call);
}  // namespace weft::host_cuda::lab

struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaIpcEventHandle_t {
  char reserved[64];
};

#define WEFT_MISSING(name)                                             \
  template <class... Arguments>                                        \
  [[gnu::noinline]] cudaError_t name(Arguments&&...) {                 \
    weft::host_cuda::lab::missing(#name, __builtin_return_address(0)); \
  }
#include "lab/runtime/missing.inc"
#undef WEFT_MISSING

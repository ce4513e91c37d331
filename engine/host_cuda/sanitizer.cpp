// SPDX-License-Identifier: MIT
// In a build with AddressSanitizer, which takes the place of the layer's own checks of memory: its
// reports begin with the kernel, block, thread and phase.
#ifdef __SANITIZE_ADDRESS__
#include <cstdio>

#include "engine/host_cuda/grid.h"

extern "C" void __asan_on_error() {
  using namespace weft::host_cuda;
  if (running != nullptr) std::fprintf(stderr, "host-cuda: %s\n", where(*running).c_str());
}
#endif

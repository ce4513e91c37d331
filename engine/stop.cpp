// SPDX-License-Identifier: MIT
#include "engine/stop.h"

#include <utility>

namespace weft {

#ifndef WEFT_HOST_CUDA  // else host_cuda/grid.cpp has it

StopQuestion set_stop(StopQuestion asked) {
  static StopQuestion stop = nullptr;
  return std::exchange(stop, asked);
}

#endif

}  // namespace weft

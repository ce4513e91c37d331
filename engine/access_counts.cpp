// SPDX-License-Identifier: MIT
#include "engine/access_counts.h"

namespace weft {

const char* name_of(AccessKind kind) {
  switch (kind) {
    case AccessKind::global_load:
      return "global load";
    case AccessKind::global_store:
      return "global store";
    case AccessKind::shared_load:
      return "shared load";
    case AccessKind::shared_store:
      return "shared store";
    case AccessKind::global_atomic:
      return "global atomic";
    case AccessKind::shared_atomic:
      break;
  }
  return "shared atomic";
}

#ifndef WEFT_HOST_CUDA  // else engine/host_cuda/counts.cpp has it
std::vector<KernelCounts> count_accesses(const std::function<void()>&) {
  return {};
}
#endif

}  // namespace weft

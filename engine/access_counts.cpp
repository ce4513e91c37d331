// SPDX-License-Identifier: MIT
#include "engine/access_counts.h"

#include "engine/access_trace.h"

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

#ifndef WEFT_HOST_CUDA  // else host_cuda/checks/ has them
std::vector<KernelCounts> count_accesses(const std::function<void()>&) {
  return {};
}
AccessTrace trace_accesses(const std::function<void()>&, const TraceOptions&) {
  return {};
}
WithoutBarrier run_without_barrier(const std::string&, const std::function<void()>&) {
  return {};
}
std::vector<WithoutPadding> count_without_padding(const Padding&, const std::function<void()>&) {
  return {};
}
#endif

}  // namespace weft

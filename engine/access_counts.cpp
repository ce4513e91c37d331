// SPDX-License-Identifier: MIT
#include "engine/access_counts.h"

#include "engine/access_trace.h"

namespace weft {

// These are for programs that were not linked for host-cuda, which has its own.
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

}  // namespace weft

// SPDX-License-Identifier: MIT
#include "host_cuda/access/access_counts.h"

#include "host_cuda/access/access_trace.h"

namespace weft {

// These are for programs that are not linked with host_cuda/, whose definitions are not weak.
[[gnu::weak]] std::vector<KernelCounts> count_accesses(const std::function<void()>&) {
  return {};
}
[[gnu::weak]] AccessTrace trace_accesses(const std::function<void()>&, const TraceOptions&) {
  return {};
}
[[gnu::weak]] WithoutBarrier run_without_barrier(const std::string&, const std::function<void()>&) {
  return {};
}
[[gnu::weak]] std::vector<WithoutPadding> count_without_padding(const Padding&,
                                                                const std::function<void()>&) {
  return {};
}

}  // namespace weft

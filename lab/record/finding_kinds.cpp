// SPDX-License-Identifier: MIT
#include "lab/record/finding_kinds.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weft::lab {

const std::vector<FindingKind>& finding_kinds() {
  static const std::vector<FindingKind> kinds = {
      {"race", "Two threads use one word, one of them writes, and nothing orders them."},
      {"uninitialised-read", "A thread or the host reads what nobody has written."},
      {"too-early", "Shared memory is used that an asynchronous copy is still to fill."},
      {"out-of-bounds", "An access is outside of its array or allocation."},
      {"null-pointer", "A kernel uses a null pointer."},
      {"host-pointer", "A kernel uses an address of host memory."},
      {"misaligned", "An access is not aligned to its size."},
      {"constant-memory", "A kernel writes a __constant__ variable."},
      {"divergent-barrier", "Threads of a block are at different barriers."},
      {"grid-barrier", "A barrier of the grid stands in a launch that is not cooperative."},
      {"divergent-matrix-operation", "Lanes are at different mma.sync or ldmatrix."},
      {"missing-lane", "An operation of a warp waits for a lane that never comes."},
      {"wrong-mask", "A mask does not name the calling lane or the lane that it reads."},
      {"deadlock", "A thread waits for what no thread is left to change."},
      {"assertion-failed", "An assert() in a kernel failed."},
      {"missing-return", "A function that has to return a value comes to its end."},
      {"trap", "A kernel stopped itself."},
      {"launch-in-a-kernel", "A kernel waits for kernels that it has launched."},
      {"other-results", "The results depend on the order of the threads (--schedules)."},
      {"no-kernel", "A function that is not __global__ is launched."},
      {"wrong-direction", "A side of a copy is not where its cudaMemcpyKind says."},
      {"wrong-size", "A copy or fill is larger than the allocation."},
      {"wrong-free", "What is freed was not allocated, or was freed before."},
      {"device-pointer", "Host code reads or writes device memory."},
      {"not-synchronised", "Host code uses memory that a kernel or copy may still use."},
      {"unwritten", "A copy brings to the host what nobody has written."},
      {"same-value", "Threads write one value to one word, and nothing orders them.", true},
      {"unordered", "Volatile and atomic accesses of one word that nothing orders.", true},
      {"lock", "A lock is taken without a fence behind it.", true},
      {"barrier-without-all-threads", "Threads have returned before a barrier.", true},
      {"warp-without-all-lanes", "Lanes have returned before a vote or shuffle.", true},
      {"unchecked",
       "Blocks ran without checks, or launches not at all, since checks had taken long.", true},
      {"leak", "Kernels have not freed what they allocated.", true},
      {"launch-failed", "A launch did not start: its grid or block cannot be.", true},
      {"unread-error", "A call failed, and the program never asked for an error.", true},
  };
  return kinds;
}

const FindingKind* find_kind(const std::string& name) {
  const std::vector<FindingKind>& all = finding_kinds();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const FindingKind& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string flag_name(std::string kind) {
  std::replace(kind.begin(), kind.end(), ' ', '-');
  return kind;
}

std::optional<double> check_seconds(const std::string& text) {
  if (text == "all") return kCheckAll;
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [after, error] = std::from_chars(text.data(), end, seconds);
  const bool is_one = error == std::errc{} && after == end && std::isfinite(seconds);
  return is_one && seconds >= 0 ? std::optional(seconds) : std::nullopt;
}

}  // namespace weft::lab

// SPDX-License-Identifier: MIT
#include "lab/runtime/failures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "engine/error.h"
#include "engine/text.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/findings/findings.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/sample/idle_hooks.h"
#include "host_cuda/workers/workers.h"
#include "lab/runtime/findings.h"
#include "lab/runtime/missing.h"

namespace weft::host_cuda::lab {
namespace {

// When the program has ended well, without having asked whether all went well.
void look_back(int status, void*) {
  if (const auto [count, bytes, site] = left_in_heap(); status == 0 && count > 0) {
    tell_at("leak",
            str("leak: kernels have allocated ", count, count == 1 ? " piece" : " pieces",
                " of memory, ", bytes, " bytes, and not freed them"),
            site == nullptr ? "" : source_line(site), true);
  }
  const auto [failure, line] = unread_failure();
  const std::deque<Told>& all = all_findings();
  const std::string& told = failure;
  const bool is_told = std::any_of(all.begin(), all.end(), [&](const Told& one) {
    return one.kind == "launch failed" && one.text.ends_with(told);
  });
  if (status == 0 && !failure.empty() && !is_told) {
    tell_at(
        "unread error",
        "unread error: " + failure + "; the program never asked for the error (cudaGetLastError)",
        line, true);
  }
  end_findings();
}

std::string reason(const Configuration& at, cudaError_t code) {
  const unsigned long long threads = 1ull * at.block.x * at.block.y * at.block.z;
  const unsigned long long blocks = 1ull * at.grid.x * at.grid.y * at.grid.z;
  if (threads == 0) return "its blocks have no threads";
  if (blocks == 0) return "its grid has no blocks";
  if (threads > 1024) return str("its blocks have ", threads, " threads, and 1024 is the most");
  if (code == cudaErrorInvalidValue) {
    return str("its blocks ask for ", at.shared_bytes, " bytes of dynamic shared memory, and ",
               "49152 is the most, or what cudaFuncSetAttribute allows");
  }
  return cudaGetErrorString(code);
}

}  // namespace

// Linked in by its name, which compile.cpp tells the linker.
extern "C" [[gnu::constructor]] void weft_lab_begin() {
  begin_findings();
  allow_workers();
  if (std::getenv("WEFT_LAB_RECORD") == nullptr) take_out_idle_hooks();
  show_clocks(1410000, 1215000, 5120);  // those of an A100, which is an sm_80
  on_exit(look_back, nullptr);
}

void print_error(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "weft: error: %s\n", printable(message).c_str());
}

cudaError_t missing(const char* function, const void* call) {
  print_error(str("host-cuda: missing function: ", function, ", called at ", source_line(call),
                  ", is not there"));
  std::_Exit(static_cast<int>(ErrorKind::usage));
}

cudaError_t launch_failed(const Configuration& at, const std::string& kernel, cudaError_t code) {
  const std::string failure = str("kernel ", kernel, ", launched at ", at.file, ":", at.line,
                                  ", did not start: ", reason(at, code));
  const std::string line = str(at.file, ":", at.line);
  tell_at("launch failed", "launch failed: " + failure, line, true);
  call_failed([&] { return CallFailure{failure, line}; });
  return noted(code);
}

}  // namespace weft::host_cuda::lab

// SPDX-License-Identifier: MIT
// What a program of `weft lab` does differently from others: its launches, and the functions of the
// C library that kernels call. The linker sends calls of f to __wrap_f.
#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "engine/error.h"
#include "host_cuda/checks/host.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/grid.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/launched_grids.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/printing.h"
#include "host_cuda/workers/workers.h"
#include "lab/runtime/failures.h"
#include "lab/runtime/launch.h"
#include "lab/runtime/progress.h"

extern "C" {
// The linker's table of functions with an instruction in front: lab.h gives one to kernels.
[[gnu::weak]] extern const char* const __start___patchable_function_entries[];
[[gnu::weak]] extern const char* const __stop___patchable_function_entries[];
}

namespace weft::host_cuda::lab {
namespace {

#if defined(__aarch64__)
constexpr std::ptrdiff_t kNop = 4;  // bytes of the instruction in front
#else
constexpr std::ptrdiff_t kNop = 1;
#endif

bool is_kernel(const void* function) {
  const char* const in_front = static_cast<const char*>(function) - kNop;
  return std::find(__start___patchable_function_entries, __stop___patchable_function_entries,
                   in_front) != __stop___patchable_function_entries;
}

std::recursive_mutex one_launch_at_a_time;  // by threads of the host
cudaStream_t stream_of_grid = nullptr;

}  // namespace

Launching::Launching() : in_kernel_(in_kernel_code != nullptr) {
  in_kernel_code = checked = nullptr;
}
Launching::~Launching() {
  if (in_kernel_) enter_kernel_code();
}

cudaError_t run(const Configuration& at, std::shared_ptr<const Call> call) {
  if (running != nullptr) {  // whatever the stream, it comes behind the kernel
    Configuration behind = at;
    behind.stream = stream_of_grid;
    return noted(launch_behind_grid([=] { run(behind, call); }));
  }
  const std::lock_guard lock(one_launch_at_a_time);
  const std::string kernel = kernel_name(*call);
  if (call->name() == nullptr && !is_kernel(call->kernel())) {
    tell_at("no kernel",
            str("no kernel: ", kernel.starts_with("{lambda") ? "a lambda of host code" : kernel,
                ", launched at ", at.file, ":", at.line,
                ", is no __global__ function: a GPU says \"invalid device function\""),
            str(at.file, ":", at.line));
    return noted(cudaErrorInvalidDeviceFunction);
  }
  if (!shared_memory_allowed(*call, at.shared_bytes)) {
    return launch_failed(at, kernel, cudaErrorInvalidValue);
  }
  cudaLaunchAttribute attribute{cudaLaunchAttributeCooperative, {1}};
  const cudaLaunchConfig_t config{at.grid,   at.block,   at.shared_bytes,
                                  at.stream, &attribute, at.cooperative ? 1u : 0u};
  const std::string where_launched =
      str("kernel ", kernel, ", launched at ", at.file, ":", at.line);
  try {
    launch_begins(at.stream, where_launched);
    stream_of_grid = at.stream;
    const TimedLaunch timed(where_launched, std::uint64_t{at.grid.x} * at.grid.y * at.grid.z);
    const cudaError_t code = start(config, std::move(call));
    if (code != cudaSuccess) return launch_failed(at, kernel, code);
    kernel_runs(kernel, str(at.file, ":", at.line));
    return code;
  } catch (const Error& error) {  // which is no finding: those are listed
    print_error(error.what());
    std::_Exit(error.exit_code());
  }
}

}  // namespace weft::host_cuda::lab

using namespace weft::host_cuda;

extern "C" {
int __real_puts(const char* text);
int __real_putchar(int character);
[[noreturn]] void __real___assert_fail(const char* what, const char* file, unsigned line,
                                       const char* function) noexcept;

// In a kernel. A grid that runs in several orders prints in the first.
static void print_in_kernel(const void* site, std::string text) {
  order_matters();
  if (!repeating()) print_later(site, std::move(text));
}
int __wrap_printf(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int written = 0;
  if (running == nullptr) {
    written = std::vprintf(format, arguments);
  } else {
    const Unchecked here;
    va_list again;
    va_copy(again, arguments);
    written = std::vsnprintf(nullptr, 0, format, arguments);
    std::string text(static_cast<std::size_t>(std::max(written, 0)), ' ');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    print_in_kernel(__builtin_return_address(0), std::move(text));
  }
  va_end(arguments);
  return written;
}
int __wrap_puts(const char* text) {
  if (running == nullptr) return __real_puts(text);
  const Unchecked here;
  print_in_kernel(__builtin_return_address(0), std::string(text) + '\n');
  return 0;
}
int __wrap_putchar(int character) {
  if (running == nullptr) return __real_putchar(character);
  const Unchecked here;
  print_in_kernel(__builtin_return_address(0), std::string(1, static_cast<char>(character)));
  return character;
}

[[noreturn]] void __wrap___assert_fail(const char* what, const char* file, unsigned line,
                                       const char* function) noexcept {
  if (running == nullptr) __real___assert_fail(what, file, line, function);
  const Unchecked here;
  fail("assertion failed", weft::str(file, ":", line), [&] {
    return weft::str("assertion failed: ", where(*running), ": ", what, " at ", file, ":", line);
  });
}
}

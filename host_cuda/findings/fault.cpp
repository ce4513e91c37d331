// SPDX-License-Identifier: MIT
#include "host_cuda/findings/fault.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

#include "engine/error.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/arena.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {
namespace {

struct sigaction before_segv {};
struct sigaction before_fpe {};

// As a return address is: behind the instruction.
const void* place_of(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc + 4);
#else
  static_cast<void>(machine);
  return nullptr;
#endif
}

// The stack of the thread may be full, so these run on one of their own, and leave it for ever.
void handle_access(int, siginfo_t* info, void* context) {
  if (in_kernel_code == nullptr || blocks_are_checked) {
    sigaction(SIGSEGV, &before_segv, nullptr);  // which the access meets next
    return;
  }
  in_kernel_code = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool is_null = address < kPage && info->si_code != SI_KERNEL;  // which knows no address
  const char* const kind = is_null ? "null pointer" : "out of bounds";
  const void* const site = place_of(context);
  fail(kind, site, [&] {
    return str(kind, ": ", where(*running), " accesses ",
               is_null           ? str("address ", address)
               : address < kPage ? "an address that no memory can have"
                                 : describe_address(address),
               ", at ", source_line(site),
               ", in a part that ran without checks: --check all tells of its first access that is "
               "wrong");
  });
}

// A GPU raises no error, and goes on with a number that nobody has chosen.
void handle_division(int, siginfo_t* info, void* context) {
  if (in_kernel_code == nullptr || info->si_code != FPE_INTDIV) {  // feenableexcept()
    sigaction(SIGFPE, &before_fpe, nullptr);
    return;
  }
  in_kernel_code = checked = nullptr;
  const char* const kind = "integer division";
  const void* const site = place_of(context);
  found(kind, site, [&] {
    return str(kind, ": ", where(*running), " divides by zero, or the least integer by -1, at ",
               source_line(site));
  });
  lose_thread();
}

void on(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction& before) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigaction(signal, &action, &before);
}

}  // namespace

void catch_faults() {
  static char stack[64 * 1024];
  static bool is_set = false;
  if (is_set) return;
  is_set = true;
  stack_t own{};
  own.ss_sp = stack;
  own.ss_size = sizeof stack;
  if (sigaltstack(&own, nullptr) != 0) return;
  on(SIGSEGV, handle_access, before_segv);
  on(SIGFPE, handle_division, before_fpe);
}

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
#include "host_cuda/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <utility>

#include "engine/error.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace weft::host_cuda {
namespace {

constexpr std::size_t kGuardBytes = 4096;  // below the stack: an overflow stops the program

void* host_context = nullptr;

// AddressSanitizer has to know which stack is in use.
#ifdef __SANITIZE_ADDRESS__
const void* host_stack = nullptr;
std::size_t host_stack_bytes = 0;
void* host_fake_stack = nullptr;

void leave_host(const char* stack) {
  __sanitizer_start_switch_fiber(&host_fake_stack, stack, Fiber::kStackBytes);
}
void back_on_host() {
  __sanitizer_finish_switch_fiber(host_fake_stack, nullptr, nullptr);
}
void leave_fiber(void** fake_stack) {
  __sanitizer_start_switch_fiber(fake_stack, host_stack, host_stack_bytes);
}
void back_on_fiber(void* fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, &host_stack, &host_stack_bytes);
}
void forget_frames(const char* stack) {  // of a thread that was abandoned
  constexpr std::size_t kFrames = 32 * 1024;
  __asan_unpoison_memory_region(stack + Fiber::kStackBytes - kFrames, kFrames);
}
#else
void leave_host(const char*) {}
void back_on_host() {}
void leave_fiber(void**) {}
void back_on_fiber(void*) {}
void forget_frames(const char*) {}
#endif

void (*next_entry)() = nullptr;

#ifdef WEFT_OWN_SWITCH
// The first switch to a stack comes here by a jump, with the stack as a call leaves it.
void begin() {
  next_entry();
}
void* new_context(char* top) {
  auto* const end = reinterpret_cast<void**>(top) - 2;  // aligned to 16 bytes
  end[1] = nullptr;                                     // no caller
  end[0] = reinterpret_cast<void*>(begin);
  return end;
}
#else
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

void** left = nullptr;  // where the context of the one that ran before belongs

void begin(transfer_t from) {
  *left = from.fctx;
  back_on_fiber(nullptr);
  next_entry();
}
#endif

}  // namespace

Fiber* Fiber::current = nullptr;

#ifndef WEFT_OWN_SWITCH
// From the running stack to another one, until somebody comes back to it.
void Fiber::jump(void** from, Fiber* to, void* context) {
  left = from;
  current = to;
  *left = jump_fcontext(context, nullptr).fctx;
}
void Fiber::pass_to(Fiber& next) {
#ifdef __SANITIZE_ADDRESS__
  static_cast<void>(next);
  suspend();
#else
  jump(&context_, &next, next.context_);
#endif
}
#endif

Fiber::Fiber(Fiber&& other) noexcept
    : stack_(std::exchange(other.stack_, nullptr)),
      context_(std::exchange(other.context_, nullptr)) {}

Fiber::~Fiber() {
  if (stack_ != nullptr) munmap(stack_ - kGuardBytes, kStackBytes + kGuardBytes);
}

void Fiber::start(void (*entry)()) {
  if (stack_ == nullptr) {
    void* memory = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, kGuardBytes, PROT_NONE) != 0) {
      throw Error(ErrorKind::device, "out of memory: no stack for a thread on host-cuda");
    }
    stack_ = static_cast<char*>(memory) + kGuardBytes;
  }
  forget_frames(stack_);
  next_entry = entry;
  // Frames at the same place of every stack would compete for the same lines of the cache.
  const std::size_t number = reinterpret_cast<std::uintptr_t>(stack_) / (kStackBytes + kGuardBytes);
  const std::size_t unused = number % 64 * 64;
#ifdef WEFT_OWN_SWITCH
  context_ = new_context(stack_ + kStackBytes - unused);
#else
  context_ = make_fcontext(stack_ + kStackBytes - unused, kStackBytes - unused, begin);
#endif
}

void Fiber::resume() {
  leave_host(stack_);
  jump(&host_context, this, context_);
  back_on_host();
}

void Fiber::hand_over(Fiber& next) {
  std::swap(stack_, next.stack_);
  current = &next;
}

void Fiber::suspend(bool for_ever) {
  void* fake_stack = nullptr;
  leave_fiber(for_ever ? nullptr : &fake_stack);
  jump(&current->context_, nullptr, host_context);
  back_on_fiber(fake_stack);
}

}  // namespace weft::host_cuda

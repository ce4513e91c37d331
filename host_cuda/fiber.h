// SPDX-License-Identifier: MIT
// A stack on which one thread of a block runs until it waits. Boost.Context switches stacks.
#pragma once

#include <cstddef>

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define WEFT_OWN_SWITCH
#endif

namespace weft::host_cuda {

class Fiber {
 public:
  Fiber() = default;
  Fiber(Fiber&& other) noexcept;
  Fiber& operator=(Fiber&&) = delete;
  ~Fiber();

  // The next resume() calls `entry`, which must not return.
  void start(void (*entry)());
  // Runs the fiber until it calls suspend(). Called by the host only.
  void resume();
  // Back to the host. `for_ever`: this stack is not resumed again.
  static void suspend(bool for_ever = false);
  // This fiber runs now, and its thread has ended. Its stack, and what runs on it, is that of
  // `next` from here on.
  void hand_over(Fiber& next);
  // This fiber runs now, and waits until it is resumed. `next` goes on, without a way over the
  // host.
  void pass_to(Fiber& next);

  const char* stack_begin() const { return stack_; }
  const char* stack_end() const { return stack_ + kStackBytes; }

  static constexpr std::size_t kStackBytes = 256 * 1024;  // of addresses; touched ones cost memory

 private:
  static Fiber* current;  // it runs; null: the host does
  static void jump(void** from, Fiber* to, void* context);

  char* stack_ = nullptr;
  void* context_ = nullptr;  // of WEFT_OWN_SWITCH: the top of the stack while it waits
};

#ifdef WEFT_OWN_SWITCH
// From the running stack to another one, until somebody comes back to it. Boost's switch saves the
// modes of rounding, too, which no thread keeps over a wait. This one is inlined, so that a
// CPU, which expects each return behind its own call, seldom guesses wrong: that costs more than
// all else here. What lies below the stack's top may be in use (the red zone).
[[gnu::always_inline]] inline void Fiber::jump(void** from, Fiber* to, void* context) {
  current = to;
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\t"
      "push %%rbp\n\t"
      "lea 1f(%%rip), %%rdx\n\t"
      "push %%rdx\n\t"
      "mov %%rsp, (%%rdi)\n\t"
      "mov %%rsi, %%rsp\n\t"
      "pop %%rdx\n\t"
      "jmp *%%rdx\n"
      "1:\n\t"
      "pop %%rbp\n\t"
      "lea 128(%%rsp), %%rsp"
      : "+D"(from), "+S"(context)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory",
        "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
        "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
[[gnu::always_inline]] inline void Fiber::pass_to(Fiber& next) {
  jump(&context_, &next, next.context_);
}
#endif

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// A stack on which one thread of a block runs until it waits. Boost.Context switches stacks.
#pragma once

#include <cstddef>

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
  char* stack_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// How a thread of a block ends or waits, and which one runs behind it.
#pragma once

#include <utility>

#include "host_cuda/grid.h"
#include "host_cuda/language/language.h"

namespace weft::host_cuda {

extern bool in_turn;  // the threads of a block run by number, and nobody asks between them
extern bool polled;   // the thread that ran last waits for memory to change

extern uint3 thread_index asm("threadIdx");  // which kernels see as const

// What the fiber of a thread runs.
void thread_main();
bool has_failed();  // has a failure ended the grid?

// The thread behind the running one, where it can run now. Else the host has to look for one.
[[gnu::always_inline]] inline Thread* next_in_turn() {
  Thread& self = *running;
  if (!in_turn || self.id + 1 >= self.block->threads) return nullptr;
  Thread& next = *(&self + 1);
  return next.finished || next.wait != Wait::nothing || has_failed() ? nullptr : &next;
}

// Does not come back where the running thread has ended.
[[gnu::always_inline]] inline void go_on_with(Thread& next) {
  Thread& self = *running;
  running = &next;
  thread_index = next.index;
  if (!next.started) {
    next.started = true;
    next.fiber.start(thread_main);
  }
  self.fiber.pass_to(next.fiber);
}

// The running thread waits for others, until one of them has ended its wait. It is inlined for the
// sake of Fiber::pass_to().
[[gnu::always_inline]] inline void wait_for_others() {
  Thread* const next = next_in_turn();
  if (next == nullptr) return Fiber::suspend();
  go_on_with(*next);
}

}  // namespace weft::host_cuda

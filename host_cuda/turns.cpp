// SPDX-License-Identifier: MIT
#include "host_cuda/turns.h"

#include <utility>

#include "host_cuda/checks/checks.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/grid.h"

namespace weft::host_cuda {

bool in_turn = false, polled = false;

namespace {

void end_thread() {
  in_kernel_code = checked = nullptr;
  Thread& thread = *running;
  if (thread.has_pending || recording()) settle_all_accesses(thread);
  thread.finished = true;
  Block& block = *thread.block;
  ++block.finished;
  if (block.waiting_block > 0 || block.waiting_warp > 0) thread_exits(thread);
}

}  // namespace

// A thread that has not begun does so on the stack of the one that has ended: most kernels need no
// other one.
void thread_main() {
  for (;;) {
    enter_kernel_code();
    running_grid->call->run();
    end_thread();
    Thread* const next = next_in_turn();
    if (next == nullptr) break;
    if (next->started) go_on_with(*next);
    next->started = true;
    running->fiber.hand_over(next->fiber);
    running = next;
    thread_index = next->index;
  }
  Fiber::suspend(true);
}

void lose_thread() {
  running->lost = running->block->has_lost = true;
  end_thread();
  Fiber::suspend(true);
  __builtin_unreachable();
}

void others_catch_up() {
  if (running == nullptr) return;
  const Unchecked here;
  if (recording()) record_values(*running);
  Fiber::suspend();
}

void poll() {
  polled = running != nullptr;
  others_catch_up();
}

void yield() {
  Fiber::suspend();
}

}  // namespace weft::host_cuda

// SPDX-License-Identifier: MIT
// Barriers of a block and of the grid, and the addresses of shared memory.
#include <algorithm>
#include <map>

#include "engine/error.h"
#include "host_cuda/access/access_trace.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/printing.h"
#include "host_cuda/turns.h"

extern "C" char weft_shared_begin[], weft_shared_end[];

namespace weft::host_cuda {
namespace {

constexpr unsigned kStatics = 1u << 30;

Thread& thread_of(Block& block, int id) {
  return block.thread[static_cast<std::size_t>(id)];
}

// All threads of a block that have not exited must be at the same barrier of the source.
void check_same_barrier(Block& block) {
  const Thread* first = nullptr;
  for (int id = 0; id < block.threads; ++id) {
    const Thread& other = thread_of(block, id);
    if (other.finished) continue;
    if (first == nullptr) first = &other;
    if (other.site == first->site) continue;
    if (source_line(first->site) != source_line(other.site)) {
      fail("divergent barrier", first->site, [&] {
        return str("divergent barrier: ", where(*first), " is at the barrier of ",
                   source_line(first->site), ", but ", thread_name(other), " at that of ",
                   source_line(other.site));
      });
    }
  }
}

void note_of_exited(const Block& block, const Thread& waiting) {
  note("barrier without all threads", waiting.site, nullptr, [&] {
    const auto exited = std::find_if(block.thread.begin(), block.thread.begin() + block.threads,
                                     [](const Thread& one) { return one.finished; });
    return str(
        "barrier without all threads: ", where(waiting), " is at the barrier of ",
        source_line(waiting.site), ", and ", thread_name(*exited),
        " has returned: a barrier waits for the threads that have not exited (from sm_70 on)");
  });
}

bool all_are_at_the_barrier(const Block& block) {
  return block.waiting_block > 0 && block.waiting_block + block.finished == block.threads;
}
void release_barrier(Block& block) {
  check_same_barrier(block);
  const Thread* waiting = nullptr;
  for (int id = 0; id < block.threads; ++id) {
    Thread& thread = thread_of(block, id);
    if (thread.finished) continue;
    waiting = &thread;
    thread.wait = Wait::nothing;
  }
  if (block.finished > 0 && !block.has_lost) note_of_exited(block, *waiting);
  block.last_vote = block.vote;
  block.waiting_block = block.vote = 0;
  ++block.phase;
  order_block(block);
  flush_printed(block);
}

// The barrier that run_without_barrier() takes out.
struct LeftOut {
  std::string line;
  bool met = false;
  std::map<const void*, bool> sites = {};  // of barriers: is it this one?

  bool is_at(const void* site) {
    const Unchecked here;
    const auto [at, fresh] = sites.try_emplace(site, false);
    if (fresh) at->second = source_line(site) == line;
    met = met || at->second;
    return at->second;
  }
};
LeftOut* left_out = nullptr;

// Waits for all threads of the block that have not exited; returns the sum of their values.
// Inlined for the sake of wait_for_others().
[[gnu::always_inline]] inline int block_barrier(int value, const void* site) {
  const Unchecked here;
  Thread& self = *running;
  Block& block = *self.block;
  if (self.has_pending || recording()) settle_all_accesses(self);
  self.site = site;
  self.wait = Wait::block;
  self.last_read = 0;
  block.vote += value;
  ++block.waiting_block;
  if (!all_are_at_the_barrier(block)) {
    wait_for_others();
    return block.last_vote;
  }
  release_barrier(block);
  if (recording()) Fiber::suspend();  // listeners are told before a thread runs on
  return block.last_vote;
}

}  // namespace

void thread_exits(Thread& thread) {
  Block& block = *thread.block;
  if (all_are_at_the_barrier(block)) {
    for (int id = 0; id < block.threads; ++id) {
      if (!thread_of(block, id).finished) thread.site = thread_of(block, id).site;
    }
    release_barrier(block);
  }
  if (block.waiting_warp > 0) lane_exits(thread);
}

void grid_barrier() {
  const Unchecked here;
  Thread& self = *running;
  settle_all_accesses(self);
  if (!running_grid->cooperative) {
    fail("grid barrier", __builtin_return_address(0), [&] {
      return str("grid barrier: ", where(self),
                 " is at a barrier of the grid, which was not launched as a cooperative one");
    });
  }
  self.site = __builtin_return_address(0);
  if (recording() && self.id == 0) {  // CUDA's has an atomic operation of one thread of each block
    static unsigned arrived;
    record_access(self, reinterpret_cast<std::uintptr_t>(&arrived), sizeof arrived,
                  AccessKind::global_atomic, self.site);
  }
  self.wait = Wait::grid;
  ++self.block->waiting_grid;
  Fiber::suspend();
}

void* dynamic_shared() {
  return running->block->dynamic.get();
}

// The 32-bit addresses of dynamic shared memory begin at 0, those of __shared__ variables at
// kStatics: either side of these an address is out of bounds, and stays so.
unsigned shared_address(const void* generic) {
  const auto address = reinterpret_cast<std::uintptr_t>(generic);
  const auto statics = reinterpret_cast<std::uintptr_t>(weft_shared_begin);
  const auto end = reinterpret_cast<std::uintptr_t>(weft_shared_end);
  const bool is_static = address >= statics && address < end;
  const auto begin = reinterpret_cast<std::uintptr_t>(dynamic_shared());
  return static_cast<unsigned>(is_static ? address - statics + kStatics : address - begin);
}
void* generic_address(unsigned shared) {
  char* const dynamic = static_cast<char*>(dynamic_shared());
  if (shared - kStatics < kStatics * 2) return weft_shared_begin + (shared - kStatics);
  return dynamic + static_cast<int>(shared);
}

void trap() {
  const Unchecked here;
  const void* site = __builtin_return_address(0);
  fail("trap", site, [&] {
    return str("trap: ", where(*running), " stopped at ", source_line(site),
               ": this kernel needs instructions that only a GPU has");
  });
}

void refuse() {
  throw Error(ErrorKind::usage,
              "this kernel needs a GPU of sm_90: host-cuda has no wgmma, TMA or clusters");
}

}  // namespace weft::host_cuda

using namespace weft::host_cuda;

void __syncthreads() {
  const void* site = __builtin_return_address(0);
  if (left_out == nullptr || !left_out->is_at(site)) block_barrier(0, site);
}
int __syncthreads_count(int predicate) {
  return block_barrier(predicate != 0, __builtin_return_address(0));
}
int __syncthreads_or(int predicate) {
  return block_barrier(predicate != 0, __builtin_return_address(0)) > 0;
}
int __syncthreads_and(int predicate) {
  return block_barrier(predicate == 0, __builtin_return_address(0)) == 0;
}

namespace weft {

WithoutBarrier run_without_barrier(const std::string& line, const std::function<void()>& work) {
  LeftOut barrier{line};
  WithoutBarrier result;
  left_out = &barrier;
  try {
    work();
  } catch (const Error& error) {
    result.failure = error.what();
  }
  left_out = nullptr;
  result.taken_out = barrier.met;
  return result;
}

}  // namespace weft

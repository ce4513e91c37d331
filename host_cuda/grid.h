// SPDX-License-Identifier: MIT
// What the layer knows about a running grid: its blocks, warps and threads. Internal.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "host_cuda/checks/order.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/fiber.h"
#include "host_cuda/findings/bad_access.h"
#include "host_cuda/findings/findings.h"
#include "host_cuda/language/language.h"
#include "host_cuda/language/runtime_api.h"
#include "host_cuda/language/warp.h"
#include "host_cuda/memory/shadow.h"
#include "host_cuda/sample/sample.h"

namespace weft::host_cuda {

struct Block;

// What a thread waits for.
enum class Wait : std::uint8_t {
  nothing,
  block,
  warp,
  grid,
  answer
};  // report.h tells of the last

// An atomic or volatile access, and what was there.
struct Look {
  const void* address = nullptr;
  std::uint64_t value = 0;
  bool has_read = false;  // one of the accesses there was no write alone
};

// A copy that a thread has started (async_copy.h), and how many groups it had committed by then.
struct AsyncCopy {
  void* shared;
  const void* global;
  std::size_t bytes, read;
  std::uint32_t group;
};

// What a barrier looks at is in the first line of the cache.
struct alignas(64) Thread {
  Fiber fiber;
  Block* block = nullptr;
  int id = 0;  // in the block, x fastest; lane id % 32 of warp id / 32
  uint3 index{};
  bool started = false;
  bool finished = false;
  bool lost = false;  // a finding has ended it, and the grid goes on
  Wait wait = Wait::nothing;
  bool has_pending = false;         // accesses that bad_access.h has to settle
  const void* site = nullptr;       // of the barrier that it waits at, or of what it polls
  std::uintptr_t last_read = 0;     // the address of the last plain read, and its place
  std::uint64_t result = 0;         // of the warp operation
  const void* last_look = nullptr;  // the address of the last strong access
  std::vector<AsyncCopy> copies;    // not waited for
  WarpCall call{};                  // while it waits for its warp
  std::array<Segment, 32> seen{};   // before which each lane of the warp is known to be done
  std::array<Look, 8> looks{};      // the latest at different addresses
  std::size_t next_look = 0;
  const void* last_read_site = nullptr;
  bool watched = false;                  // its last access was an atomic one
  std::unique_ptr<Knowledge> knowledge;  // null: of nothing but its block's
  std::uint32_t commits = 0;
  std::vector<PendingAccess> pending;
  ThreadTrace trace;

  // Has it read the word by a strong access of late?
  bool has_looked_at(std::uintptr_t word) const {
    return std::any_of(looks.begin(), looks.end(), [&](const Look& one) {
      return one.has_read && reinterpret_cast<std::uintptr_t>(one.address) == word;
    });
  }
};

// A text that a thread has printed, and by which statement (printing.h).
struct Printed {
  int thread;
  const void* site;
  std::string text;
};

// Dynamic shared memory, with room around it for accesses that a finding has told of.
struct FreeDynamic {
#ifdef __SANITIZE_ADDRESS__
  static constexpr std::size_t kRoom = 0;
#else
  static constexpr std::size_t kRoom = 4096;
#endif
  void operator()(char* memory) const {
    std::free(memory - kRoom);
  }
};

struct Block {
  uint3 index{};
  dim3 shape{};                // of the grid's blocks
  int threads = 0;             // of that
  bool is_clean = false;       // its threads are as they began, but for what they look at
  std::vector<Thread> thread;  // at least that many; stacks are kept for the next block
  bool has_lost = false;       // is one of them lost?
  int finished = 0, waiting_block = 0, waiting_grid = 0, waiting_warp = 0;
  int vote = 0;                 // of the barrier that is being gathered
  int last_vote = 0;            // of the one before
  std::uint32_t phase = 0;      // barriers of the block passed
  std::uint32_t number = 0;     // in the grid, x fastest
  Segment ordered = 0;          // all threads know what all did before this segment
  Segment alone_since = 0;      // no other block has run since this segment began
  bool only_barriers = true;    // order its threads since the last one of the block
  Clock acquired, released[2];  // what all threads know, and what was fenced, by scope
  bool has_knowledge = false;   // has a thread more, since the last barrier?
  std::vector<char> statics;    // its __shared__ variables while another block runs
  std::unique_ptr<char, FreeDynamic> dynamic;  // its dynamic shared memory
  Shadow shared;                               // what is known about the accesses
  std::vector<Printed> printed;                // not yet shown
  std::vector<std::uint64_t> steps;            // of each warp that RequestListeners have been told
};

struct Grid {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  bool cooperative = false;
  std::shared_ptr<const Call> call;
};

// The CUDA thread that runs on this thread of the host now; null while host code does.
#define WEFT_OF_HOST_THREAD constinit thread_local __attribute__((tls_model("initial-exec")))
extern WEFT_OF_HOST_THREAD Thread* running;
// The same while its kernel's own code runs.
extern WEFT_OF_HOST_THREAD Thread* in_kernel_code;
// The same where the accesses of that are checked (sample.h).
extern WEFT_OF_HOST_THREAD Thread* checked;

inline void enter_kernel_code() {
  in_kernel_code = running;
  checked = blocks_are_checked ? running : nullptr;
}

// Suspends the checks while a function of this layer does its work on a thread's stack.
class Unchecked {
 public:
  Unchecked() : outermost_(in_kernel_code != nullptr) { in_kernel_code = checked = nullptr; }
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
  ~Unchecked() {
    if (outermost_) enter_kernel_code();
  }

 private:
  bool outermost_;
};

extern const Grid* running_grid;

// Runs all blocks, in the order and interleaving that `schedule` of so many orders stands for; 0 is
// thread by thread in order. Throws check_failed at a finding, or where findings are listed returns
// false when one has ended the grid.
bool run_grid(const Grid& grid, std::uint64_t schedule, int orders);

// The program ends while the running thread still runs: its block is at its end.
void abandon_block();

// The thread has ended: barriers and operations of its warp may have waited for nobody else.
void thread_exits(Thread& thread);
void lane_exits(const Thread& thread);  // of the warp only

// No thread of the block can go on: those that ask which lanes are with them are told. False where
// none does.
bool release_active_masks(Block& block);

// Completes an operation of tensor_core.h; each lane's address is what it has brought.
void warp_matrix(WarpOp op, const std::array<void*, 32>& lanes);

// `kind` is a literal with which the message begins, `site` a return address, and `line` what
// stands for one where there is none.
void set_failure(const char* kind, const std::string& message, const void* site);
void set_failure(const char* kind, const std::string& message, const std::string& line);

// Ends the grid: run_grid() throws an Error with the text that `message` returns. The stack of the
// running thread is left as it is, so nothing on it may own memory by then.
template <class Site, class Message>
[[noreturn]] void fail(const char* kind, const Site& site, Message message) {
  set_failure(kind, message(), site);
  Fiber::suspend(true);
  __builtin_unreachable();
}
// The same, unless findings are listed: then it is told, and the grid goes on.
template <class Message>
void found(const char* kind, const void* site, Message message) {
  if (!lists_findings()) fail(kind, site, message);
  if (!told_before(kind, site)) tell(kind, message(), site);
}
// Ends the running thread after a finding that has been told; the others go on.
[[noreturn]] void lose_thread();

// "kernel reduce<float>, block (1, 0, 0), thread (5, 0, 0), after 3 barriers"
std::string where(const Thread& thread);
std::string thread_name(const Thread& thread);  // "thread (5, 0, 0)"

}  // namespace weft::host_cuda

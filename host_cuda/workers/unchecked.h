// SPDX-License-Identifier: MIT
// Runs blocks without checks in several processes at the same time. Nobody knows what each of them
// touches, so nothing could be taken over from copies: they share the device memory, and each takes
// the next blocks that nobody has. A block that is about to do what depends on the order of blocks
// (order_matters()) waits until all earlier ones have ended, and no later block does so before it
// has ended itself. So a program without races has the same results, prints the same, and has the
// same findings, as on one core. What a process has found goes to this one, which tells it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::host_cuda {

// A grid whose blocks run in order, and that has come to blocks without checks. There is one for
// each grid of a kernel.
class UncheckedShare {
 public:
  explicit UncheckedShare(const void* kernel);

  // Runs all blocks of [next, total) in processes, by calls of run(from, to) there, where that
  // pays. It returns false where none has run. What has ended the grid is told by set_failure().
  bool run(std::uint64_t next, std::uint64_t total,
           const std::function<void(std::uint64_t, std::uint64_t)>& run);

 private:
  const void* kernel_;
  std::uint64_t first_ = 0;  // of the blocks that this process has run without checks
  std::int64_t began_ = 0, began_on_core_ = 0;  // ns
};

// What follows is for such a process.
bool runs_unchecked_blocks();                      // is this one?
void block_begins_in_order(std::uint64_t number);  // which this process has taken
void wait_for_turn();                              // until all earlier blocks have ended
// The process has a finding, which belongs to findings.h. It waits for its turn.
void forward_again(const char* kind, const void* site, const void* other);
void forward(const char* kind, const std::string& text, const void* site, const void* other);
void forward_at(const char* kind, const std::string& text, const std::string& line, bool is_note);
// The grid cannot go on, and `has_lost` a thread. Does not return.
[[noreturn]] void forward_failure(const std::string& kind, const std::string& text,
                                  const std::string& line, bool has_lost);
// In the process that has begun the others: has such a failure come, with a thread lost?
bool worker_has_lost();

// A kernel does in a process what nobody else would know of: "allocates or frees memory". It ends
// the program.
[[noreturn]] void refuse_in_worker(const char* what);

}  // namespace weft::host_cuda

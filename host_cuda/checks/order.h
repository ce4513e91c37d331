// SPDX-License-Identifier: MIT
// Tells the access of a grid that comes before another one by the rules of CUDA's memory model,
// whatever the schedule (docs/memory-model.md):
//
//   a thread's own accesses, one after the other;
//   __syncthreads and grid.sync(), between all threads of the block or grid;
//   __syncwarp, between the lanes of its mask (shuffles and votes order no memory);
//   a fence of a thread and then its strong write (an atomic or volatile one) to a word. The write
//   publishes what the thread knew at the fence, within the scopes of both. A strong read of the
//   word acquires that for its thread.
//
// A barrier of the block hands on what its threads have acquired, and what they have fenced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "host_cuda/memory/shadow.h"

namespace weft::host_cuda {

struct Block;

// Who takes part in an operation. One device is all there is, so the system's scope is the
// device's.
enum class Scope : std::uint8_t { block, device };

// For other threads the segment before which everything they did is known. Of more than kMost
// entries those with the smallest segments are dropped, and all threads taken as known so far.
class Clock {
 public:
  static constexpr int kAllThreads = -1;

  bool covers(std::uint32_t block, int thread, Segment segment) const {
    return segment < all_ || (!known_.empty() && (knows(block, kAllThreads, segment) ||
                                                  knows(block, thread, segment)));
  }
  void learn(std::uint32_t block, int thread, Segment before);
  void learn(const Clock& other);
  bool empty() const { return known_.empty(); }
  void clear() { *this = {}; }

 private:
  using Entry = std::pair<std::uint64_t, Segment>;  // block and thread, and what is known of it
  static std::uint64_t key(std::uint32_t block, int thread) {
    return std::uint64_t{block} << 11 | static_cast<unsigned>(thread + 1);
  }
  bool knows(std::uint32_t block, int thread, Segment segment) const;
  void drop();

  static constexpr std::size_t kMost = 4096;
  Segment all_ = 0;
  std::vector<Entry> known_;  // by key
};

// A lock that a thread has taken by atomicCAS, and the fence before the first access behind that.
struct Hold {
  enum class Fence : std::uint8_t { none, block, device };

  std::uintptr_t word = 0;
  const void* taken_at = nullptr;
  const void* used_at = nullptr;  // where an access has no fence of the device before it
  Fence fence = Fence::none;
};

// What a thread knows of others, and what it has fenced, since the last barrier of its block.
struct Knowledge {
  Clock acquired;
  Clock released[2];             // by the scope of the fence
  std::uintptr_t last_word = 0;  // that was acquired last, and which version of it
  std::uint64_t last_version = 0;
  bool has_fresh_fence = false;  // no strong write since the last fence, which followed an access
  Hold hold;
};

// Begins a grid: no segment of an earlier one is asked for again. True when the numbers begin anew,
// which makes all stamps meaningless.
bool begin_order();
void enter_block(Block& block);  // which runs now
void order_block(Block& block);  // a barrier of the block, by which all of its threads are ordered
void order_grid();               // a barrier of the grid
Segment order_warp();            // what the lanes did before the returned segment is ordered
// __syncwarp: the lanes of the mask share what each of them knows.
void order_lanes(Block& block, int warp, unsigned mask);

// The first segment of the running grid, and the block of each one from there on.
struct Segments {
  Segment first = 1;
  std::vector<std::uint32_t> blocks;
};
extern Segments segments;
inline Segment next_segment() {  // the number of the segment that begins next
  return segments.first + static_cast<Segment>(segments.blocks.size());
}
inline Segment current_segment() {
  return next_segment() - 1;
}
inline std::uint32_t block_of(Segment segment) {
  return segments.blocks[segment - segments.first];
}
extern Segment grid_barrier_at;  // what all blocks did before is known to all
extern bool grid_has_fences;     // has a thread of the grid passed one?

// A strong access of the running thread.
void publish_and_acquire(Thread& by, std::uintptr_t address, Access access);

// atomicCAS has changed the word, as it takes a lock; and the first access behind it. A note tells
// of a lock that two threads take, one of them without the fence that lets it see what the other
// has done.
void lock_taken(Thread& by, std::uintptr_t word, const void* site);
void lock_used(Thread& by, const void* site);

}  // namespace weft::host_cuda

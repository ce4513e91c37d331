// SPDX-License-Identifier: MIT
// Which of two accesses of a grid comes before the other by the rules of CUDA's memory model,
// whatever the schedule:
//
//   a thread's own accesses, one after the other;
//   __syncthreads and grid.sync(), between all threads of the block or grid;
//   __syncwarp, between the lanes of its mask (shuffles and votes order no memory);
//   a fence and then an atomic or volatile write to a word, which publishes what the block has done
//   before the fence and what it had acquired; an atomic or volatile read of the word acquires that
//   for its block.
//
// The last rule speaks of blocks where the model speaks of threads. What it lets through, a missing
// barrier before the fence or behind the read, shows in one schedule or another: what a thread does
// late is not published, and what it does early has not acquired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "host_cuda/checks/shadow.h"

namespace weft::host_cuda {

struct Block;

// For other blocks of the grid the segment before which everything they did is known. Of more than
// kMostBlocks the ones with the smallest segments are dropped, and all blocks taken as known so
// far.
class Clock {
 public:
  bool covers(std::uint32_t block, Segment segment) const {
    return segment < all_ || (!blocks_.empty() && knows(block, segment));
  }
  void learn(std::uint32_t block, Segment before);
  void learn(const Clock& other);
  bool empty() const { return blocks_.empty(); }

 private:
  bool knows(std::uint32_t block, Segment segment) const;

  static constexpr std::size_t kMostBlocks = 64;
  Segment all_ = 0;
  std::vector<std::pair<std::uint32_t, Segment>> blocks_;
};

// Of a grid: no segment of an earlier one is asked for again. True when the numbers begin anew,
// which makes all stamps meaningless.
bool begin_order();
void enter_block(const Block& block);  // which runs now
void order_block(Block& block);  // a barrier of the block, by which all of its threads are ordered
void order_grid();               // a barrier of the grid
Segment order_warp();            // what the lanes did before the returned segment is ordered

// Of the running grid: its first segment, and the block of each one from there on.
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

// An atomic or volatile access of the running block.
void publish_and_acquire(Block& block, std::uintptr_t address, Access access);

}  // namespace weft::host_cuda

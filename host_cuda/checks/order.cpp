// SPDX-License-Identifier: MIT
#include "host_cuda/checks/order.h"

#include <algorithm>
#include <unordered_map>

#include "host_cuda/grid.h"

namespace weft::host_cuda {
namespace {

Segment first = 1;                  // of the running grid
std::vector<std::uint32_t> blocks;  // by segment, from `first` on
Segment grid_barrier_at = 0;        // what all blocks did before is known to all
std::unordered_map<std::uintptr_t, Clock> published;

}  // namespace

bool Clock::covers(std::uint32_t block, Segment segment) const {
  if (segment < all_) return true;
  const auto at = std::lower_bound(blocks_.begin(), blocks_.end(), std::pair{block, Segment{0}});
  return at != blocks_.end() && at->first == block && segment < at->second;
}

void Clock::learn(std::uint32_t block, Segment before) {
  const auto at = std::lower_bound(blocks_.begin(), blocks_.end(), std::pair{block, Segment{0}});
  if (at != blocks_.end() && at->first == block) {
    at->second = std::max(at->second, before);
    return;
  }
  blocks_.insert(at, {block, before});
  if (blocks_.size() <= kMostBlocks) return;
  const auto least =
      std::min_element(blocks_.begin(), blocks_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  all_ = std::max(all_, least->second);
  blocks_.erase(least);
}

void Clock::learn(const Clock& other) {
  all_ = std::max(all_, other.all_);
  for (const auto& [block, before] : other.blocks_) learn(block, before);
}

bool begin_order() {
  constexpr Segment kLast = 3'000'000'000;
  const bool anew = first + blocks.size() > kLast;
  first = anew ? 1 : next_segment();
  blocks.clear();
  published.clear();
  grid_barrier_at = 0;
  return anew;
}

Segment next_segment() {
  return first + static_cast<Segment>(blocks.size());
}
Segment current_segment() {
  return next_segment() - 1;
}
std::uint32_t block_of(Segment segment) {
  return blocks[segment - first];
}

void enter_block(const Block& block) {
  if (blocks.empty() || blocks.back() != block.number) blocks.push_back(block.number);
}
void order_block(Block& block) {
  block.ordered = next_segment();
  blocks.push_back(block.number);
}
Segment order_warp() {
  blocks.push_back(blocks.back());
  return current_segment();
}
void order_grid() {
  grid_barrier_at = order_warp();
}

bool ordered(Stamp earlier, const Thread& later) {
  const Block& block = *later.block;
  const Segment at = earlier.segment;
  const std::uint32_t other = block_of(at);
  if (at < grid_barrier_at) return true;
  if (other == block.number) {
    if (earlier.thread() == later.id || at < block.ordered) return true;
    if (earlier.thread() / 32 == later.id / 32 &&
        at < later.seen[static_cast<unsigned>(earlier.thread()) % 32]) {
      return true;
    }
  }
  return block.acquired.covers(other, at);
}

void publish_and_acquire(Block& block, std::uintptr_t address, Access access) {
  if (block.fenced == 0 && published.empty()) return;
  const auto word = published.find(address);
  if (word != published.end() && !is_write(access)) block.acquired.learn(word->second);
  if (block.fenced == 0 || is_read(access)) return;
  Clock& clock = word != published.end() ? word->second : published[address];
  clock.learn(block.acquired);
  clock.learn(block.number, block.fenced);
}

}  // namespace weft::host_cuda

static void fence() {
  using namespace weft::host_cuda;
  if (running != nullptr) running->block->fenced = order_warp();
}
void __threadfence() {
  fence();
}
void __threadfence_block() {
  fence();
}
void __threadfence_system() {
  fence();
}

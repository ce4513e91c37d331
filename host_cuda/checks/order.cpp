// SPDX-License-Identifier: MIT
#include "host_cuda/checks/order.h"

#include <algorithm>
#include <unordered_map>

#include "host_cuda/grid.h"

namespace weft::host_cuda {

Segments segments;
Segment grid_barrier_at = 0;
static std::unordered_map<std::uintptr_t, Clock> published;

bool Clock::knows(std::uint32_t block, Segment segment) const {
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
  const bool anew = next_segment() > kLast;
  segments.first = anew ? 1 : next_segment();
  segments.blocks.clear();
  published.clear();
  grid_barrier_at = 0;
  return anew;
}

void enter_block(const Block& block) {
  std::vector<std::uint32_t>& blocks = segments.blocks;
  if (blocks.empty() || blocks.back() != block.number) blocks.push_back(block.number);
}
void order_block(Block& block) {
  block.ordered = next_segment();
  segments.blocks.push_back(block.number);
}
Segment order_warp() {
  segments.blocks.push_back(segments.blocks.back());
  return current_segment();
}
void order_grid() {
  grid_barrier_at = order_warp();
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

// SPDX-License-Identifier: MIT
#include "host_cuda/checks/order.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "engine/error.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {

Segments segments;
Segment grid_barrier_at = 0;
bool grid_has_fences = false;

namespace {

// What strong writes have published at a word, and who has held the lock that it is.
struct Word {
  Clock device;
  std::map<std::uint32_t, Clock> in_block;  // for the threads of a block
  std::uint64_t version = 0;
  std::uint32_t holder_block = 0;
  int holder = -1;  // the thread that has held the lock, or the first without a fence
  Hold hold;        // of the latter
};
std::unordered_map<std::uintptr_t, Word> published;

Knowledge& knowledge_of(Thread& thread) {
  if (thread.knowledge == nullptr) thread.knowledge = std::make_unique<Knowledge>();
  thread.block->has_knowledge = true;
  thread.block->only_barriers = false;
  return *thread.knowledge;
}

}  // namespace

bool Clock::knows(std::uint32_t block, int thread, Segment segment) const {
  const Entry wanted{key(block, thread), 0};
  const auto at = std::lower_bound(known_.begin(), known_.end(), wanted);
  return at != known_.end() && at->first == wanted.first && segment < at->second;
}

void Clock::drop() {
  if (known_.size() <= kMost) return;
  const auto least =
      std::min_element(known_.begin(), known_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  all_ = std::max(all_, least->second);
  std::erase_if(known_, [&](const Entry& one) { return one.second <= all_; });
}

void Clock::learn(std::uint32_t block, int thread, Segment before) {
  if (before <= all_) return;
  const Entry made{key(block, thread), before};
  const auto at = std::lower_bound(known_.begin(), known_.end(), Entry{made.first, 0});
  if (at != known_.end() && at->first == made.first) {
    at->second = std::max(at->second, before);
  } else {
    known_.insert(at, made);
    drop();
  }
}

void Clock::learn(const Clock& other) {
  all_ = std::max(all_, other.all_);
  if (other.known_.empty()) return;
  if (other.known_.size() < 4) {
    for (const auto& [who, before] : other.known_) {
      learn(static_cast<std::uint32_t>(who >> 11), static_cast<int>(who & 2047) - 1, before);
    }
    return;
  }
  std::vector<Entry> both;
  both.reserve(known_.size() + other.known_.size());
  std::merge(known_.begin(), known_.end(), other.known_.begin(), other.known_.end(),
             std::back_inserter(both));
  known_.clear();
  for (const Entry& one : both) {  // of two with the same key the second knows more
    if (!known_.empty() && known_.back().first == one.first) {
      known_.back() = one;
    } else {
      known_.push_back(one);
    }
  }
  drop();
}

bool begin_order() {
  constexpr Segment kLast = 3'000'000'000;
  const bool anew = next_segment() > kLast;
  segments.first = anew ? 1 : next_segment();
  segments.blocks.clear();
  published.clear();
  grid_barrier_at = 0;
  grid_has_fences = false;
  return anew;
}

void enter_block(Block& block) {
  if (!blocks_are_checked) return;
  std::vector<std::uint32_t>& blocks = segments.blocks;
  if (!blocks.empty() && blocks.back() == block.number) return;
  block.alone_since = next_segment();
  blocks.push_back(block.number);
}
void order_block(Block& block) {
  if (!blocks_are_checked) return;
  block.ordered = next_segment();
  segments.blocks.push_back(block.number);
  block.only_barriers = !block.has_knowledge && block.acquired.empty();
  if (!block.has_knowledge) return;
  block.has_knowledge = false;
  for (int id = 0; id < block.threads; ++id) {
    Knowledge* of_thread = block.thread[static_cast<std::size_t>(id)].knowledge.get();
    if (of_thread == nullptr) continue;
    block.acquired.learn(of_thread->acquired);
    of_thread->acquired.clear();
    for (int scope = 0; scope < 2; ++scope) {
      block.released[scope].learn(of_thread->released[scope]);
      of_thread->released[scope].clear();
    }
  }
}
Segment order_warp() {
  if (!blocks_are_checked) return 0;
  segments.blocks.push_back(segments.blocks.back());
  return current_segment();
}
void order_grid() {
  grid_barrier_at = order_warp();
}

void order_lanes(Block& block, int warp, unsigned mask) {
  if (!blocks_are_checked) return;
  std::array<Segment, 32> joined{};
  Knowledge together;
  const auto lane = [&](unsigned l) -> Thread& {
    return block.thread[static_cast<std::size_t>(warp) * 32 + l];
  };
  const Segment now = order_warp();
  block.only_barriers = false;
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) == 0) continue;
    for (unsigned other = 0; other < 32; ++other) {
      joined[other] = std::max(joined[other], lane(l).seen[other]);
    }
    if (lane(l).knowledge == nullptr) continue;
    together.acquired.learn(lane(l).knowledge->acquired);
    for (int scope = 0; scope < 2; ++scope) {
      together.released[scope].learn(lane(l).knowledge->released[scope]);
    }
  }
  const bool shares =
      !together.acquired.empty() || !together.released[0].empty() || !together.released[1].empty();
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0) joined[l] = now;
  }
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) == 0) continue;
    lane(l).seen = joined;
    if (!shares) continue;
    Knowledge& its = knowledge_of(lane(l));
    its.acquired = together.acquired;
    for (int scope = 0; scope < 2; ++scope) its.released[scope] = together.released[scope];
  }
}

namespace {

void fence(Scope scope) {
  if (running == nullptr) return;
  const Unchecked here;
  order_matters();
  if (!blocks_are_checked) return;
  Thread& self = *running;
  const Block& block = *self.block;
  const Segment now = order_warp();
  Knowledge& its = knowledge_of(self);
  Clock known = block.acquired;
  known.learn(its.acquired);
  if (block.ordered > 0) known.learn(block.number, Clock::kAllThreads, block.ordered);
  const int first_lane = self.id / 32 * 32;
  for (int l = 0; l < 32; ++l) {
    const Segment seen = self.seen[static_cast<std::size_t>(l)];
    if (seen > block.ordered) known.learn(block.number, first_lane + l, seen);
  }
  known.learn(block.number, self.id, now);
  its.released[static_cast<int>(scope)] = std::move(known);
  its.has_fresh_fence = !self.watched;
  Hold& hold = its.hold;
  if (hold.word != 0 && hold.used_at == nullptr) {
    hold.fence =
        std::max(hold.fence, scope == Scope::device ? Hold::Fence::device : Hold::Fence::block);
  }
  self.watched = hold.word != 0 && hold.used_at == nullptr && hold.fence != Hold::Fence::device;
  grid_has_fences = true;
}

// `hold` is of a lock that another thread takes too, and without a fence that reaches it.
void tell_of_hold(const Hold& hold, bool same_block) {
  const bool has_block_fence = hold.fence == Hold::Fence::block;
  if (hold.used_at == nullptr || (same_block && has_block_fence)) return;
  note("lock", hold.taken_at, hold.used_at, [&] {
    return str("lock: kernel ", kernel_name(*running_grid->call), " takes a lock by atomicCAS at ",
               source_line(hold.taken_at), " and has no fence ",
               has_block_fence ? "but one of the block's scope " : "", "before the access at ",
               source_line(hold.used_at), ", and another ", same_block ? "thread" : "block",
               " takes the same lock: a __threadfence() between the two lines orders them");
  });
}

void give_back(Thread& by, Word& lock) {
  const std::uint32_t block = by.block->number;
  const Hold& mine = by.knowledge->hold;
  const bool another = lock.holder >= 0 && (lock.holder != by.id || lock.holder_block != block);
  if (lock.hold.used_at == nullptr) {
    if (another) tell_of_hold(mine, lock.holder_block == block);
    lock.hold = mine;
    lock.holder = by.id;
    lock.holder_block = block;
  } else if (another) {
    tell_of_hold(lock.hold, lock.holder_block == block);
  }
  by.knowledge->hold = {};
}

}  // namespace

void publish_and_acquire(Thread& by, std::uintptr_t address, Access access) {
  Block& block = *by.block;
  Knowledge* its = by.knowledge.get();
  if (published.empty() && its == nullptr && block.released[0].empty() &&
      block.released[1].empty()) {
    return;
  }
  const auto found = published.find(address);
  Word* word = found != published.end() ? &found->second : nullptr;
  if (word != nullptr && !is_write(access) &&
      (its == nullptr || its->last_word != address || its->last_version != word->version)) {
    its = &knowledge_of(by);
    its->acquired.learn(word->device);
    const auto local = word->in_block.find(block.number);
    if (local != word->in_block.end()) its->acquired.learn(local->second);
    its->last_word = address;
    its->last_version = word->version;
  }
  if (is_read(access)) return;
  if (word != nullptr && access == Access::volatile_write) {  // no atomic one: it begins anew
    word->device.clear();
    word->in_block.clear();
    ++word->version;
  }
  const auto publish = [&](Clock& to, Scope scope) {
    if (its != nullptr) to.learn(its->released[static_cast<int>(scope)]);
    to.learn(block.released[static_cast<int>(scope)]);
  };
  Clock to_device, to_block;
  publish(is_of_block(access) ? to_block : to_device, Scope::device);
  publish(to_block, Scope::block);
  if (!to_device.empty() || !to_block.empty()) {
    word = &published[address];
    word->device.learn(to_device);
    if (!to_block.empty()) word->in_block[block.number].learn(to_block);
    ++word->version;
  }
  if (its == nullptr) return;
  its->has_fresh_fence = false;
  if (its->hold.word == address && !is_compare_and_swap(access)) give_back(by, published[address]);
}

void lock_taken(Thread& by, std::uintptr_t word, const void* site) {
  if (!blocks_are_checked) return;
  const Unchecked here;
  knowledge_of(by).hold = {word, site, nullptr, Hold::Fence::none};
}

void lock_used(Thread& by, const void* site) {
  if (by.knowledge == nullptr) return;
  Hold& hold = by.knowledge->hold;
  if (hold.word != 0 && hold.used_at == nullptr && hold.fence != Hold::Fence::device) {
    hold.used_at = site;
  }
}

}  // namespace weft::host_cuda

void __threadfence() {
  weft::host_cuda::fence(weft::host_cuda::Scope::device);
}
void __threadfence_block() {
  weft::host_cuda::fence(weft::host_cuda::Scope::block);
}
void __threadfence_system() {
  weft::host_cuda::fence(weft::host_cuda::Scope::device);
}

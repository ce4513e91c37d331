// SPDX-License-Identifier: MIT
#include "host_cuda/counts/flow.h"

#include <algorithm>
#include <cstring>

namespace weft::host_cuda {
namespace {

#ifdef __x86_64__
constexpr std::ptrdiff_t kHookBytes = 5;   // of the call that a basic block begins with
constexpr std::ptrdiff_t kJumpBytes = 6;   // of a conditional jump, at most
constexpr std::ptrdiff_t kMoveBytes = 64;  // behind or before a jump, at most

// Does code from `at` come to `way` after a few moves, and perhaps a jump?
bool leads_to(const unsigned char* at, const unsigned char* way) {
  if (way >= at && way - at < kMoveBytes) return true;
  for (const unsigned char* end = at + kMoveBytes; at < end; ++at) {
    std::int32_t distance = 0;
    std::memcpy(&distance, at + 1, sizeof distance);
    if (*at == 0xeb && at + 2 + static_cast<std::int8_t>(at[1]) == way) return true;
    if (*at == 0xe9 && at + 5 + distance == way) return true;
  }
  return false;
}
#else
constexpr std::ptrdiff_t kHookBytes = 4;
#endif

}  // namespace

// The strongly connected components of some nodes, without the edges into one of them: Tarjan,
// "Depth-first search and linear graph algorithms" (1972). Components come in an order in which
// each leads only to earlier ones.
class Flow::Components {
 public:
  Components(const std::vector<Node>& nodes, std::span<const std::uint32_t> members)
      : nodes_(nodes), state_(nodes.size()) {
    for (const std::uint32_t member : members) state_[member].member = true;
    for (const std::uint32_t member : members) {
      if (state_[member].number == 0) visit(member);
    }
  }
  const std::vector<std::vector<std::uint32_t>>& found() const { return found_; }

 private:
  struct State {
    bool member = false, on_stack = false;
    std::uint32_t number = 0, lowest = 0;
  };

  void visit(std::uint32_t at) {
    State& self = state_[at];
    self.number = self.lowest = ++count_;
    self.on_stack = true;
    stack_.push_back(at);
    for (const std::uint32_t to : nodes_[at].next) {
      State& other = state_[to];
      if (!other.member) continue;
      if (other.number == 0) visit(to);
      if (other.on_stack) self.lowest = std::min(self.lowest, other.lowest);
    }
    if (self.lowest != self.number) return;
    const auto first = std::find(stack_.begin(), stack_.end(), at);
    found_.emplace_back(first, stack_.end());
    for (const std::uint32_t one : found_.back()) state_[one].on_stack = false;
    stack_.erase(first, stack_.end());
  }

  const std::vector<Node>& nodes_;
  std::vector<State> state_;
  std::vector<std::uint32_t> stack_;
  std::vector<std::vector<std::uint32_t>> found_;
  std::uint32_t count_ = 0;
};

std::uint32_t Flow::node(const void* site, std::uint64_t context) {
  const auto address = reinterpret_cast<std::uintptr_t>(site);
  const auto [found, is_new] =
      by_key_.try_emplace(context ^ address, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_.emplace_back().site = site;
    sites_.insert(std::upper_bound(sites_.begin(), sites_.end(), site), site);
    changed_ = true;
  }
  return found->second;
}

void Flow::edge(std::uint32_t from, std::uint32_t to) {
  std::vector<std::uint32_t>& next = nodes_[from].next;
  if (std::find(next.begin(), next.end(), to) != next.end()) return;
  next.push_back(to);
  changed_ = true;
}

void Flow::order() {
  if (!changed_) return;
  std::vector<std::uint32_t> all(nodes_.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  next_rank_ = 0;
  place(all, {});
  changed_ = false;
}

// Gives the members their ranks. The header of a loop is the node that a thread came to first: the
// only one by which it can be entered, unless a goto leads into its middle.
void Flow::place(std::span<const std::uint32_t> members, const std::vector<std::uint32_t>& loops) {
  const Components components(nodes_, members);
  for (auto one = components.found().rbegin(); one != components.found().rend(); ++one) {
    const std::uint32_t header = *std::min_element(one->begin(), one->end());
    const std::vector<std::uint32_t>& next = nodes_[header].next;
    const bool is_loop =
        one->size() > 1 || std::find(next.begin(), next.end(), header) != next.end();
    std::vector<std::uint32_t> around = loops;
    if (is_loop) around.push_back(header);
    nodes_[header].rank = next_rank_++;
    nodes_[header].loops = around;
    std::vector<std::uint32_t> rest;
    std::copy_if(one->begin(), one->end(), std::back_inserter(rest),
                 [&](std::uint32_t node) { return node != header; });
    if (!rest.empty()) place(rest, around);
  }
}

const void* Flow::branch_site(std::uint32_t node) const {
  const void* begin = nodes_[node].site;
  const auto next = std::upper_bound(sites_.begin(), sites_.end(), begin);
  if (next == sites_.end()) return begin;
#ifdef __x86_64__
  // Behind the jump there may be moves for the way that goes straight on.
  const auto* const hook = static_cast<const unsigned char*>(*next) - kHookBytes;
  const auto* const first = static_cast<const unsigned char*>(begin) + kJumpBytes;
  for (const unsigned char* past = hook; past >= first && hook - past < kMoveBytes; --past) {
    if (jumps_to_a_way(node, past, hook)) return past;
  }
  return hook;
#else
  return static_cast<const char*>(*next) - kHookBytes;
#endif
}

#ifdef __x86_64__
// Is the instruction before `past` a conditional jump to a way of the node that is not at `hook`?
bool Flow::jumps_to_a_way(std::uint32_t node, const unsigned char* past,
                          const unsigned char* hook) const {
  std::int32_t distance = 0;
  if (past[-6] == 0x0f && (past[-5] & 0xf0) == 0x80) {
    std::memcpy(&distance, past - 4, sizeof distance);
  } else if ((past[-2] & 0xf0) == 0x70) {
    distance = static_cast<std::int8_t>(past[-1]);
  } else {
    return false;
  }
  const unsigned char* const target = past + distance;
  constexpr std::ptrdiff_t kNear = 256;  // no jump leads farther out of what the threads have run
  if (target < sites_.front() ||
      target > static_cast<const unsigned char*>(sites_.back()) + kNear) {
    return false;
  }
  return std::any_of(nodes_[node].next.begin(), nodes_[node].next.end(), [&](std::uint32_t to) {
    const auto* way = static_cast<const unsigned char*>(nodes_[to].site) - kHookBytes;
    return way != hook && leads_to(target, way);
  });
}
#endif

std::size_t Flow::common_loops(std::uint32_t a, std::uint32_t b) const {
  const std::vector<std::uint32_t>&x = nodes_[a].loops, &y = nodes_[b].loops;
  return static_cast<std::size_t>(std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first -
                                  x.begin());
}

Flow::Trips Flow::trips_after(Trips trips, std::uint32_t from, std::uint32_t to) const {
  const std::size_t common = common_loops(from, to);
  const std::vector<std::uint32_t>& loops = nodes_[to].loops;
  trips.resize(common);
  const bool again = common > 0 && common == loops.size() && loops.back() == to;
  if (again) ++trips.back();
  trips.resize(loops.size(), 0);
  return trips;
}

std::strong_ordering Flow::compare(std::uint32_t a, const Trips& trips_a, std::uint32_t b,
                                   const Trips& trips_b) const {
  const std::size_t common = common_loops(a, b);
  for (std::size_t i = 0; i < common; ++i) {
    if (trips_a[i] != trips_b[i]) return trips_a[i] <=> trips_b[i];
  }
  return nodes_[a].rank <=> nodes_[b].rank;
}

}  // namespace weft::host_cuda

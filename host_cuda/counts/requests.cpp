// SPDX-License-Identifier: MIT
#include "host_cuda/counts/requests.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "host_cuda/counts/flow.h"
#include "host_cuda/grid.h"
#include "host_cuda/sample/idle_hooks.h"

namespace weft::host_cuda {

bool somebody_listens = false;

namespace {

using Event = ThreadTrace::Event;

std::vector<RequestListener*> listeners;
std::unordered_map<const void*, Flow> flows;  // by kernel
Flow* flow = nullptr;                         // of the running one

// Instructions are remembered as distances from this one.
char* code_origin() {
  return reinterpret_cast<char*>(&record_launch);
}
std::uint32_t code_of(const void* site) {
  return static_cast<std::uint32_t>(
      static_cast<std::int32_t>(static_cast<const char*>(site) - code_origin()));
}
const void* instruction(std::uint32_t code) {
  return code_origin() + static_cast<std::int32_t>(code);
}

void read_value(Event& event) {
  event.open = false;
  std::memcpy(event.value.data(), reinterpret_cast<const void*>(event.address),
              std::min<std::size_t>(event.bytes, sizeof event.value));
}

ThreadTrace& trace_of(Block& block, int id) {
  return block.thread[static_cast<std::size_t>(id)].trace;
}

// Makes a warp's steps out of the events of its lanes since the last barrier.
class Merger {
 public:
  explicit Merger(Block& block) : block_(block) {}

  void run(int warp, std::uint32_t phase) {
    place_.block = block_.index;
    place_.warp = warp;
    place_.phase = phase;
    const auto number = static_cast<std::size_t>(warp);
    if (block_.steps.size() <= number) block_.steps.resize(number + 1);
    place_.step = block_.steps[number];
    groups_.clear();
    for (int lane = 0; lane < 32 && warp * 32 + lane < block_.threads; ++lane) {
      const std::vector<Event>& events = trace_of(block_, warp * 32 + lane).events;
      const auto at = static_cast<std::size_t>(lane);
      cursor_[at] = events.data();
      end_[at] = events.data() + events.size();
      if (!events.empty()) add(events[0].code, 1u << lane, flow->first_trips(events[0].code));
    }
    while (!groups_.empty()) {
      const Group first = std::move(groups_.back());
      groups_.pop_back();
      step(first);
    }
    block_.steps[number] = place_.step;
  }

 private:
  struct Group {  // lanes that are about to run the same basic block in the same trips
    std::uint32_t node, lanes;
    Flow::Trips trips;
  };

  void add(std::uint32_t node, std::uint32_t lanes, Flow::Trips trips) {
    auto at = groups_.end();  // the earliest in the program comes last
    while (at != groups_.begin()) {
      const Group& other = *(at - 1);
      const auto order = flow->compare(node, trips, other.node, other.trips);
      if (order < 0) break;
      --at;
      if (order == 0) {
        at->lanes |= lanes;
        return;
      }
    }
    groups_.insert(at, {node, lanes, std::move(trips)});
  }

  void step(const Group& group) {
    place_.trips = group.trips;
    ways_.clear();
    open_ = 0;
    for (std::uint32_t rest = group.lanes; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
      const Event*& event = cursor_[lane];
      std::size_t expected = 0;
      for (++event; event != end_[lane] && event->bytes > 0; ++event) {
        expected = put(*event, lane, expected) + 1;
      }
      if (event != end_[lane]) add_way(event->code, 1u << lane);
    }
    const Step now{place_,      group.node, flow->site(group.node), flow->branch_site(group.node),
                   group.lanes, ways_};
    for (RequestListener* one : listeners) one->step(now);
    for (std::size_t i = 0; i < open_; ++i) {
      requests_[i].place = &place_;
      for (RequestListener* one : listeners) {
        requests_[i].product ? one->product(requests_[i]) : one->request(requests_[i]);
      }
    }
    ++place_.step;
    for (const Way& way : ways_) {
      add(way.node, way.lanes, flow->trips_after(group.trips, group.node, way.node));
    }
  }

  void add_way(std::uint32_t node, std::uint32_t lane) {
    for (Way& way : ways_) {
      if (way.node == node) {
        way.lanes |= lane;
        return;
      }
    }
    ways_.push_back({node, lane});
  }

  // Puts a lane's access to the request that it belongs to, and returns that one's number.
  std::size_t put(const Event& event, std::size_t lane, std::size_t expected) {
    const void* site = instruction(event.code);
    const auto fits = [&](std::size_t i) {
      const Request& one = requests_[i];
      return one.site == site && one.kind == event.kind && one.product == event.product &&
             (one.lanes >> lane & 1u) == 0;
    };
    std::size_t at = expected;
    if (at >= open_ || !fits(at)) {
      for (at = 0; at < open_ && !fits(at);) ++at;
    }
    if (at == open_) {
      if (requests_.size() == open_) requests_.emplace_back();
      Request& fresh = requests_[open_++];
      fresh.site = site;
      fresh.kind = event.kind;
      fresh.product = event.product;
      fresh.bytes = fresh.lanes = 0;
    }
    Request& request = requests_[at];
    request.lanes |= 1u << lane;
    request.bytes = std::max<std::uint32_t>(request.bytes, event.bytes);
    request.address[lane] = event.address;
    request.value[lane] = event.value;
    return at;
  }

  Block& block_;
  Place place_;
  std::array<const Event*, 32> cursor_{}, end_{};
  std::vector<Group> groups_;
  std::vector<Way> ways_;
  std::vector<Request> requests_;  // of the step, the first open_
  std::size_t open_ = 0;
};

void tell_warps(Block& block, std::uint32_t phase) {
  flow->order();
  Merger merger(block);
  for (int warp = 0; warp * 32 < block.threads; ++warp) merger.run(warp, phase);
}

}  // namespace

RequestListener::RequestListener() {
  listeners.push_back(this);
  somebody_listens = true;
}
RequestListener::~RequestListener() {
  std::erase(listeners, this);
  somebody_listens = !listeners.empty();
  if (listeners.empty()) flows.clear();
}

void record_launch(const Grid& grid) {
  flow = &flows[grid.call->kernel()];
  for (RequestListener* one : listeners) one->launch(grid);
}

void record_block_begin(Block& block) {
  block.steps.clear();
  for (int id = 0; id < block.threads; ++id) {
    ThreadTrace& trace = trace_of(block, id);
    trace.events.clear();
    trace.open.clear();
    trace.calls.clear();
    trace.context = 0;
    trace.node = UINT32_MAX;
  }
  for (RequestListener* one : listeners) one->block_begin(block);
}

void record_access(Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                   const void* site) {
  if (thread.trace.events.empty()) return;  // before its first basic block
  const auto most = static_cast<std::uint16_t>(std::min<std::size_t>(bytes, UINT16_MAX));
  ThreadTrace& trace = thread.trace;
  const auto is_met = [&](std::size_t at) {
    const Event& one = trace.events[at];
    return one.address < address + bytes && address < one.address + one.bytes;
  };
  if (std::any_of(trace.open.begin(), trace.open.end(), is_met)) record_values(thread);
  Event& made = trace.events.emplace_back();
  made.address = address;
  made.code = code_of(site);
  made.bytes = most;
  made.kind = kind;
  made.open = kind != AccessKind::global_load && kind != AccessKind::shared_load;
  if (made.open) {
    trace.open.push_back(trace.events.size() - 1);
  } else {
    read_value(made);
  }
}

void record_bad_access(Thread& thread, std::uintptr_t address, std::size_t bytes, AccessKind kind,
                       const void* site) {
  if (thread.trace.events.empty()) return;  // as above
  Event& made = thread.trace.events.emplace_back();
  made.address = address;
  made.code = code_of(site);
  made.bytes = static_cast<std::uint16_t>(std::min<std::size_t>(bytes, UINT16_MAX));
  made.kind = kind;
}

void record_values(Thread& thread) {
  for (const std::size_t at : thread.trace.open) read_value(thread.trace.events[at]);
  thread.trace.open.clear();
}

void record_finding(const std::string& text, const void* site) {
  for (RequestListener* one : listeners) one->finding(running, text, site);
}

void record_product(Thread& thread, std::uintptr_t op, const void* site) {
  if (thread.trace.events.empty()) return;  // as above
  Event& made = thread.trace.events.emplace_back();
  made.address = op;
  made.code = code_of(site);
  made.bytes = 1;
  made.kind = AccessKind::shared_load;
  made.product = true;
}

void record_barrier(Block& block, std::uint32_t phase, const void* site) {
  tell_warps(block, phase);
  for (int id = 0; id < block.threads; ++id) {
    ThreadTrace& trace = trace_of(block, id);
    trace.events.clear();
    trace.open.clear();
    if (trace.node != UINT32_MAX) trace.events.push_back({.code = trace.node});
  }
  for (RequestListener* one : listeners) one->barrier(block, site);
}

void record_block_end(Block& block) {
  tell_warps(block, block.phase);
  for (RequestListener* one : listeners) one->block_end(block);
}

}  // namespace weft::host_cuda

using namespace weft::host_cuda;

#ifndef __SANITIZE_ADDRESS__
namespace weft::host_cuda {
namespace {

void enter_node(Thread& thread, const void* site) {
  record_values(thread);
  ThreadTrace& trace = thread.trace;
  const std::uint32_t node = flow->node(site, trace.context);
  if (trace.node != UINT32_MAX) flow->edge(trace.node, node);
  trace.node = node;
  trace.events.push_back({.code = node});
}

}  // namespace
}  // namespace weft::host_cuda

// The compiler calls these at the start of each basic block, and of each function.
#define WEFT_IDLE(hook) \
  was_idle(__builtin_return_address(0), reinterpret_cast<const void*>(hook), Idle::always)
extern "C" void __sanitizer_cov_trace_pc() {
  if (!recording()) return WEFT_IDLE(__sanitizer_cov_trace_pc);
  if (checked == nullptr) return;
  const Unchecked here;
  enter_node(*running, __builtin_return_address(0));
}
extern "C" void __tsan_func_entry(void* call_site) {
  if (!recording()) return WEFT_IDLE(__tsan_func_entry);
  if (checked == nullptr) return;
  const Unchecked here;
  ThreadTrace& trace = running->trace;
  trace.calls.push_back({trace.context, call_site});
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15u;
  trace.context = (trace.context + reinterpret_cast<std::uintptr_t>(call_site)) * kOdd;
}
extern "C" void __tsan_func_exit() {
  if (!recording()) return WEFT_IDLE(__tsan_func_exit);
  if (checked == nullptr) return;
  const Unchecked here;
  ThreadTrace& trace = running->trace;
  if (trace.calls.empty()) return;
  const ThreadTrace::Call call = trace.calls.back();
  trace.calls.pop_back();
  trace.context = call.context;
  enter_node(*running, call.site);
}
#endif

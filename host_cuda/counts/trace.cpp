// SPDX-License-Identifier: MIT
// Records what the warps of a few blocks do.
#include "host_cuda/access/access_trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "engine/error.h"
#include "engine/extent.h"
#include "host_cuda/counts/access_cost.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"

namespace weft::host_cuda {
namespace {

using What = TracedEvent::What;

// A list of different strings, with the place of each.
class Words {
 public:
  explicit Words(std::vector<std::string>& list) : list_(list) {}
  std::uint32_t place(const std::string& word) {
    const auto [at, fresh] = places_.try_emplace(word, static_cast<std::uint32_t>(list_.size()));
    if (fresh) list_.push_back(word);
    return at->second;
  }

 private:
  std::vector<std::string>& list_;
  std::unordered_map<std::string, std::uint32_t> places_;
};

std::string count_text(std::uint64_t count, const char* one, const char* more) {
  return str(count, " ", count == 1 ? one : more);
}

std::uint32_t number_of(uint3 block, const dim3& grid) {
  return block.x + grid.x * (block.y + grid.y * block.z);
}

const char* product_name(std::uintptr_t op) {
  switch (static_cast<WarpOp>(op)) {
    case WarpOp::mma_tf32_k8:
      return "mma.m16n8k8 of tf32";
    case WarpOp::mma_bf16_k8:
      return "mma.m16n8k8 of bf16";
    default:
      return "mma.m16n8k16 of bf16";
  }
}

class Recorder : public RequestListener {
 public:
  explicit Recorder(const TraceOptions& options) : options_(options) {}

  void launch(const Grid& grid) override {
    finish_launch();
    blocks_ = 0;
    if (total_ >= options_.events) {
      ++trace_.launches_left_out;
      return;
    }
    shape_ = grid.grid;
    now_ = &trace_.launches.emplace_back();
    now_->kernel = kernel_name(*grid.call);
    const dim3 shapes[] = {grid.grid, grid.block};
    std::uint32_t* const to[] = {now_->grid, now_->block};
    for (int i = 0; i < 2; ++i) {
      to[i][0] = shapes[i].x;
      to[i][1] = shapes[i].y;
      to[i][2] = shapes[i].z;
    }
    now_->shared_bytes = grid.shared_bytes;
    const std::uint64_t all = std::uint64_t{shape_.x} * shape_.y * shape_.z;
    first_ = std::min(options_.first_block, all - 1);
    blocks_ = std::min(options_.blocks, all - first_);
    now_->first_block = static_cast<std::uint32_t>(first_);
    now_->blocks = static_cast<std::uint32_t>(blocks_);
    now_->warps = divide_up(grid.block.x * grid.block.y * grid.block.z, 32u);
    arguments_ = grid.call->pointers();
  }

  void block_begin(const Block& block) override {
    dynamic_[number_of(block.index, shape_)] =
        reinterpret_cast<std::uintptr_t>(block.dynamic.get());
  }

  void request(const Request& request) override {
    TracedEvent* event = add(What::request, *request.place, request.site, request.lanes);
    if (event == nullptr) return;
    const AccessCost cost = cost_of(request);
    event->kind = request.kind;
    event->bytes = request.bytes;
    event->sentence = sentences_.place(sentence_of(request, cost));
    event->transactions = static_cast<std::uint32_t>(cost.transactions);
    event->least = static_cast<std::uint32_t>(cost.least);
    event->together = static_cast<std::uint32_t>(cost.together);
    std::uintptr_t lowest = UINTPTR_MAX;
    each_lane(request.lanes,
              [&](std::size_t lane) { lowest = std::min(lowest, request.address[lane]); });
    const std::uintptr_t begin = begin_of_array(lowest, request.kind, *event);
    each_lane(request.lanes, [&](std::size_t lane) {
      event->offsets.push_back(static_cast<std::int64_t>(request.address[lane] - begin));
      event->values.push_back(request.value[lane][0]);
      if (request.bytes > 8) event->values.push_back(request.value[lane][1]);
    });
    const auto is_here = [&](const Found& one) {
      return one.site == request.site && one.warp == request.place->warp &&
             one.phase == request.place->phase && (request.lanes & one.lanes) != 0;
    };
    const auto found = std::find_if(found_.begin(), found_.end(), is_here);
    if (found == found_.end()) return;
    add_found(*found, *request.place);
    found_.erase(found);
  }

  // The requests of the block so far are told later.
  void finding(const Thread* thread, const std::string& text, const void* site) override {
    if (now_ == nullptr) return;
    Found made{site, -1, 0, 0, text};
    if (thread != nullptr) {
      made.warp = thread->id / 32;
      made.phase = thread->block->phase;
      made.lanes = 1u << thread->id % 32;
    }
    found_.push_back(std::move(made));
  }

  // The events of a block that is not to be shown are kept where a finding is in it. Then this
  // block is shown alone.
  void block_end(const Block& block) override {
    if (now_ == nullptr) return;
    Place place;
    place.block = block.index;
    place.phase = block.phase;
    const std::uint32_t number = number_of(block.index, shape_);
    for (const Found& one : std::exchange(found_, {})) {
      place.warp = std::max(one.warp, 0);
      add_found(one, place);
    }
    if (number - first_ < blocks_) return;
    const bool has_finding =
        !has_found_ &&
        std::any_of(now_->events.begin(), now_->events.end(), [&](const TracedEvent& one) {
          return one.what == What::finding && one.block == number;
        });
    std::erase_if(now_->events,
                  [&](const TracedEvent& one) { return (one.block == number) != has_finding; });
    if (!has_finding) return;
    has_found_ = true;
    first_ = number;
    blocks_ = 1;
    now_->first_block = number;
    now_->blocks = 1;
    now_->left_out = 0;
  }

  void product(const Request& request) override {
    TracedEvent* event = add(What::product, *request.place, request.site, request.lanes);
    if (event == nullptr) return;
    event->sentence = sentences_.place(str(product_name(request.address[0]),
                                           ": the warp multiplies a 16-row tile of A by an "
                                           "8-column tile of B, and each lane holds its fragments "
                                           "of both and 4 of the 128 sums."));
  }

  void step(const Step& step) override {
    if (step.ways.size() < 2) return;
    TracedEvent* event = add(What::branch, step.place, step.branch_site, step.lanes);
    if (event == nullptr) return;
    std::string text = "The lanes part: ";
    for (std::size_t i = 0; i < step.ways.size(); ++i) {
      const std::uint32_t lanes = step.ways[i].lanes;
      event->parting.push_back(lanes);
      text += i == 0 ? count_text(static_cast<std::uint64_t>(std::popcount(lanes)), "lane goes",
                                  "lanes go") +
                           " one way"
                     : str(", ", std::popcount(lanes), " another");
    }
    event->sentence = sentences_.place(text + ". The warp takes one way after the other.");
  }

  void barrier(const Block& block, const void* site) override {
    Place place;
    place.block = block.index;
    std::uint32_t& passed = passed_[number_of(block.index, shape_)];
    place.phase = passed++;
    TracedEvent* event = add(What::barrier, place, site, ~0u);
    if (event == nullptr) return;
    event->sentence = sentences_.place(str(
        "Barrier ", passed, ": ",
        now_->warps == 1 ? "the warp of the block has" : str("all ", now_->warps, " warps have"),
        " arrived. What a thread wrote before it, every thread of the block may read now."));
  }

  AccessTrace result() {
    finish_launch();
    find_lines();
    for (const std::string& line : trace_.lines) read_sources(line);
    return std::move(trace_);
  }

 private:
  TracedEvent* add(What what, const Place& place, const void* site, std::uint32_t lanes) {
    const std::uint64_t block = number_of(place.block, shape_);
    if (now_ == nullptr || (has_found_ && block - first_ >= blocks_)) return nullptr;
    // What is thinned out later has to be there, but not all of a launch that takes hours.
    if (now_->events.size() >= 20 * options_.launch_events) {
      ++now_->left_out;
      return nullptr;
    }
    TracedEvent& event = now_->events.emplace_back();
    event.what = what;
    event.block = static_cast<std::uint32_t>(block);
    event.phase = place.phase;
    event.warp = static_cast<std::uint32_t>(place.warp);
    event.lanes = lanes;
    const auto [at, fresh] = places_.try_emplace(site, static_cast<std::uint32_t>(sites_.size()));
    if (fresh) sites_.push_back(site);
    event.line = at->second;  // find_lines() makes a line of it
    event.trips.assign(place.trips.begin(), place.trips.end());
    return &event;
  }

  struct Found {
    const void* site;
    int warp;
    std::uint32_t phase, lanes;
    std::string text;
  };
  void add_found(const Found& one, const Place& place) {
    TracedEvent* event = add(What::finding, place, one.site, one.lanes);
    if (event == nullptr) return;
    event->sentence = sentences_.place(one.text);
    if (number_of(place.block, shape_) - first_ < blocks_) has_found_ = true;
  }

  // Where the array begins that `address` is in; sets event.array.
  std::uintptr_t begin_of_array(std::uintptr_t address, AccessKind kind, TracedEvent& event) {
    if (is_global(kind)) {
      const auto [begin, bytes] = allocation_of(address);
      if (begin != 0) return set_array(event, begin, begin, {"", bytes, false});
      const std::uintptr_t line = address / 128 * 128;
      return set_array(event, line, line, {"other memory", 0, false});
    }
    const Variable* variable = nearest_shared_variable(address);
    if (variable != nullptr && address - variable->begin < variable->bytes) {
      return set_array(event, variable->begin, variable->begin,
                       {variable->name, variable->bytes, true});
    }
    // Dynamic shared memory is elsewhere in each block.
    return set_array(event, 0, dynamic_[event.block],
                     {"dynamic shared memory", now_->shared_bytes, true});
  }

  std::uintptr_t set_array(TracedEvent& event, std::uintptr_t key, std::uintptr_t begin,
                           TracedArray array) {
    const auto [at, fresh] =
        arrays_.try_emplace(key, static_cast<std::uint32_t>(trace_.arrays.size()));
    if (fresh) {
      if (array.name.empty()) {
        array.name = allocation_at(key).name;
        if (!array.name.starts_with("__device__")) array.name = str("global array ", ++globals_);
      }
      trace_.arrays.push_back(std::move(array));
    }
    event.array = at->second;
    return begin;
  }

  // Leaves out warps, half of them each time, until the events are few enough; and then the last.
  void finish_launch() {
    if (now_ == nullptr) return;
    std::vector<TracedEvent>& events = now_->events;
    const std::size_t most = std::min(options_.launch_events, options_.events - total_);
    while (events.size() > most && now_->warps > 1) {
      now_->warps = divide_up(now_->warps, 2u);
      now_->left_out += std::erase_if(
          events, [&](const TracedEvent& event) { return event.warp >= now_->warps; });
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const TracedEvent& a, const TracedEvent& b) { return a.block < b.block; });
    if (events.size() > most) {
      now_->left_out += events.size() - most;
      events.resize(most);
    }
    total_ += events.size();
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      const auto address = reinterpret_cast<std::uintptr_t>(arguments_[i]);
      const auto array = arrays_.find(allocation_of(address).first);
      if (address == 0 || array == arrays_.end()) continue;
      now_->pointers.push_back(
          {static_cast<std::uint32_t>(i), array->second, address - array->first});
    }
    now_ = nullptr;
    has_found_ = false;
    found_.clear();
    passed_.clear();
  }

  void find_lines() {
    find_source_lines(sites_);
    Words lines(trace_.lines);
    std::vector<std::uint32_t> line_of;
    for (const void* site : sites_) line_of.push_back(lines.place(source_line(site)));
    for (TracedLaunch& launch : trace_.launches) {
      for (TracedEvent& event : launch.events) event.line = line_of[event.line];
    }
  }

  // Of "a.cuh:19, called at b.cu:23", both files.
  void read_sources(const std::string& line) {
    constexpr std::string_view kBetween = ", called at ";
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(kBetween, at), line.size());
      const std::string path = line.substr(at, line.rfind(':', end - 1) - at);
      at = end + kBetween.size();
      if (trace_.sources.contains(path)) continue;
      std::string text = source_text(path);
      if (text.empty()) {  // a program of `weft lab`
        std::ifstream file(path);
        text = {std::istreambuf_iterator<char>(file), {}};
      }
      if (!text.empty()) trace_.sources[path] = std::move(text);
    }
  }

  const TraceOptions options_;
  AccessTrace trace_;
  Words sentences_{trace_.sentences};
  std::vector<const void*> sites_;                         // of events
  std::unordered_map<const void*, std::uint32_t> places_;  // among them
  TracedLaunch* now_ = nullptr;
  dim3 shape_;
  std::uint64_t first_ = 0, blocks_ = 0;
  std::size_t total_ = 0;  // events of the launches before
  std::uint32_t globals_ = 0;
  std::vector<const void*> arguments_;  // of the launch
  std::vector<Found> found_;  // in the running block, of which the request is not told yet
  bool has_found_ = false;    // in a block that is shown
  std::unordered_map<std::uintptr_t, std::uint32_t> arrays_;   // by begin; dynamic shared memory: 0
  std::unordered_map<std::uint64_t, std::uint32_t> passed_;    // barriers, by block
  std::unordered_map<std::uint64_t, std::uintptr_t> dynamic_;  // shared memory, by block
};

}  // namespace
}  // namespace weft::host_cuda

namespace weft {

AccessTrace trace_accesses(const std::function<void()>& work, const TraceOptions& options) {
  host_cuda::Recorder recorder(options);
  work();
  return recorder.result();
}

}  // namespace weft

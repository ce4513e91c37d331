// SPDX-License-Identifier: MIT
// Runs the threads of a grid on fibers: a thread runs until it waits, then another one.
#include "host_cuda/grid.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include "engine/error.h"
#include "engine/stop.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/checks/statics.h"
#include "host_cuda/checks/stream_order.h"
#include "host_cuda/counts/requests.h"
#include "host_cuda/findings/fault.h"
#include "host_cuda/host_cuda.h"
#include "host_cuda/memory/device_memory.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/printing.h"
#include "host_cuda/sample/repeats.h"
#include "host_cuda/sample/sample.h"
#include "host_cuda/shuffler.h"
#include "host_cuda/stuck.h"
#include "host_cuda/turns.h"
#include "host_cuda/workers/share.h"
#include "host_cuda/workers/unchecked.h"
#include "host_cuda/workers/workers.h"

namespace weft::host_cuda {

// The built-in variables, which kernels see as const, under names by which they can be set.
uint3 thread_index asm("threadIdx"), block_index asm("blockIdx");
dim3 block_shape asm("blockDim"), grid_shape asm("gridDim");

WEFT_OF_HOST_THREAD Thread* running = nullptr;
WEFT_OF_HOST_THREAD Thread* in_kernel_code = nullptr;
WEFT_OF_HOST_THREAD Thread* checked = nullptr;
const Grid* running_grid = nullptr;

namespace {

constexpr int kPatience = 10000;  // rounds in which threads only poll

Told failure;                           // why the grid ended early, without its kernel
bool stopped = false;                   // was that a wish?
StopQuestion stop_requested = nullptr;  // of set_stop()

std::vector<std::unique_ptr<Block>> idle_blocks;  // their stacks serve the next grid

std::string coordinates(uint3 at) {
  return str("(", at.x, ", ", at.y, ", ", at.z, ")");
}

class Runner {
 public:
  Runner(const Grid& grid, std::uint64_t schedule, Sample& sample)
      : grid_(grid), sample_(sample), shuffled_(schedule != 0), shuffler_(schedule) {
    in_turn = !shuffled_ && !recording();
  }

  void run() {
    const std::uint64_t total = std::uint64_t{grid_.grid.x} * grid_.grid.y * grid_.grid.z;
    order_.resize(total);
    std::iota(order_.begin(), order_.end(), 0u);
    if (shuffled_) shuffler_.shuffle(order_);
    run(0, total);
  }

  // Has one of the blocks that still run lost a thread?
  bool has_lost() const {
    if (worker_has_lost()) return true;
    return std::any_of(blocks_.begin(), blocks_.end(),
                       [](const std::unique_ptr<Block>& one) { return one->has_lost; });
  }

  // Puts back what a failure has left.
  ~Runner() {
    for (std::unique_ptr<Block>& block : blocks_) {
      flush_printed(*block);
      if (recording() && lists_findings()) record_block_end(*block);
      for (Thread& thread : block->thread) abandon_accesses(thread);
      idle_blocks.push_back(std::move(block));
    }
    running = nullptr;
  }

 private:
  // The blocks of this stretch of the order.
  void run(std::uint64_t next, std::uint64_t total) {
    const std::size_t at_once = grid_.cooperative ? total : shuffled_ ? 2 : 1;
    if (at_once > 1) begin_statics();
    const std::uint64_t first = next;
    WorkerShare share(grid_.call->kernel());
    UncheckedShare unchecked(grid_.call->kernel());
    std::uint64_t shared = 0;  // blocks that workers have run
    const auto piece = [this](std::uint64_t from, std::uint64_t to) {
      run(from, to);
      return failure.text.empty();
    };
    while (next < total || !blocks_.empty()) {
      if (blocks_.empty()) sample_.block_begins(next);
      if (at_once == 1 && blocks_.empty() && blocks_are_checked) {
        const std::uint64_t count = share.run(next - first - shared, next, total, piece);
        shared += count;
        next += count;
        if (count > 0) continue;
      }
      if (at_once == 1 && blocks_.empty() && !blocks_are_checked && next < total &&
          unchecked.run(next, total, [this](std::uint64_t from, std::uint64_t to) {
            run(from, to);
            if (failure.text.empty()) return;
            for (const std::unique_ptr<Block>& block : blocks_) flush_printed(*block);
            forward_failure(failure.kind, failure.text, failure.line, has_lost());
          })) {
        return;
      }
      if (stop_requested != nullptr && stop_requested()) {
        failure.text = "stopped";
        stopped = true;
        return;
      }
      while (next < total && blocks_.size() < at_once) start_block(order_[next++]);
      bool moved = false;
      for (const std::unique_ptr<Block>& block : blocks_) {
        enter(*block);
        moved = run_round(*block) || moved;
        if (!failure.text.empty()) return;
      }
      if (grid_.cooperative) release_grid_barrier();
      patience_ = moved ? kPatience : patience_ - 1;
      for (std::unique_ptr<Block>& block : blocks_) {
        const bool is_stuck = stuck(*block);
        if ((!moved || is_stuck) && release_active_masks(*block)) continue;
        if (patience_ <= 0 || is_stuck) {
          if (!resolve_doubts(*block)) explain_stuck(*block);
          if (!failure.text.empty()) return;
          patience_ = kPatience;
        }
        if (block->finished == block->threads) {
          block_is_done();
          flush_printed(*block);
          if (recording()) record_block_end(*block);
          if (current_ == block.get()) current_ = nullptr;
          idle_blocks.push_back(std::move(block));
        }
      }
      std::erase(blocks_, nullptr);
    }
  }

  void start_block(std::uint32_t number) {
    if (idle_blocks.empty()) idle_blocks.push_back(std::make_unique<Block>());
    blocks_.push_back(std::move(idle_blocks.back()));
    idle_blocks.pop_back();
    Block& block = *blocks_.back();
    block_begins_in_order(number);
    const dim3 shape = grid_.block;
    block.index = {number % grid_.grid.x, number / grid_.grid.x % grid_.grid.y,
                   number / grid_.grid.x / grid_.grid.y};
    block.threads = static_cast<int>(shape.x * shape.y * shape.z);
    block.has_lost = false;
    block.finished = block.waiting_block = block.waiting_grid = block.waiting_warp = block.vote = 0;
    block.phase = 0;
    block.number = number;
    block.ordered = 0;
    block.only_barriers = true;
    block.acquired.clear();
    for (Clock& released : block.released) released.clear();
    block.has_knowledge = false;
    block.statics.clear();
    block.shared.begin(next_segment(), next_segment());
    allocate_dynamic(block, grid_.shared_bytes);
    if (block.thread.size() < static_cast<std::size_t>(block.threads)) {
      block.thread.resize(static_cast<std::size_t>(block.threads));
    }
    const bool anew = blocks_are_checked || !block.is_clean || block.shape.x != shape.x ||
                      block.shape.y != shape.y || block.shape.z != shape.z;
    block.shape = shape;
    block.is_clean = !blocks_are_checked;
    for (int id = 0; id < block.threads; ++id) {
      Thread& thread = block.thread[static_cast<std::size_t>(id)];
      thread.started = thread.finished = thread.lost = false;
      if (anew || thread.last_look != nullptr || !thread.copies.empty())
        make_anew(thread, block, id);
    }
    if (recording()) record_block_begin(block);
  }

  static void make_anew(Thread& thread, Block& block, int id) {
    const auto place = static_cast<unsigned>(id);
    const dim3 shape = block.shape;
    thread.block = &block;
    thread.id = id;
    thread.index = {place % shape.x, place / shape.x % shape.y, place / shape.x / shape.y};
    thread.wait = Wait::nothing;
    thread.seen = {};
    thread.looks = {};
    thread.last_read = 0;
    thread.watched = false;
    thread.last_look = nullptr;
    thread.knowledge.reset();
    thread.site = nullptr;
    thread.copies.clear();
    thread.pending.clear();
    thread.has_pending = false;
    thread.commits = 0;
  }

  // A fresh piece of memory each time, to the byte: AddressSanitizer knows its end.
  static void allocate_dynamic(Block& block, std::size_t bytes) {
    constexpr std::size_t kAlignment = 256;
    void* memory = nullptr;
    constexpr std::size_t kRoom = FreeDynamic::kRoom;
    if (posix_memalign(&memory, kAlignment, bytes + 2 * kRoom) != 0) throw std::bad_alloc();
    block.dynamic.reset(static_cast<char*>(memory) + kRoom);
    std::memset(block.dynamic.get(), 0xff, bytes);
  }

  // Makes the block's __shared__ variables the current ones.
  void enter(Block& block) {
    block_index = block.index;
    enter_block(block);
    if (current_ == &block) return;
    if (current_ != nullptr) save_statics(*current_);
    if (!block.statics.empty()) load_statics(block);
    current_ = &block;
  }

  // Each thread that can run does, once. True when one did more than poll.
  bool run_round(Block& block) {
    const auto can_run = [&](int id) {
      const Thread& thread = block.thread[static_cast<std::size_t>(id)];
      return !thread.finished && thread.wait == Wait::nothing;
    };
    round_.clear();
    for (int id = 0; id < block.threads && !in_turn; ++id) {
      if (can_run(id)) round_.push_back(id);
    }
    if (shuffled_) shuffler_.shuffle(round_);
    const int turns = in_turn ? block.threads : static_cast<int>(round_.size());
    bool moved = false;
    for (int turn = 0; turn < turns; ++turn) {
      const int id = in_turn ? turn : round_[static_cast<std::size_t>(turn)];
      if (!can_run(id)) continue;
      Thread& thread = block.thread[static_cast<std::size_t>(id)];
      running = &thread;
      thread_index = thread.index;
      polled = false;
      schedule_preemption(shuffled_ ? shuffler_.next() : 0);
      const std::uint32_t phase = block.phase;
      if (!std::exchange(thread.started, true)) thread.fiber.start(thread_main);
      thread.fiber.resume();
      const bool is_same = running == &thread;
      if (in_turn) turn = running->id;  // the last that has had its turn
      running = nullptr;
      if (!failure.text.empty()) return true;
      if (recording() && block.phase != phase) record_barrier(block, phase, thread.site);
      moved = moved || !polled || !is_same;
    }
    return moved;
  }

  static bool stuck(const Block& block) {
    if (block.finished == block.threads) return false;
    for (int id = 0; id < block.threads; ++id) {
      const Thread& thread = block.thread[static_cast<std::size_t>(id)];
      if (!thread.finished && (thread.wait == Wait::nothing || thread.wait == Wait::grid)) {
        return false;
      }
    }
    return true;
  }

  void release_grid_barrier() {
    for (const std::unique_ptr<Block>& block : blocks_) {
      if (block->waiting_grid < block->threads) return;
    }
    order_grid();
    for (const std::unique_ptr<Block>& block : blocks_) {
      block->waiting_grid = 0;
      block->only_barriers = false;
      if (recording()) record_barrier(*block, block->phase, block->thread[0].site);
      ++block->phase;
      for (int id = 0; id < block->threads; ++id) {
        block->thread[static_cast<std::size_t>(id)].wait = Wait::nothing;
      }
    }
  }

  const Grid& grid_;
  Sample& sample_;
  std::vector<std::uint32_t> order_;  // numbers of the blocks
  const bool shuffled_;
  Shuffler shuffler_;
  std::vector<std::unique_ptr<Block>> blocks_;  // those that run at the same time
  Block* current_ = nullptr;                    // whose __shared__ variables are in place
  std::vector<int> round_;
  int patience_ = kPatience;
};

}  // namespace

std::string thread_name(const Thread& thread) {
  return "thread " + coordinates(thread.index);
}

std::string where(const Thread& thread) {
  const std::uint32_t phase = thread.block->phase;
  return str("kernel ", kernel_name(*running_grid->call), ", block ",
             coordinates(thread.block->index), ", ", thread_name(thread), ", after ", phase,
             phase == 1 ? " barrier" : " barriers");
}

void set_failure(const char* kind, const std::string& message, const std::string& line) {
  order_matters();
  if (failure.text.empty()) failure = {kind, "", message, line};
}
void set_failure(const char* kind, const std::string& message, const void* site) {
  if (recording() && failure.text.empty()) record_finding(with_remedy(message), site);
  set_failure(kind, message, site == nullptr ? "" : source_line(site));
}

void abandon_block() {
  if (running == nullptr) return;
  Block& block = *std::exchange(running, nullptr)->block;
  in_kernel_code = checked = nullptr;
  flush_printed(block);
  if (recording()) record_block_end(block);
}

bool has_failed() {
  return !failure.text.empty();
}

bool run_grid(const Grid& grid, std::uint64_t schedule, int orders) {
  failure = {};
  stopped = false;
  running_grid = &grid;
  block_shape = grid.block;
  grid_shape = grid.grid;
  if (begin_order()) {
    idle_blocks.clear();
    forget_device_accesses();
    forget_launches();
  }
  catch_faults();
  begin_checks(grid);
  begin_workers();
  bool has_lost = false;
  Sample sample(grid, orders);
  if (!sample.is_repeated()) {
    memory_changes();
    Runner runner(grid, schedule, sample);
    runner.run();
    has_lost = runner.has_lost();
  }
  if (!failure.text.empty() && lists_findings() && !stopped) {
    // Where a thread was lost, others may wait for it: that is no second finding.
    if (!has_lost) tell_at(failure.kind.c_str(), failure.text, failure.line);
    sample.ended(false);
    running_grid = nullptr;
    return false;
  }
  if (failure.text.empty()) sample.ended(true);
  running_grid = nullptr;
  if (failure.text.empty()) return true;
  if (stopped) throw Stopped("host-cuda: stopped");
  throw Error(ErrorKind::check_failed, "host-cuda: " + with_remedy(failure.text));
}

}  // namespace weft::host_cuda

weft::StopQuestion weft::set_stop(StopQuestion asked) {
  return std::exchange(host_cuda::stop_requested, asked);
}

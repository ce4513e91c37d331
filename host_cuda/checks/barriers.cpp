// SPDX-License-Identifier: MIT
// Barriers of a block, a warp and the grid, and the operations of a warp.
#include <algorithm>
#include <array>
#include <map>

#include "engine/access_trace.h"
#include "engine/error.h"
#include "host_cuda/checks/checks.h"
#include "host_cuda/checks/symbols.h"
#include "host_cuda/grid.h"

extern "C" char weft_shared_begin[], weft_shared_end[];

namespace weft::host_cuda {
namespace {

constexpr unsigned kStatics = 1u << 30;

Thread& thread_of(Block& block, int id) {
  return block.thread[static_cast<std::size_t>(id)];
}

// All threads of a block must be at the same barrier of the source.
void check_same_barrier(Block& block) {
  const Thread& first = thread_of(block, 0);
  for (int id = 1; id < block.threads; ++id) {
    const Thread& other = thread_of(block, id);
    if (other.site == first.site) continue;
    if (source_line(first.site) != source_line(other.site)) {
      fail([&] {
        return str("divergent barrier: ", where(first), " is at the barrier of ",
                   source_line(first.site), ", but ", thread_name(other), " at that of ",
                   source_line(other.site));
      });
    }
  }
}

// The barrier that run_without_barrier() takes out.
struct LeftOut {
  std::string line;
  bool met = false;
  std::map<const void*, bool> sites = {};  // of barriers: is it this one?

  bool is_at(const void* site) {
    const Unchecked here;
    const auto [at, fresh] = sites.try_emplace(site, false);
    if (fresh) at->second = source_line(site) == line;
    met = met || at->second;
    return at->second;
  }
};
LeftOut* left_out = nullptr;

// Waits for all threads of the block; returns the sum of their values.
int block_barrier(int value, const void* site) {
  const Unchecked here;
  Thread& self = *running;
  Block& block = *self.block;
  if (block.finished > 0) {
    const auto returned = std::find_if(block.thread.begin(), block.thread.begin() + block.threads,
                                       [](const Thread& one) { return one.finished; });
    fail([&] {
      return str("divergent barrier: ", where(self), " is at the barrier of ", source_line(site),
                 ", but ", thread_name(*returned), " has returned");
    });
  }
  self.site = site;
  self.wait = Wait::block;
  block.vote += value;
  if (++block.waiting_block < block.threads) {
    Fiber::suspend();
    return static_cast<int>(self.result);
  }
  check_same_barrier(block);
  for (int id = 0; id < block.threads; ++id) {
    Thread& thread = thread_of(block, id);
    thread.wait = Wait::nothing;
    thread.result = static_cast<std::uint64_t>(block.vote);
  }
  block.waiting_block = block.vote = 0;
  ++block.phase;
  order_block(block);
  if (recording()) Fiber::suspend();  // listeners are told before a thread runs on
  return static_cast<int>(self.result);
}

// mma.sync and ldmatrix are "aligned": the whole warp is at the same one of the source.
void complete_matrix(Block& block, int warp, WarpOp op) {
  const Thread& first = thread_of(block, warp * 32);
  std::array<void*, 32> lanes;
  for (int l = 0; l < 32; ++l) {
    const Thread& other = thread_of(block, warp * 32 + l);
    lanes[static_cast<std::size_t>(l)] = reinterpret_cast<void*>(other.call.value);
    if (other.call.site == first.call.site) continue;
    if (source_line(first.call.site) != source_line(other.call.site)) {
      fail([&] {
        return str("divergent ", first.call.name, ": ", where(first), " is at that of ",
                   source_line(first.call.site), ", but ", thread_name(other), " at that of ",
                   source_line(other.call.site));
      });
    }
  }
  warp_matrix(op, lanes);
}

// What the lanes of `mask` get, once all have called.
std::uint64_t combined(const Block& block, int warp, const WarpCall& call, int lane) {
  const auto value = [&](unsigned l) {
    return block.thread[static_cast<std::size_t>(warp) * 32 + l].call.value;
  };
  const auto fold = [&](auto op) {
    std::uint64_t total = 0;
    bool first = true;
    for (unsigned l = 0; l < 32; ++l) {
      if ((call.mask >> l & 1u) == 0) continue;
      total = first ? value(l) : op(total, value(l));
      first = false;
    }
    return total;
  };
  const std::uint64_t mine = value(static_cast<unsigned>(lane));
  switch (call.op) {
    case WarpOp::sync:
      return 0;
    case WarpOp::shuffle:
      return value(static_cast<unsigned>(
          block.thread[static_cast<std::size_t>(warp * 32 + lane)].call.source));
    case WarpOp::ballot:
    case WarpOp::match_any:
    case WarpOp::match_all: {
      unsigned bits = 0;
      for (unsigned l = 0; l < 32; ++l) {
        const bool yes = call.op == WarpOp::ballot ? value(l) != 0 : value(l) == mine;
        if ((call.mask >> l & 1u) != 0 && yes) bits |= 1u << l;
      }
      return call.op != WarpOp::match_all || bits == call.mask ? bits : 0;
    }
    case WarpOp::add:
      return fold([](std::uint64_t a, std::uint64_t b) { return a + b; });
    case WarpOp::min_signed:
      return fold([](std::uint64_t a, std::uint64_t b) {
        return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? a : b;
      });
    case WarpOp::max_signed:
      return fold([](std::uint64_t a, std::uint64_t b) {
        return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) ? b : a;
      });
    case WarpOp::min_unsigned:
      return fold([](std::uint64_t a, std::uint64_t b) { return std::min(a, b); });
    case WarpOp::max_unsigned:
      return fold([](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
    case WarpOp::bit_and:
      return fold([](std::uint64_t a, std::uint64_t b) { return a & b; });
    case WarpOp::bit_or:
      return fold([](std::uint64_t a, std::uint64_t b) { return a | b; });
    case WarpOp::bit_xor:
      return fold([](std::uint64_t a, std::uint64_t b) { return a ^ b; });
    default:  // of tensor cores: each lane finds its part where it has put what it brought
      break;
  }
  return 0;
}

// __syncwarp orders memory: afterwards each lane of the mask knows what all of them knew.
void order_lanes(Block& block, int warp, unsigned mask) {
  std::array<Segment, 32> joined{};
  const auto seen_by = [&](unsigned l) -> std::array<Segment, 32>& {
    return block.thread[static_cast<std::size_t>(warp) * 32 + l].seen;
  };
  const Segment now = order_warp();
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) == 0) continue;
    for (unsigned other = 0; other < 32; ++other) {
      joined[other] = std::max(joined[other], seen_by(l)[other]);
    }
  }
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0) joined[l] = now;
  }
  for (unsigned l = 0; l < 32; ++l) {
    if ((mask >> l & 1u) != 0) seen_by(l) = joined;
  }
}

int segment(int width) {
  return lane() / width * width;
}

}  // namespace

int lane() {
  return running->id % 32;
}

int shuffle_source(int width, int lane_in_segment) {
  return segment(width) + (lane_in_segment & (width - 1));
}
int shuffle_up_source(int width, unsigned delta) {
  const int source = lane() - static_cast<int>(delta);
  return source >= segment(width) ? source : lane();
}
int shuffle_down_source(int width, unsigned delta) {
  const int source = lane() + static_cast<int>(delta);
  return source < segment(width) + width ? source : lane();
}
int shuffle_xor_source(int width, int lane_mask) {
  const int source = lane() ^ lane_mask;
  return source < segment(width) + width ? source : lane();
}

std::uint64_t warp_operation(const WarpCall& call) {
  const Unchecked here;
  Thread& self = *running;
  Block& block = *self.block;
  const int warp = self.id / 32;
  if ((call.mask >> lane() & 1u) == 0) {
    fail([&] {
      return str("wrong mask: ", where(self), ": the mask of ", call.name, " of ",
                 source_line(call.site), " does not name the calling lane ", lane());
    });
  }
  if (call.op == WarpOp::shuffle && (call.mask >> call.source & 1u) == 0) {
    fail([&] {
      return str("wrong mask: ", where(self), ": ", call.name, " of ", source_line(call.site),
                 " reads lane ", call.source, ", which its mask does not name");
    });
  }
  self.call = call;
  self.wait = Wait::warp;
  for (int l = 31; l >= 0; --l) {  // the last lane is most often the one that is missing
    if ((call.mask >> l & 1u) == 0) continue;
    const int id = warp * 32 + l;
    const bool there = id < block.threads && thread_of(block, id).wait == Wait::warp &&
                       thread_of(block, id).call.op == call.op &&
                       thread_of(block, id).call.mask == call.mask;
    if (!there) {
      Fiber::suspend();
      return self.result;
    }
  }
  if (call.op >= WarpOp::mma_tf32_k8) complete_matrix(block, warp, call.op);
  for (int l = 0; l < 32; ++l) {
    if ((call.mask >> l & 1u) != 0) {
      thread_of(block, warp * 32 + l).result = combined(block, warp, call, l);
    }
  }
  for (int l = 0; l < 32; ++l) {
    if ((call.mask >> l & 1u) != 0) thread_of(block, warp * 32 + l).wait = Wait::nothing;
  }
  if (call.op == WarpOp::sync) order_lanes(block, warp, call.mask);
  return self.result;
}

void grid_barrier() {
  const Unchecked here;
  Thread& self = *running;
  if (!running_grid->cooperative) {
    fail([&] {
      return str("grid barrier: ", where(self),
                 " is at a barrier of the grid, which was not launched as a cooperative one");
    });
  }
  self.site = __builtin_return_address(0);
  if (recording() && self.id == 0) {  // CUDA's has an atomic operation of one thread of each block
    static unsigned arrived;
    record_access(self, reinterpret_cast<std::uintptr_t>(&arrived), sizeof arrived,
                  AccessKind::global_atomic, self.site);
  }
  self.wait = Wait::grid;
  ++self.block->waiting_grid;
  Fiber::suspend();
}

void* dynamic_shared() {
  return running->block->dynamic.get();
}

// The 32-bit addresses of dynamic shared memory begin at 0, those of __shared__ variables at
// kStatics: either side of these an address is out of bounds, and stays so.
unsigned shared_address(const void* generic) {
  const auto address = reinterpret_cast<std::uintptr_t>(generic);
  const auto statics = reinterpret_cast<std::uintptr_t>(weft_shared_begin);
  const auto end = reinterpret_cast<std::uintptr_t>(weft_shared_end);
  const bool is_static = address >= statics && address < end;
  const auto begin = reinterpret_cast<std::uintptr_t>(dynamic_shared());
  return static_cast<unsigned>(is_static ? address - statics + kStatics : address - begin);
}
void* generic_address(unsigned shared) {
  char* const dynamic = static_cast<char*>(dynamic_shared());
  if (shared - kStatics < kStatics * 2) return weft_shared_begin + (shared - kStatics);
  return dynamic + static_cast<int>(shared);
}

void trap() {
  const Unchecked here;
  fail([&] {
    return str("trap: ", where(*running), " stopped at ", source_line(__builtin_return_address(0)),
               ": this kernel needs instructions that only a GPU has");
  });
}

void refuse() {
  throw Error(ErrorKind::usage,
              "this kernel needs a GPU of sm_90: host-cuda has no wgmma, TMA or clusters");
}

}  // namespace weft::host_cuda

using namespace weft::host_cuda;

void __syncthreads() {
  const void* site = __builtin_return_address(0);
  if (left_out == nullptr || !left_out->is_at(site)) block_barrier(0, site);
}
int __syncthreads_count(int predicate) {
  return block_barrier(predicate != 0, __builtin_return_address(0));
}
int __syncthreads_or(int predicate) {
  return block_barrier(predicate != 0, __builtin_return_address(0)) > 0;
}
int __syncthreads_and(int predicate) {
  const int threads = running->block->threads;
  return block_barrier(predicate != 0, __builtin_return_address(0)) == threads;
}
void __syncwarp(unsigned mask) {
  warp_operation({WarpOp::sync, mask, 0, 0, "__syncwarp", __builtin_return_address(0)});
}

namespace weft {

WithoutBarrier run_without_barrier(const std::string& line, const std::function<void()>& work) {
  LeftOut barrier{line};
  WithoutBarrier result;
  left_out = &barrier;
  try {
    work();
  } catch (const Error& error) {
    result.failure = error.what();
  }
  left_out = nullptr;
  result.taken_out = barrier.met;
  return result;
}

}  // namespace weft

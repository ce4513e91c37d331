// SPDX-License-Identifier: MIT
// Operations of a warp: shuffles, votes, match, reduce, __syncwarp and those of tensor cores.
#include <algorithm>
#include <array>

#include "engine/error.h"
#include "host_cuda/checks/report.h"
#include "host_cuda/grid.h"
#include "host_cuda/memory/symbols.h"
#include "host_cuda/turns.h"

namespace weft::host_cuda {
namespace {

Thread& lane_of(Block& block, int id) {
  return block.thread[static_cast<std::size_t>(id)];
}

// mma.sync and ldmatrix are "aligned": the whole warp is at the same one of the source.
void complete_matrix(Block& block, int warp, WarpOp op) {
  const Thread& first = lane_of(block, warp * 32);
  std::array<void*, 32> lanes;
  for (int l = 0; l < 32; ++l) {
    const Thread& other = lane_of(block, warp * 32 + l);
    lanes[static_cast<std::size_t>(l)] = reinterpret_cast<void*>(other.call.value);
    if (other.call.site == first.call.site) continue;
    if (source_line(first.call.site) != source_line(other.call.site)) {
      fail("divergent matrix operation", first.call.site, [&] {
        return str("divergent ", first.call.name, ": ", where(first), " is at that of ",
                   source_line(first.call.site), ", but ", thread_name(other), " at that of ",
                   source_line(other.call.site));
      });
    }
  }
  warp_matrix(op, lanes);
}

// What a lane gets, once all of `mask` have called.
std::uint64_t combined(const Block& block, int warp, const WarpCall& call, unsigned mask,
                       int lane) {
  const auto value = [&](unsigned l) {
    return block.thread[static_cast<std::size_t>(warp) * 32 + l].call.value;
  };
  const auto fold = [&](auto op) {
    std::uint64_t total = 0;
    bool first = true;
    for (unsigned l = 0; l < 32; ++l) {
      if ((mask >> l & 1u) == 0) continue;
      total = first ? value(l) : op(total, value(l));
      first = false;
    }
    return total;
  };
  const std::uint64_t mine = value(static_cast<unsigned>(lane));
  switch (call.op) {
    case WarpOp::sync:
      return 0;
    case WarpOp::active:
      return mask;
    case WarpOp::shuffle:
      return value(static_cast<unsigned>(
          block.thread[static_cast<std::size_t>(warp * 32 + lane)].call.source));
    case WarpOp::ballot:
    case WarpOp::match_any:
    case WarpOp::match_all: {
      unsigned bits = 0;
      for (unsigned l = 0; l < 32; ++l) {
        if ((mask >> l & 1u) == 0) continue;  // the block may not have the lane
        const bool yes = call.op == WarpOp::ballot ? value(l) != 0 : value(l) == mine;
        if (yes) bits |= 1u << l;
      }
      return call.op != WarpOp::match_all || bits == mask ? bits : 0;
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

// The lanes of a mask that the block has; and below, those that have not exited.
unsigned existing(const Block& block, int warp, unsigned mask) {
  const int lanes = block.threads - warp * 32;
  return lanes >= 32 ? mask : mask & ((1u << lanes) - 1);
}
unsigned present(const Block& block, int warp, unsigned mask) {
  unsigned lanes = existing(block, warp, mask);
  for (int l = 0; block.finished > 0 && l < 32; ++l) {
    const bool there = (lanes >> l & 1u) != 0;
    if (there && block.thread[static_cast<std::size_t>(warp * 32 + l)].finished) {
      lanes &= ~(1u << l);
    }
  }
  return lanes;
}

// A shuffle reads a lane that is not there.
void check_source(const Block& block, const Thread& reader, unsigned lanes) {
  const int source = reader.call.source;
  if ((lanes >> source & 1u) != 0 || block.has_lost) return;
  fail("missing lane", reader.call.site, [&] {
    const auto id = static_cast<std::size_t>(reader.id / 32 * 32 + source);
    return str("missing lane: ", where(reader), ": ", reader.call.name, " of ",
               source_line(reader.call.site), " reads lane ", source,
               id < static_cast<std::size_t>(block.threads)
                   ? str(", but ", thread_name(block.thread[id]), " has returned")
                   : ", which the block does not have");
  });
}

// Completes the operation if all lanes of its mask have called it. Lanes that have exited, or that
// the block does not have, are left out; mma and ldmatrix need the whole warp.
bool complete(Block& block, int warp, const WarpCall& call) {
  const bool is_matrix = call.op >= WarpOp::mma_tf32_k8;
  const unsigned lanes = is_matrix ? call.mask : present(block, warp, call.mask);
  for (int l = 31; l >= 0; --l) {  // the last lane is most often the one that is missing
    if ((lanes >> l & 1u) == 0) continue;
    const int id = warp * 32 + l;
    const bool there = id < block.threads && lane_of(block, id).wait == Wait::warp &&
                       lane_of(block, id).call.op == call.op &&
                       lane_of(block, id).call.mask == call.mask;
    if (!there) return false;
    if (call.op == WarpOp::active && lane_of(block, id).call.site != call.site) return false;
  }
  if (is_matrix) complete_matrix(block, warp, call.op);
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1u) == 0) continue;
    Thread& thread = lane_of(block, warp * 32 + l);
    if (call.op == WarpOp::shuffle) check_source(block, thread, lanes);
    thread.result = combined(block, warp, call, lanes, l);
  }
  for (int l = 0; l < 32; ++l) {
    if ((lanes >> l & 1u) != 0) lane_of(block, warp * 32 + l).wait = Wait::nothing;
  }
  const unsigned all = existing(block, warp, call.mask);
  if (lanes != all && !block.has_lost && call.op != WarpOp::active) {
    note("warp without all lanes", call.site, nullptr, [&] {
      const int left_out = __builtin_ctz(all & ~lanes);
      return str("warp without all lanes: kernel ", kernel_name(*running_grid->call), ": ",
                 call.name, " of ", source_line(call.site), " names lane ", left_out, ", and ",
                 thread_name(lane_of(block, warp * 32 + left_out)),
                 " has returned: it is left out (from sm_70 on)");
    });
  }
  if (call.op == WarpOp::sync) order_lanes(block, warp, all);
  return true;
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

unsigned active_mask(const void* site) {
  constexpr unsigned kAll = 0xffffffff;
  return static_cast<unsigned>(warp_operation({WarpOp::active, kAll, 0, 0, "__activemask", site}));
}

bool release_active_masks(Block& block) {
  bool released = false;
  for (int id = 0; id < block.threads && block.waiting_warp > 0; ++id) {
    const Thread& first = lane_of(block, id);
    if (first.finished || first.wait != Wait::warp || first.call.op != WarpOp::active) continue;
    unsigned mask = 0;
    const int warp = id / 32 * 32, end = std::min(warp + 32, block.threads);
    const auto is_there = [&](const Thread& one) {
      return !one.finished && one.wait == Wait::warp && one.call.op == WarpOp::active &&
             one.call.site == first.call.site;
    };
    for (int l = id; l < end; ++l) {
      if (is_there(lane_of(block, l))) mask |= 1u << (l - warp);
    }
    for (int l = end - 1; l >= id; --l) {  // `first` is asked for until the end
      Thread& one = lane_of(block, l);
      if (!is_there(one)) continue;
      one.result = mask;
      one.wait = Wait::nothing;
    }
    released = true;
  }
  return released;
}

std::uint64_t warp_operation(const WarpCall& call) {
  const Unchecked here;
  Thread& self = *running;
  Block& block = *self.block;
  const int warp = self.id / 32;
  if ((call.mask >> lane() & 1u) == 0) {
    fail("wrong mask", call.site, [&] {
      return str("wrong mask: ", where(self), ": the mask of ", call.name, " of ",
                 source_line(call.site), " does not name the calling lane ", lane());
    });
  }
  if (call.op == WarpOp::shuffle && (call.mask >> call.source & 1u) == 0) {
    fail("wrong mask", call.site, [&] {
      return str("wrong mask: ", where(self), ": ", call.name, " of ", source_line(call.site),
                 " reads lane ", call.source, ", which its mask does not name");
    });
  }
  if (self.has_pending || recording()) settle_all_accesses(self);
  self.call = call;
  self.wait = Wait::warp;
  self.last_read = 0;  // what comes next is not right behind it
  ++block.waiting_warp;
  if (!complete(block, warp, call)) wait_for_others();
  --block.waiting_warp;
  return self.result;
}

void lane_exits(const Thread& thread) {
  Block& block = *thread.block;
  const int warp = thread.id / 32;
  for (int l = 0; l < 32 && warp * 32 + l < block.threads; ++l) {
    const Thread& other = lane_of(block, warp * 32 + l);
    if (other.finished || other.wait != Wait::warp) continue;
    const WarpCall call = other.call;
    if ((call.mask >> (thread.id % 32) & 1u) != 0) complete(block, warp, call);
  }
}

}  // namespace weft::host_cuda

void __syncwarp(unsigned mask) {
  weft::host_cuda::warp_operation(
      {weft::host_cuda::WarpOp::sync, mask, 0, 0, "__syncwarp", __builtin_return_address(0)});
}

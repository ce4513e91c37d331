// SPDX-License-Identifier: MIT
// Look-ahead: one pass, 2n elements of traffic, and totals are published before anybody asks.
//
// As many blocks as the device holds at once sweep over the array together: in round r, block b has
// tile r * blocks + b. A ring of stages in shared memory holds four tiles of a block: one is being
// scanned, the totals of the next two are already published, the fourth is on its way. So when a
// block comes to a tile, the totals of its sweep have long been there. No prefix travels from block
// to block: each adds up all totals itself, a window of 32 of them in each warp.
//
//   round r    stage  r        scan, with (carry op totals of the sweep to the left), store
//                     r + 1    total published in round r - 1
//                     r + 2    sum, publish the total
//                     r + 3    being copied
//
// The kernel may start while the one before it ends (sm_90), and calls the tiles of its first
// rounds to the L2 cache meanwhile. Blocks are as many as share the rounds evenly: 2731 tiles are
// 11 rounds of 249 blocks, not 10 of 264 and a third of one.
//
// All blocks must be resident, because they wait for each other. A slow block holds up the others
// only after two rounds, which is what makes this faster than handing a prefix on. Sums of floats
// are grouped by n and the number of blocks: the same bits on every run.
//
// The totals of four rounds are kept, each with the number of its round as its state, in the
// stream's zeroed words (engine/stream.h): no launch has to clear them. Who publishes round r + 2
// has seen all totals of round r, so all blocks have published those and are done with round r - 2,
// whose place it takes. A counter finds the block that looks last, and that one clears.
#pragma once

#include <algorithm>

#include "engine/launch_overlap.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/descriptor.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/scan.cuh"
#include "kernels/scan/workspace.h"

namespace weft::kernels::cuda {

constexpr int kLookaheadStages = 4;                     // tiles of a block in shared memory
constexpr int kLookaheadDistance = 2;                   // rounds from a tile's total to its scan
constexpr int kLookaheadRing = 2 * kLookaheadDistance;  // rounds whose totals are kept

// Starts the copies of this thread's elements of the tile at `first`; each thread reads only what
// it copied itself, so that no barrier is needed.
template <class Tile, class T>
__device__ __forceinline__ void lookahead_copy(typename Tile::Vector* slots, const T* x,
                                               std::int64_t first, std::int64_t n) {
  using Vector = typename Tile::Vector;
  const std::int64_t base = first + Tile::thread_offset();
  if (sizeof(Vector) == 16 && first + Tile::kElements <= n && device::is_aligned(x, 16)) {
#pragma unroll
    for (int k = 0; k < Tile::kRows; ++k) {
      device::async_copy_float4(reinterpret_cast<float*>(&slots[k * Tile::kThreads]),
                                reinterpret_cast<const float*>(x + base + k * Tile::kRowElements),
                                4);
    }
  } else {
    constexpr int kWords = static_cast<int>(sizeof(T) / sizeof(float));
#pragma unroll
    for (int k = 0; k < Tile::kRows; ++k) {
      for (int e = 0; e < Tile::kLanes; ++e) {
        const std::int64_t i = base + k * Tile::kRowElements + e;
        const bool inside = i < n;  // zeros behind the end: vectors are read as a whole
        for (int word = 0; word < kWords; ++word) {
          device::async_copy_float(
              reinterpret_cast<float*>(&slots[k * Tile::kThreads].lane[e]) + word,
              reinterpret_cast<const float*>(inside ? x + i : x) + word, inside);
        }
      }
    }
  }
}

// This thread's elements of the tile at `first`, as lookahead_copy left them.
template <class Tile, class T>
__device__ __forceinline__ void lookahead_load(typename Tile::Items& items,
                                               const typename Tile::Vector* slots,
                                               std::int64_t first, std::int64_t n, T padding) {
  const bool whole = first + Tile::kElements <= n;
  const std::int64_t base = first + Tile::thread_offset();
#pragma unroll
  for (int k = 0; k < Tile::kRows; ++k) {
    typename Tile::Vector v{};
    if (whole || base + k * Tile::kRowElements < n) v = slots[k * Tile::kThreads];
#pragma unroll
    for (int e = 0; e < Tile::kLanes; ++e) {
      const bool inside = whole || base + k * Tile::kRowElements + e < n;
      items[k][e] = inside ? v.lane[e] : padding;
    }
  }
}

template <class T>
struct LookaheadStorage {
  static constexpr int kWarps = kLookaheadThreads / device::kWarpSize;
  static constexpr int kRounds = kLookaheadDistance + 2;
  T warp[kRounds][kWarps];  // totals of the warps' parts, of the tiles of the latest rounds
  T window[2][kWarps];      // totals of 32 blocks each, of this round and the one before
  T left[2];                // what comes before this block in its window
};

// words[0] counts the blocks that have looked for the last time; the totals of a ring of rounds
// follow. All are zero before and after.
template <class T, class Op, int kRows>
__global__ void __launch_bounds__(kLookaheadThreads, 2)
    scan_lookahead_kernel(T* y, const T* x, std::int64_t n, std::int64_t tiles,
                          device::DescriptorWord* words, bool exclusive, Op op) {
  using Tile = device::ScanTile<T, kLookaheadThreads, kRows>;
  using Storage = LookaheadStorage<T>;
  float4* shared4 = device::dynamic_shared<float4>();
  // Row k of this thread in a stage is at (stage * kRows + k) * kThreads: without bank conflicts.
  auto* slots = reinterpret_cast<typename Tile::Vector*>(shared4) + threadIdx.x;
  __shared__ Storage storage;
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / device::kWarpSize;
  const int blocks = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  const int rounds = static_cast<int>((tiles - own + blocks - 1) / blocks);
  device::DescriptorWord* totals = words + 1;

  const auto first_of = [&](int round) {
    return (own + static_cast<std::int64_t>(round) * blocks) * Tile::kElements;
  };
  const auto stage_of = [&](int round) {
    return slots + round % kLookaheadStages * (Tile::kRows * Tile::kThreads);
  };
  const auto state_of = [](int round) {  // never that of an empty descriptor
    return static_cast<device::TileState>(static_cast<unsigned>(round) + 1);
  };
  const auto copy = [&](int round) {
    if (round < rounds) lookahead_copy<Tile>(stage_of(round), x, first_of(round), n);
    device::async_commit();  // also when empty, so that the groups count the rounds
  };
  const auto reduce = [&](int round) {
    typename Tile::Items items;
    lookahead_load<Tile>(items, stage_of(round), first_of(round), n, Op::identity());
    const T total = Tile::reduce_warp(items, op);
    if (lane == 0) storage.warp[round % Storage::kRounds][warp] = total;
  };
  const auto publish = [&](int round) {
    // Nobody asks for the total of the last tile: if it were published, clearing could overtake it.
    if (threadIdx.x != 0 || own + static_cast<std::int64_t>(round) * blocks + 1 == tiles) return;
    const T* parts = storage.warp[round % Storage::kRounds];
    T total = parts[0];
#pragma unroll
    for (int w = 1; w < Storage::kWarps; ++w) total = op(total, parts[w]);
    device::publish(totals, round % kLookaheadRing * blocks + own, state_of(round), total);
  };

  device::overlap_allow();
  if (threadIdx.x < kLookaheadStages && static_cast<int>(threadIdx.x) < rounds) {
    const std::int64_t first = first_of(static_cast<int>(threadIdx.x));
    device::prefetch(x + first, min(n - first, std::int64_t{Tile::kElements}));
  }
  device::overlap_wait();
  for (int round = 0; round < kLookaheadStages; ++round) copy(round);
  device::async_wait<kLookaheadStages - 1>();
  reduce(0);
  __syncthreads();  // the totals of all warps are written
  publish(0);
  if (rounds > 1) {
    device::async_wait<kLookaheadStages - 2>();
    reduce(1);
    __syncthreads();  // as above
    publish(1);
  }

  T carry = Op::identity();             // all sweeps before this one
  device::DescriptorWord finished = 0;  // blocks that looked for the last time before this one
  for (int round = 0; round < rounds; ++round) {
    // The totals of this sweep that count: all of them when there is a next round.
    const int limit = round + 1 < rounds ? blocks : own, parity = round % 2;
    const int block = static_cast<int>(threadIdx.x);
    const int place = round % kLookaheadRing * blocks + block;
    device::Look<T> look;
    if (block < limit) look = device::look_at<T>(totals, place);  // arrives while a tile is summed
    const int ahead = round + kLookaheadDistance;
    if (ahead < rounds) {
      device::async_wait<kLookaheadStages - kLookaheadDistance - 1>();
      reduce(ahead);
    }
    T value = Op::identity();
    if (block < limit) {
      while (device::seen(look, value) != state_of(round)) look = device::look_at<T>(totals, place);
    }
    __syncwarp();
    const T scanned = device::warp_inclusive_scan(value, op);
    const T below = device::shuffle_up(scanned, 1);
    if (lane == device::kWarpSize - 1) storage.window[parity][warp] = scanned;
    if (block == own) storage.left[parity] = lane == 0 ? Op::identity() : below;
    __syncthreads();  // windows and the totals of the tile ahead are written
    if (ahead < rounds) publish(ahead);
    if (round + 1 == rounds && tiles > 1 && threadIdx.x == 0) {
      finished = atomicAdd(words, device::DescriptorWord(1));  // arrives while the tile is scanned
    }

    T prefix = carry;
#pragma unroll
    for (int first = 0; first < Storage::kWarps; first += 4) {  // behind the limit: identities
      if (first * device::kWarpSize >= limit) break;
      T window[4];
#pragma unroll
      for (int w = 0; w < 4; ++w) window[w] = storage.window[parity][first + w];
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        if (first + w < own / device::kWarpSize) prefix = op(prefix, window[w]);
        carry = op(carry, window[w]);
      }
    }
    prefix = op(prefix, storage.left[parity]);
#pragma unroll
    for (int w = 0; w < Storage::kWarps; ++w) {
      if (w < warp) prefix = op(prefix, storage.warp[round % Storage::kRounds][w]);
    }
    typename Tile::Items items;
    T before[Tile::kRows];
    lookahead_load<Tile>(items, stage_of(round), first_of(round), n, Op::identity());
    copy(round + kLookaheadStages);  // to the stage that was just read
    Tile::scan_warp(items, before, op);
    Tile::store(y, items, before, prefix, first_of(round), n, exclusive, op);
  }

  if (warp > 0 || tiles == 1 || device::shuffle(finished, 0) + 1 < gridDim.x) return;
  const std::int64_t used = tiles < kLookaheadRing * blocks ? tiles : kLookaheadRing * blocks;
  for (std::int64_t w = lane; w <= used * device::kDescriptorWords<T>; w += device::kWarpSize) {
    device::store_relaxed(words + w, 0);
  }
}

struct Lookahead {
  // `workspace` is not used.
  template <class T, class Op>
  static void run(T* y, const T* x, std::int64_t n, bool exclusive, Op op, void* /*workspace*/,
                  const Stream& stream) {
    if (n == 0) return;
    // A thread looks at a block, and the stream's words hold the totals of all.
    constexpr std::int64_t kBlocks = std::min<std::int64_t>(
        kLookaheadThreads,
        (Stream::kZeroedWords - 1) / (kLookaheadRing * device::kDescriptorWords<T>));
    static_assert(kBlocks > 0, "an element has too many words");
    const std::int64_t resident =
        resident_blocks(scan_lookahead_kernel<T, Op, kLookaheadRows>, kLookaheadThreads,
                        shared_bytes<T>(kLookaheadRows), stream);
    const std::int64_t blocks = std::min(resident, kBlocks);
    switch (lookahead_rows(n, sizeof(T), blocks)) {
      case 1:
        return run_rows<1>(y, x, n, blocks, exclusive, op, stream);
      case 2:
        return run_rows<2>(y, x, n, blocks, exclusive, op, stream);
      default:
        return run_rows<kLookaheadRows>(y, x, n, blocks, exclusive, op, stream);
    }
  }

 private:
  template <class T>
  static constexpr std::size_t shared_bytes(int rows) {
    using Vector = typename device::ScanTile<T, kLookaheadThreads, 1>::Vector;
    return sizeof(Vector) * static_cast<std::size_t>(rows * kLookaheadThreads * kLookaheadStages);
  }

  template <int kRows, class T, class Op>
  static void run_rows(T* y, const T* x, std::int64_t n, std::int64_t most_blocks, bool exclusive,
                       Op op, const Stream& stream) {
    constexpr std::int64_t kTile = lookahead_tile(sizeof(T), kRows);
    static_assert(kTile == device::ScanTile<T, kLookaheadThreads, kRows>::kElements,
                  "host code counts other tiles");
    const std::int64_t tiles = (n + kTile - 1) / kTile;
    const std::int64_t rounds = (tiles + most_blocks - 1) / most_blocks;
    const auto blocks = static_cast<unsigned>((tiles + rounds - 1) / rounds);
    launch_overlapped_cooperative(scan_lookahead_kernel<T, Op, kRows>,
                                  {blocks, kLookaheadThreads, shared_bytes<T>(kRows), stream}, y, x,
                                  n, tiles, stream.zeroed_words(), exclusive, op);
  }
};

}  // namespace weft::kernels::cuda

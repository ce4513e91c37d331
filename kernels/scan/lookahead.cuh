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
// All blocks must be resident, because they wait for each other. A slow block holds up the others
// only after two rounds, which is what makes this faster than handing a prefix on. Sums of floats
// are grouped by n and the number of blocks: the same bits on every run.
#pragma once

#include <algorithm>

#include "engine/launch.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/descriptor.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/scan.cuh"
#include "kernels/scan/workspace.h"

namespace weft::kernels::cuda {

constexpr int kLookaheadStages = 4;    // tiles of a block in shared memory
constexpr int kLookaheadDistance = 2;  // rounds from a tile's total to its scan

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

template <class T, class Op>
__global__ void __launch_bounds__(kLookaheadThreads, 2)
    scan_lookahead_kernel(T* y, const T* x, std::int64_t n, std::int64_t tiles,
                          device::DescriptorWord* totals, bool exclusive, Op op) {
  using Tile = device::ScanTile<T, kLookaheadThreads, kLookaheadRows>;
  using Storage = LookaheadStorage<T>;
  float4* shared4 = device::dynamic_shared<float4>();
  // Row k of this thread in a stage is at (stage * kRows + k) * kThreads: without bank conflicts.
  auto* slots = reinterpret_cast<typename Tile::Vector*>(shared4) + threadIdx.x;
  __shared__ Storage storage;
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / device::kWarpSize;
  const int blocks = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  const std::int64_t rounds = (tiles - own + blocks - 1) / blocks;

  const auto first_of = [&](std::int64_t round) {
    return (own + round * blocks) * Tile::kElements;
  };
  const auto stage_of = [&](std::int64_t round) {
    return slots + round % kLookaheadStages * (Tile::kRows * Tile::kThreads);
  };
  const auto copy = [&](std::int64_t round) {
    if (round < rounds) lookahead_copy<Tile>(stage_of(round), x, first_of(round), n);
    device::async_commit();  // also when empty, so that the groups count the rounds
  };
  const auto reduce = [&](std::int64_t round) {
    typename Tile::Items items;
    lookahead_load<Tile>(items, stage_of(round), first_of(round), n, Op::identity());
    const T total = Tile::reduce_warp(items, op);
    if (lane == 0) storage.warp[round % Storage::kRounds][warp] = total;
  };
  const auto publish = [&](std::int64_t round) {
    if (threadIdx.x != 0 || tiles == 1) return;
    const T* parts = storage.warp[round % Storage::kRounds];
    T total = parts[0];
#pragma unroll
    for (int w = 1; w < Storage::kWarps; ++w) total = op(total, parts[w]);
    device::publish(totals, own + round * blocks, device::TileState::total, total);
  };

  for (int round = 0; round < kLookaheadStages; ++round) copy(round);
  device::async_wait<kLookaheadStages - kLookaheadDistance>();
  for (int round = 0; round < kLookaheadDistance && round < rounds; ++round) reduce(round);
  __syncthreads();  // the totals of all warps are written
  for (int round = 0; round < kLookaheadDistance && round < rounds; ++round) publish(round);

  T carry = Op::identity();  // all sweeps before this one
  for (std::int64_t round = 0; round < rounds; ++round) {
    // The totals of this sweep that count: all of them when there is a next round.
    const int limit = round + 1 < rounds ? blocks : own, parity = static_cast<int>(round % 2);
    const int block = static_cast<int>(threadIdx.x);
    T value = Op::identity();
    const auto look = [&] {
      return device::inspect(totals, round * blocks + block, value) != device::TileState::empty;
    };
    bool ready = block >= limit || look();  // arrives while the tile ahead is summed
    const std::int64_t ahead = round + kLookaheadDistance;
    if (ahead < rounds) {
      device::async_wait<kLookaheadStages - kLookaheadDistance - 1>();
      reduce(ahead);
    }
    while (!ready) ready = look();
    __syncwarp();
    const T scanned = device::warp_inclusive_scan(value, op);
    const T below = device::shuffle_up(scanned, 1);
    if (lane == device::kWarpSize - 1) storage.window[parity][warp] = scanned;
    if (block == own) storage.left[parity] = lane == 0 ? Op::identity() : below;
    __syncthreads();  // windows and the totals of the tile ahead are written
    if (ahead < rounds) publish(ahead);

    T prefix = carry;
    for (int w = 0; w * device::kWarpSize < limit; ++w) {
      if (w < own / device::kWarpSize) prefix = op(prefix, storage.window[parity][w]);
      carry = op(carry, storage.window[parity][w]);
    }
    prefix = op(prefix, storage.left[parity]);
    for (int w = 0; w < warp; ++w) {
      prefix = op(prefix, storage.warp[round % Storage::kRounds][w]);
    }
    typename Tile::Items items;
    T before[Tile::kRows];
    lookahead_load<Tile>(items, stage_of(round), first_of(round), n, Op::identity());
    copy(round + kLookaheadStages);  // to the stage that was just read
    Tile::scan_warp(items, before, op);
    Tile::store(y, items, before, prefix, first_of(round), n, exclusive, op);
  }
}

struct Lookahead {
  template <class T, class Op>
  static void run(T* y, const T* x, std::int64_t n, bool exclusive, Op op, void* workspace,
                  const Stream& stream) {
    if (n == 0) return;
    using Tile = device::ScanTile<T, kLookaheadThreads, kLookaheadRows>;
    static_assert(Tile::kElements == lookahead_tile(sizeof(T)), "host code counts other tiles");
    constexpr std::size_t kSharedBytes =
        sizeof(typename Tile::Vector) * kLookaheadRows * kLookaheadThreads * kLookaheadStages;
    const auto kernel = scan_lookahead_kernel<T, Op>;
    const std::int64_t tiles = (n + Tile::kElements - 1) / Tile::kElements;
    const std::int64_t resident = resident_blocks(kernel, kLookaheadThreads, kSharedBytes, stream);
    const std::int64_t blocks =
        std::min({tiles, resident, std::int64_t{kLookaheadThreads}});  // a thread looks at a block
    auto* totals = static_cast<device::DescriptorWord*>(workspace);
    if (tiles > 1) zero_bytes(totals, lookahead_bytes(n, sizeof(T)), stream);
    launch_cooperative(kernel,
                       {static_cast<unsigned>(blocks), kLookaheadThreads, kSharedBytes, stream}, y,
                       x, n, tiles, totals, exclusive, op);
  }
};

}  // namespace weft::kernels::cuda

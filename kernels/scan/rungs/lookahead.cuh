// SPDX-License-Identifier: MIT
// Look-ahead: one pass, 2n elements of traffic, and totals are published before anybody asks.
//
// As many blocks as the device holds at once sweep over the array together: in round r, block b has
// tile r * blocks + b. A ring of stages in shared memory holds four tiles of a block: one is being
// stored, the next two are scanned and their totals published, the fourth is being copied. So when
// a block comes to a tile, the totals of its sweep were published long before. No prefix travels
// from block to block: each adds up all totals itself, a window of 32 of them in each warp.
//
//   round r    stage  r        add (carry op totals of the sweep to the left), store
//                     r + 1    total published in round r - 1
//                     r + 2    scan in place, publish the total
//                     r + 3    being copied
//
// A warp scans its part of a tile once, when it is there, by vectors of 16 bytes that lie in a row:
// six shuffles for 384 floats. What is left for the tile's own round is one addition an element.
//
// The kernel may start while the one before it ends (sm_90), and prefetches the tiles of its first
// rounds into L2 meanwhile. There are only as many blocks as share the rounds evenly: 2731 tiles
// are 11 rounds of 249 blocks, and not 10 rounds of 264 and a third of one.
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

#include "engine/launch.h"
#include "kernels/device/async_copy.cuh"
#include "kernels/device/descriptor.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/scan.cuh"
#include "kernels/scan/parts/workspace.h"

namespace weft::kernels::cuda {

constexpr int kLookaheadThreads = 512;
constexpr int kLookaheadRows = 3;                       // 16-byte vectors of a thread, at most
constexpr int kLookaheadStages = 4;                     // tiles of a block in shared memory
constexpr int kLookaheadDistance = 2;                   // rounds from a tile's total to its scan
constexpr int kLookaheadRing = 2 * kLookaheadDistance;  // rounds whose totals are kept

constexpr std::int64_t lookahead_tile(std::size_t element_bytes, int rows) {
  return kLookaheadThreads * rows * scan_lanes(element_bytes);
}

// Rows of lookahead's tiles for n elements and so many resident blocks. A round costs what its tile
// does and about a row more, so large tiles are best for many rounds; where the blocks have one or
// two, the tiles that leave least of the last round empty.
constexpr int lookahead_rows(std::int64_t n, std::size_t element_bytes, std::int64_t blocks) {
  int best = kLookaheadRows;
  if (n <= lookahead_tile(element_bytes, best)) return best;  // one block, which asks nobody
  std::int64_t least = INT64_MAX;
  for (int rows = kLookaheadRows; rows > 0; --rows) {
    const std::int64_t round = blocks * lookahead_tile(element_bytes, rows);
    const std::int64_t cost = divide_up(n, round) * (rows + 1);
    if (cost < least) least = cost, best = rows;
  }
  return best;
}

// Starts this lane's copies to its warp's part of the tile at `first`, vectors in the order of
// memory.
template <class Tile, class T>
__device__ __forceinline__ void lookahead_copy(typename Tile::Vector* part, const T* x,
                                               std::int64_t first, std::int64_t n) {
  using Vector = typename Tile::Vector;
  const std::int64_t base = first + Tile::thread_offset();
  Vector* const slots = part + threadIdx.x % device::kWarpSize;
  if (sizeof(Vector) == 16 && first + Tile::kElements <= n && device::is_aligned(x, 16)) {
#pragma unroll
    for (int k = 0; k < Tile::kRows; ++k) {
      device::async_copy_float4(reinterpret_cast<float*>(&slots[k * device::kWarpSize]),
                                reinterpret_cast<const float*>(x + base + k * Tile::kRowElements),
                                4);
    }
  } else {
    constexpr int kWords = static_cast<int>(sizeof(T) / 4);  // of a float each
#pragma unroll
    for (int k = 0; k < Tile::kRows; ++k) {
      for (int e = 0; e < Tile::kLanes; ++e) {
        const std::int64_t i = base + k * Tile::kRowElements + e;
        const bool inside = i < n;  // zeros behind the end: vectors are read as a whole
        for (int word = 0; word < kWords; ++word) {
          device::async_copy_float(
              reinterpret_cast<float*>(&slots[k * device::kWarpSize].lane[e]) + word,
              reinterpret_cast<const float*>(inside ? x + i : x) + word, inside);
        }
      }
    }
  }
}

// Scans a warp's part of a tile in place and returns its total, to its last lane. A lane takes
// kRows vectors in a row: the elements between two lanes are few, and so are the shuffles. For an
// odd kRows the vectors of eight lanes lie in different banks. What is behind the end of x has no
// part in what comes before it.
template <class Tile, class T, class Op>
__device__ __forceinline__ T lookahead_scan(typename Tile::Vector* part, Op op) {
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  typename Tile::Vector v[Tile::kRows];
  T total = Op::identity();
#pragma unroll
  for (int k = 0; k < Tile::kRows; ++k) {
    v[k] = part[lane * Tile::kRows + k];
#pragma unroll
    for (int e = 0; e < Tile::kLanes; ++e) {
      total = k + e == 0 ? v[k].lane[e] : op(total, v[k].lane[e]);
      v[k].lane[e] = total;
    }
  }
  total = device::warp_inclusive_scan(total, op);
  const T before = device::shuffle_up(total, 1);
#pragma unroll
  for (int k = 0; k < Tile::kRows; ++k) {
#pragma unroll
    for (int e = 0; e < Tile::kLanes; ++e) {
      if (lane > 0) v[k].lane[e] = op(before, v[k].lane[e]);
    }
    part[lane * Tile::kRows + k] = v[k];
  }
  return total;
}

// This lane's vectors of a scanned part, in the order of memory. Exclusive: what comes before each
// element; before the first one nothing does, and it is left as it is.
template <class Tile>
__device__ __forceinline__ void lookahead_load(typename Tile::Vector (&v)[Tile::kRows],
                                               const typename Tile::Vector* part, bool exclusive) {
#pragma unroll
  for (int k = 0; k < Tile::kRows; ++k) {
    const int at = k * device::kWarpSize + static_cast<int>(threadIdx.x) % device::kWarpSize;
    v[k] = part[at];
    if (!exclusive) continue;
#pragma unroll
    for (int e = Tile::kLanes - 1; e > 0; --e) v[k].lane[e] = v[k].lane[e - 1];
    if (at > 0) v[k].lane[0] = part[at - 1].lane[Tile::kLanes - 1];
  }
}

// Stores them to the tile at `first`, with `prefix` before them.
template <class Tile, class T, class Op>
__device__ __forceinline__ void lookahead_store(T* y, const typename Tile::Vector (&v)[Tile::kRows],
                                                T prefix, std::int64_t first, std::int64_t n,
                                                bool exclusive, Op op) {
  using Vector = typename Tile::Vector;
  const std::int64_t base = first + Tile::thread_offset();
  const bool whole = first + Tile::kElements <= n && device::is_aligned(y, alignof(Vector));
  const bool starts = exclusive && threadIdx.x % device::kWarpSize == 0;
#pragma unroll
  for (int k = 0; k < Tile::kRows; ++k) {
    Vector out;
#pragma unroll
    for (int e = 0; e < Tile::kLanes; ++e) {
      out.lane[e] = k + e == 0 && starts ? prefix : op(prefix, v[k].lane[e]);
    }
    if (whole) {
      *reinterpret_cast<Vector*>(y + base + k * Tile::kRowElements) = out;
    } else {
#pragma unroll
      for (int e = 0; e < Tile::kLanes; ++e) {
        const std::int64_t i = base + k * Tile::kRowElements + e;
        if (i < n) y[i] = out.lane[e];
      }
    }
  }
}

template <class T>
struct LookaheadStorage {
  static constexpr int kWarps = kLookaheadThreads / device::kWarpSize;
  static constexpr int kRounds = kLookaheadDistance + 2;
  T warp[kRounds][kWarps];  // what comes before a warp's part of a tile; before that, its total
  T window[2][kWarps];      // totals of 32 blocks each, of this round and the one before
  T left[2];                // what comes before this block in its window
};

// Adds the totals of a sweep, of which those of the first `limit` blocks count, to `carry`, which
// is what comes before the sweep. Returns what comes before this warp's part of the tile of `own`.
template <class T, class Op>
__device__ __forceinline__ T lookahead_prefix(T& carry, const LookaheadStorage<T>& storage,
                                              int round, int limit, int own, int warp, Op op) {
  using Storage = LookaheadStorage<T>;
  const int parity = round % 2;
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
  return op(op(prefix, storage.left[parity]), storage.warp[round % Storage::kRounds][warp]);
}

// The totals of the warps become what comes before each; returns the total of all.
template <class T, class Op, int kWarps>
__device__ __forceinline__ T lookahead_sum_warps(T (&warps)[kWarps], Op op) {
  T total = Op::identity();
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    const T part = warps[w];
    warps[w] = total;
    total = w == 0 ? part : op(total, part);
  }
  return total;
}

// Scans a warp's window of totals, of which each lane has one. A barrier must follow.
template <class T, class Op>
__device__ __forceinline__ void lookahead_scan_window(LookaheadStorage<T>& storage, int parity,
                                                      T value, int own, Op op) {
  const int block = static_cast<int>(threadIdx.x), lane = block % device::kWarpSize;
  const T scanned = device::warp_inclusive_scan(value, op), below = device::shuffle_up(scanned, 1);
  if (lane == device::kWarpSize - 1) storage.window[parity][block / device::kWarpSize] = scanned;
  if (block == own) storage.left[parity] = lane == 0 ? Op::identity() : below;
}

// The tiles of a block, one in each round, and what a warp does with its part of them.
template <class T, class Op, int kRows>
struct LookaheadSweep {
  using Tile = device::ScanTile<T, kLookaheadThreads, kRows>;
  using Storage = LookaheadStorage<T>;
  static constexpr int kPart = Tile::kRows * device::kWarpSize;  // vectors of a warp

  Storage& storage;
  typename Tile::Vector* parts;         // of this warp, in the first stage
  int lane, warp, blocks, own, rounds;  // own: this block
  Op op;

  __device__ __forceinline__ std::int64_t first_of(int round) const {
    return (own + static_cast<std::int64_t>(round) * blocks) * Tile::kElements;
  }
  __device__ __forceinline__ typename Tile::Vector* part_of(int round) const {
    return parts + round % kLookaheadStages * (Storage::kWarps * kPart);
  }
  __device__ __forceinline__ static device::TileState state_of(int round) {
    // Never that of an empty descriptor.
    return static_cast<device::TileState>(static_cast<unsigned>(round) + 1);
  }
  __device__ __forceinline__ void copy(const T* x, std::int64_t n, int round) const {
    if (round < rounds) lookahead_copy<Tile>(part_of(round), x, first_of(round), n);
    device::async_commit();  // also when empty, so that the groups count the rounds
  }
  __device__ __forceinline__ void scan(int round) const {
    __syncwarp();  // all lanes' copies are there
    const T total = lookahead_scan<Tile, T>(part_of(round), op);
    if (lane == device::kWarpSize - 1) storage.warp[round % Storage::kRounds][warp] = total;
  }
  // Behind a barrier after scan().
  __device__ __forceinline__ void publish(device::DescriptorWord* totals, std::int64_t tiles,
                                          int round) const {
    if (threadIdx.x != 0) return;
    const T total = lookahead_sum_warps(storage.warp[round % Storage::kRounds], op);
    // Nobody asks for the total of the last tile: if it were published, clearing could overtake it.
    if (own + static_cast<std::int64_t>(round) * blocks + 1 == tiles) return;
    device::publish(totals, round % kLookaheadRing * blocks + own, state_of(round), total);
  }
};

// words[0] counts the blocks that have looked for the last time; the totals of a ring of rounds
// follow. All are zero before and after.
template <class T, class Op, int kRows>
__global__ void __launch_bounds__(kLookaheadThreads, 2)
    scan_lookahead_kernel(T* y, const T* x, std::int64_t n, std::int64_t tiles,
                          device::DescriptorWord* words, bool exclusive, Op op) {
  using Sweep = LookaheadSweep<T, Op, kRows>;
  using Tile = typename Sweep::Tile;
  float4* shared4 = device::dynamic_shared<float4>();
  __shared__ LookaheadStorage<T> storage;
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / device::kWarpSize;
  auto* const parts = reinterpret_cast<typename Tile::Vector*>(shared4) + warp * Sweep::kPart;
  const int blocks = static_cast<int>(gridDim.x), own = static_cast<int>(blockIdx.x);
  const int rounds = static_cast<int>(divide_up(tiles - own, blocks));
  device::DescriptorWord* totals = words + 1;
  const Sweep sweep{storage, parts, lane, warp, blocks, own, rounds, op};

  device::overlap_allow();
  if (threadIdx.x < kLookaheadStages && static_cast<int>(threadIdx.x) < rounds) {
    const std::int64_t first = sweep.first_of(static_cast<int>(threadIdx.x));
    device::prefetch(x + first, min(n - first, std::int64_t{Tile::kElements}));
  }
  device::overlap_wait();
  for (int round = 0; round < kLookaheadStages; ++round) sweep.copy(x, n, round);
  device::async_wait<kLookaheadStages - 1>();
  sweep.scan(0);
  __syncthreads();  // the totals of all warps are written
  sweep.publish(totals, tiles, 0);
  if (rounds > 1) {
    device::async_wait<kLookaheadStages - 2>();
    sweep.scan(1);
    __syncthreads();  // as above
    sweep.publish(totals, tiles, 1);
  }

  T carry = Op::identity();             // all sweeps before this one
  device::DescriptorWord finished = 0;  // blocks that looked for the last time before this one
  for (int round = 0; round < rounds; ++round) {
    // The totals of this sweep that count: all of them when there is a next round.
    const int limit = round + 1 < rounds ? blocks : own, parity = round % 2;
    const int block = static_cast<int>(threadIdx.x);
    const int place = round % kLookaheadRing * blocks + block;
    device::Look<T> look;
    if (block < limit) look = device::look_at<T>(totals, place);  // arrives while a tile is scanned
    const int ahead = round + kLookaheadDistance;
    if (ahead < rounds) {
      device::async_wait<kLookaheadStages - kLookaheadDistance - 1>();
      sweep.scan(ahead);
    }
    T value = Op::identity();
    if (block < limit) {
      while (device::seen(look, value) != Sweep::state_of(round)) {
        look = device::look_at<T>(totals, place);
      }
    }
    __syncwarp();
    lookahead_scan_window(storage, parity, value, own, op);
    __syncthreads();  // windows and the totals of the tile ahead are written
    if (ahead < rounds) sweep.publish(totals, tiles, ahead);
    if (round + 1 == rounds && tiles > 1 && threadIdx.x == 0) {
      finished = atomicAdd(words, device::DescriptorWord(1));  // arrives while the tile is stored
    }

    const T prefix = lookahead_prefix(carry, storage, round, limit, own, warp, op);
    typename Tile::Vector v[Tile::kRows];
    lookahead_load<Tile>(v, sweep.part_of(round), exclusive);
    __syncwarp();                                // all lanes have read
    sweep.copy(x, n, round + kLookaheadStages);  // to the stage that was just read
    lookahead_store<Tile>(y, v, prefix, sweep.first_of(round), n, exclusive, op);
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
    const std::int64_t tiles = divide_up(n, kTile), rounds = divide_up(tiles, most_blocks);
    const auto blocks = static_cast<unsigned>(divide_up(tiles, rounds));
    const Launch config{blocks, kLookaheadThreads, shared_bytes<T>(kRows), stream};
    launch(scan_lookahead_kernel<T, Op, kRows>, config.cooperative().overlapped(), y, x, n, tiles,
           stream.zeroed_words(), exclusive, op);
  }
};

}  // namespace weft::kernels::cuda

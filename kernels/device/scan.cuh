// SPDX-License-Identifier: MIT
// Scans of a warp and of a tile, for operators that need not commute.
//
// A tile is what one block scans at a time, kRows 16-byte vectors per thread. Warp w owns the w-th
// part of the tile; row k of a warp is 32 vectors, one per lane, so that every load and store of a
// warp is one piece of 512 bytes and nothing has to be transposed:
//
//   warp 0:  row 0  | lane 0: x0 x1 x2 x3 | lane 1: x4 x5 x6 x7 | ... | lane 31 |
//            row 1  | lane 0: x128 ...                                          |
//            ...
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/device/shuffle.cuh"
#include "kernels/device/vector.cuh"

namespace weft::kernels::device {

// Lane l gets op(value of lane 0, ..., value of lane l).
template <class T, class Op>
__device__ __forceinline__ T warp_inclusive_scan(T value, Op op) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
#pragma unroll
  for (int delta = 1; delta < kWarpSize; delta *= 2) {
    const T below = shuffle_up(value, delta);
    if (lane >= delta) value = op(below, value);
  }
  return value;
}

template <class T, int kThreads_, int kRows_>
struct ScanTile {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_default_constructible_v<T>,
                "elements live in shared memory and are copied as bytes");
  static_assert(kThreads_ % kWarpSize == 0, "warps must be whole for the shuffles");
  static constexpr int kThreads = kThreads_;
  static constexpr int kRows = kRows_;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kLanes = 16 % sizeof(T) == 0 ? static_cast<int>(16 / sizeof(T)) : 1;
  static constexpr int kRowElements = kWarpSize * kLanes;
  static constexpr int kElements = kThreads * kRows * kLanes;

  struct alignas(kLanes > 1 ? 16 : alignof(T)) Vector {
    T lane[kLanes];
  };
  using Items = T[kRows][kLanes];
  struct Storage {
    T warp[kWarps];  // total of each warp
  };

  // Offset of this thread's first vector in the tile.
  static __device__ __forceinline__ std::int64_t thread_offset() {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    return warp * (kRows * kRowElements) + lane * kLanes;
  }

  // Elements of the tile that starts at `first`; `padding` stands for those past the end, n.
  static __device__ __forceinline__ void load(Items& items, const T* x, std::int64_t first,
                                              std::int64_t n, T padding) {
    const std::int64_t base = first + thread_offset();
    if (first + kElements <= n && is_aligned(x, alignof(Vector))) {
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const Vector v = *reinterpret_cast<const Vector*>(x + base + k * kRowElements);
#pragma unroll
        for (int e = 0; e < kLanes; ++e) items[k][e] = v.lane[e];
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
#pragma unroll
      for (int e = 0; e < kLanes; ++e) {
        const std::int64_t i = base + k * kRowElements + e;
        items[k][e] = i < n ? x[i] : padding;
      }
    }
  }

  // Scans each vector in place and leaves in before[k] what comes before it in its warp's part of
  // the tile. Returns the total of that part. All lanes of the warp must call it.
  template <class Op>
  static __device__ __forceinline__ T scan_warp(Items& items, T (&before)[kRows], Op op) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
    T row[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
#pragma unroll
      for (int e = 1; e < kLanes; ++e) items[k][e] = op(items[k][e - 1], items[k][e]);
      row[k] = items[k][kLanes - 1];
    }
    // The rows are independent, so that their shuffles overlap.
#pragma unroll
    for (int delta = 1; delta < kWarpSize; delta *= 2) {
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        const T below = shuffle_up(row[k], delta);
        if (lane >= delta) row[k] = op(below, row[k]);
      }
    }
    T carry = Op::identity();
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const T below = shuffle_up(row[k], 1);
      before[k] = lane == 0 ? carry : op(carry, below);
      carry = op(carry, shuffle(row[k], kWarpSize - 1));
    }
    return carry;
  }

  // The total of a warp's part of the tile, to its first lane. All lanes of the warp must call it.
  template <class Op>
  static __device__ __forceinline__ T reduce_warp(const Items& items, Op op) {
    T row[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      row[k] = items[k][0];
#pragma unroll
      for (int e = 1; e < kLanes; ++e) row[k] = op(row[k], items[k][e]);
    }
#pragma unroll
    for (int delta = 1; delta < kWarpSize; delta *= 2) {
#pragma unroll
      for (int k = 0; k < kRows; ++k) row[k] = op(row[k], shuffle_down(row[k], delta));
    }
    T total = row[0];
#pragma unroll
    for (int k = 1; k < kRows; ++k) total = op(total, row[k]);
    return total;
  }

  // Scans the tile as scan_warp() does, with what comes before in the whole tile. Returns the
  // tile's total, to all threads. All threads of the block must call it.
  template <class Op>
  static __device__ __forceinline__ T scan(Items& items, T (&before)[kRows], Op op,
                                           Storage& storage) {
    const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
    const T warp_total = scan_warp(items, before, op);
    __syncthreads();  // reads of an earlier call are done before its storage is written again
    if (threadIdx.x % kWarpSize == 0) storage.warp[warp] = warp_total;
    __syncthreads();  // all warps have written before any thread reads
    T total = Op::identity(), warp_before = Op::identity();
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) warp_before = total;
      total = op(total, storage.warp[w]);
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) before[k] = op(warp_before, before[k]);
    return total;
  }

  // Stores the scanned tile, with `prefix` before its first element.
  template <class Op>
  static __device__ __forceinline__ void store(T* y, const Items& items, const T (&before)[kRows],
                                               T prefix, std::int64_t first, std::int64_t n,
                                               bool exclusive, Op op) {
    const std::int64_t base = first + thread_offset();
    const bool whole = first + kElements <= n && is_aligned(y, alignof(Vector));
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const T start = op(prefix, before[k]);
      Vector v;
#pragma unroll
      for (int e = 0; e < kLanes; ++e) {
        if (exclusive) {
          v.lane[e] = e == 0 ? start : op(start, items[k][e == 0 ? 0 : e - 1]);
        } else {
          v.lane[e] = op(start, items[k][e]);
        }
      }
      if (whole) {
        *reinterpret_cast<Vector*>(y + base + k * kRowElements) = v;
      } else {
#pragma unroll
        for (int e = 0; e < kLanes; ++e) {
          const std::int64_t i = base + k * kRowElements + e;
          if (i < n) y[i] = v.lane[e];
        }
      }
    }
  }
};

}  // namespace weft::kernels::device

// SPDX-License-Identifier: MIT
// What the rungs with counters in shared memory share: 32-bit counters of bins
// [first, first + span) that a block clears, fills and adds to the 64-bit counts in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/histogram/launchers.h"

namespace weft::kernels::cuda {

// Blocks of kernels that loop over x. One block never counts 2^32 values: at most about 2^31.
inline unsigned histogram_blocks(std::int64_t n, std::int64_t per_block, std::int64_t blocks) {
  return blocks_for(n, per_block, std::max(blocks, (n >> 31) + 1));
}

// The bytes of one 32-bit counter for each bin.
constexpr std::size_t counter_bytes(std::int32_t bins) {
  return sizeof(std::uint32_t) * static_cast<std::size_t>(bins);
}

__device__ __forceinline__ void add_to_bin(std::int64_t* counts, std::int64_t bin,
                                           std::uint64_t count) {
  atomicAdd(reinterpret_cast<unsigned long long*>(counts) + bin, count);
}

struct PrivateCounts {
  std::uint32_t* counters;  // shared memory, one for each bin of the span
  std::int32_t first, span;

  // All threads of the block call it.
  __device__ __forceinline__ void clear() const {
    for (int b = static_cast<int>(threadIdx.x); b < span; b += static_cast<int>(blockDim.x)) {
      counters[b] = 0;
    }
    __syncthreads();  // counters are 0 before any thread counts
  }

  // Without a use for the old value this is one shared-memory instruction, in which lanes that hit
  // the same counter are added up by the hardware.
  template <class Binning>
  __device__ __forceinline__ void count(const Binning& bins, typename Binning::Value x) const {
    // Not counted is -1 and fails, as do bins before first: they become large unsigned numbers.
    const std::uint32_t place = static_cast<std::uint32_t>(binning::bin_of(bins, x) - first);
    if (place < static_cast<std::uint32_t>(span)) atomicAdd(counters + place, 1u);
  }

  // All threads of the block call it. One atomic in memory for each bin that the block has seen.
  __device__ __forceinline__ void add_to(std::int64_t* counts) const {
    __syncthreads();  // every thread has counted
    for (int b = static_cast<int>(threadIdx.x); b < span; b += static_cast<int>(blockDim.x)) {
      if (counters[b] != 0) add_to_bin(counts, std::int64_t{first} + b, counters[b]);
    }
  }
};

// x cut into whole aligned vectors of 16 bytes and the values before and after them.
template <class Value>
struct VectorSpan {
  static constexpr int kPerVector = 16 / sizeof(Value);

  const uint4* body;
  std::int64_t vectors;
  int head, tail;  // fewer than kPerVector each

  __device__ VectorSpan(const Value* x, std::int64_t n) {
    const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(x) % 16 / sizeof(Value));
    head = static_cast<int>(min(n, static_cast<std::int64_t>((kPerVector - past) % kPerVector)));
    body = reinterpret_cast<const uint4*>(x + head);
    vectors = (n - head) / kPerVector;
    tail = static_cast<int>((n - head) % kPerVector);
  }
};

// Adds the values outside of the body, at most 30, straight to the counts in memory. The first
// block does it; blocks have at least 32 threads.
template <class Binning>
__device__ __forceinline__ void count_edges(std::int64_t* counts,
                                            const VectorSpan<typename Binning::Value>& span,
                                            const typename Binning::Value* x, std::int64_t n,
                                            const Binning& bins) {
  const int t = static_cast<int>(threadIdx.x);
  if (blockIdx.x != 0 || blockIdx.y != 0 || t >= span.head + span.tail) return;
  const int bin = binning::bin_of(bins, t < span.head ? x[t] : x[n - 1 - (t - span.head)]);
  if (bin != binning::kNotCounted) add_to_bin(counts, bin, 1);
}

// Calls visit(value) for the 16 bytes of a vector.
template <class Value, class Visit>
__device__ __forceinline__ void visit_values(uint4 vector, Visit visit) {
  const std::uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(Value) == 1) {
#pragma unroll
      for (int k = 0; k < 4; ++k) visit(static_cast<Value>(words[w] >> (8 * k)));
    } else if constexpr (std::is_same_v<Value, float>) {
      visit(__uint_as_float(words[w]));
    } else {
      visit(static_cast<Value>(words[w]));
    }
  }
}

// Counts the body, strided by the blocks of the x dimension, two loads in flight per thread.
template <class Binning>
__device__ __forceinline__ void count_vectors(const PrivateCounts& counts,
                                              const VectorSpan<typename Binning::Value>& span,
                                              const Binning& bins) {
  using Value = typename Binning::Value;
  const auto count = [&](Value value) { counts.count(bins, value); };
  const std::int64_t step = device::grid_threads();
  std::int64_t i = device::global_thread();
  for (; i + step < span.vectors; i += 2 * step) {
    const uint4 a = span.body[i];
    const uint4 b = span.body[i + step];
    visit_values<Value>(a, count);
    visit_values<Value>(b, count);
  }
  if (i < span.vectors) visit_values<Value>(span.body[i], count);
}

}  // namespace weft::kernels::cuda

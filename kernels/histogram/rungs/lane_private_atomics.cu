// SPDX-License-Identifier: MIT
// Histogram of bytes, rung "lane_private_atomics": a counter for every bin and bank.
//
//   shared memory   256 bins x 32 banks x 4 bytes = 32 KiB, one block of 1024 threads on an SM
//   address         bin * 128 + lane * 4
//
// Lane l counts in bank l only, so that the 32 lanes of a warp never wait for each other, whatever
// the values. Warps share the counters, hence atomics, but these need no answer: unlike a load, an
// addition and a store, nothing waits for them. Two loads of 16 bytes are always on their way: the
// first ones while counters are cleared, the next ones while these are counted. At the end a warp
// has eight bins. It adds up the 32 counters of a bin in one instruction (from sm_80 on), and adds
// the eight sums to memory in another one.
#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 1024;
constexpr int kWarps = kThreads / device::kWarpSize;
constexpr int kBins = static_cast<int>(kHistogramByteBins);
constexpr int kCounters = kBins * device::kWarpSize;
constexpr int kTaken = kBins / kWarps;  // bins that a warp adds up
constexpr int kInFlight = 2;            // vectors of a thread

__device__ __forceinline__ void count_word(std::uint32_t* counters, std::uint32_t word) {
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    // Byte k times the 32 counters of a bin.
    const std::uint32_t offset = k == 0 ? word << 5 & 0x1fe0 : word >> (8 * k - 5) & 0x1fe0;
    atomicAdd(counters + offset, 1u);
  }
}

__device__ __forceinline__ void count_vector(std::uint32_t* counters, const uint4& vector) {
  count_word(counters, vector.x);
  count_word(counters, vector.y);
  count_word(counters, vector.z);
  count_word(counters, vector.w);
}

// The sum over a warp; of a block's values, which are fewer than 2^32.
__device__ __forceinline__ std::uint32_t warp_sum(std::uint32_t value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(device::kFullWarp, value);
#else
  return device::warp_reduce(value, device::Add());
#endif
}

__global__ void __launch_bounds__(kThreads)
    lane_private_atomics_kernel(std::int64_t* __restrict__ counts,
                                const std::uint8_t* __restrict__ x, std::int64_t n) {
  __shared__ uint4 cleared[kCounters / 4];
  auto* counters = reinterpret_cast<std::uint32_t*>(cleared);
  const VectorSpan<std::uint8_t> span(x, n);
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const std::int64_t step = device::grid_threads();
  uint4 now[kInFlight] = {}, next[kInFlight] = {};
  const auto load = [&](uint4(&vectors)[kInFlight], std::int64_t first) {
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (first + k * step < span.vectors) vectors[k] = span.body[first + k * step];
    }
  };
  load(now, device::global_thread());
  for (int i = static_cast<int>(threadIdx.x); i < kCounters / 4; i += kThreads) {
    cleared[i] = {0, 0, 0, 0};
  }
  __syncthreads();  // counters are 0 before any thread counts
  count_edges(counts, span, x, n, ByteBinning{kBins});

  for (std::int64_t i = device::global_thread(); i < span.vectors; i += kInFlight * step) {
    load(next, i + kInFlight * step);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (i + k * step < span.vectors) count_vector(counters + lane, now[k]);
      now[k] = next[k];
    }
  }
  __syncthreads();  // every thread has counted

  const int first = static_cast<int>(threadIdx.x) / device::kWarpSize * kTaken;
  std::uint32_t mine = 0;
#pragma unroll
  for (int k = 0; k < kTaken; ++k) {
    const std::uint32_t sum = warp_sum(counters[(first + k) * device::kWarpSize + lane]);
    if (lane == k) mine = sum;
  }
  if (lane < kTaken && mine != 0) add_to_bin(counts, first + lane, mine);
}

}  // namespace

void histogram_lane_private_atomics(const HistogramCall& call, const Stream& stream) {
  const std::int64_t per_block = std::int64_t{VectorSpan<std::uint8_t>::kPerVector} * kThreads;
  launch(lane_private_atomics_kernel,
         Launch{histogram_blocks(call.n, per_block, call.multiprocessors), kThreads, 0, stream},
         call.counts, static_cast<const std::uint8_t*>(call.x), call.n);
}

}  // namespace weft::kernels::cuda

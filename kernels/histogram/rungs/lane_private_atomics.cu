// SPDX-License-Identifier: MIT
// Histogram of bytes, rung "lane_private_atomics": a counter for every bin and bank.
//
//   shared memory   256 bins x 2 copies x 32 banks x 4 bytes = 64 KiB a block
//   address         bin * 256 + (warp % 2) * 128 + lane * 4
//
// Lane l counts in bank l only, so that the 32 lanes of a warp never wait for each other, whatever
// the values. Warps share the counters, hence atomics, but these need no answer: unlike a load, an
// addition and a store, nothing waits for them. The address of a byte is one byte permutation: the
// byte itself is bits 8 to 15. At the end a warp adds up the 64 counters of a bin.
#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;
constexpr int kWarps = kThreads / device::kWarpSize;
constexpr int kBins = static_cast<int>(kHistogramByteBins);
constexpr int kCopies = 64;  // counters of a bin
constexpr std::size_t kSharedBytes = sizeof(std::uint32_t) * kBins * kCopies;

__device__ __forceinline__ void count_word(std::uint32_t* counters, std::uint32_t place,
                                           std::uint32_t word) {
#pragma unroll
  for (std::uint32_t k = 0; k < 4; ++k) {
    // Byte 0 from place, byte 1 from the word; bytes 2 and 3 of place are 0.
    const std::uint32_t offset = __byte_perm(place, word, 0x3200u | (4 + k) << 4);
    char* address = reinterpret_cast<char*>(counters) + offset;
    atomicAdd(reinterpret_cast<std::uint32_t*>(address), 1u);
  }
}

__device__ __forceinline__ void count_vector(std::uint32_t* counters, std::uint32_t place,
                                             const uint4& vector) {
  count_word(counters, place, vector.x);
  count_word(counters, place, vector.y);
  count_word(counters, place, vector.z);
  count_word(counters, place, vector.w);
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    lane_private_atomics_kernel(std::int64_t* __restrict__ counts,
                                const std::uint8_t* __restrict__ x, std::int64_t n) {
  std::uint32_t* counters = device::dynamic_shared<std::uint32_t>();
  const VectorSpan<std::uint8_t> span(x, n);
  for (int i = static_cast<int>(threadIdx.x); i < kBins * kCopies; i += kThreads) counters[i] = 0;
  __syncthreads();  // counters are 0 before any thread counts
  count_edges(counts, span, x, n, ByteBinning{kBins});

  const std::uint32_t place = threadIdx.x % kCopies * 4;
  const std::int64_t step = device::grid_threads();
  std::int64_t i = device::global_thread();
  for (; i + step < span.vectors; i += 2 * step) {
    const uint4 a = span.body[i];
    const uint4 b = span.body[i + step];
    count_vector(counters, place, a);
    count_vector(counters, place, b);
  }
  if (i < span.vectors) count_vector(counters, place, span.body[i]);
  __syncthreads();  // every thread has counted

  const int lane = threadIdx.x % device::kWarpSize;
  for (int bin = threadIdx.x / device::kWarpSize; bin < kBins; bin += kWarps) {
    const std::uint32_t* of_bin = counters + bin * kCopies;
    const std::uint64_t sum = device::warp_reduce(
        std::uint64_t{of_bin[lane]} + of_bin[lane + device::kWarpSize], device::Add());
    if (lane == 0 && sum != 0) add_to_bin(counts, bin, sum);
  }
}

}  // namespace

void histogram_lane_private_atomics(const HistogramCall& call, const Stream& stream) {
  const std::int64_t resident = std::int64_t{kBlocksPerSm} * call.multiprocessors;
  const std::int64_t per_block = std::int64_t{VectorSpan<std::uint8_t>::kPerVector} * kThreads;
  launch(lane_private_atomics_kernel,
         Launch{histogram_blocks(call.n, per_block, resident), kThreads, kSharedBytes, stream},
         call.counts, static_cast<const std::uint8_t*>(call.x), call.n);
}

}  // namespace weft::kernels::cuda

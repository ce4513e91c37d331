// SPDX-License-Identifier: MIT
// Histogram of bytes, rung "lane_private": byte counters that only one lane ever touches.
//
//   a warp's counters   64 rows x 32 lanes x 4 bytes = 8 KiB; 8 warps a block, 24 an SM of an H200
//   value v of lane l   row v % 64, bank l, byte v / 64 of the word
//
// Lane l owns bank l: no bank conflicts, no atomics, whatever the values. An increment is a load,
// an addition and a store, two cycles of the shared memory for 32 values; two values at a time,
// since each waits for its load. A byte holds 255, so after 15 vectors (240 values) a warp adds its
// counters to 32-bit totals in registers: lane l keeps those of rows l and l + 32.
#include "engine/launch.h"
#include "kernels/device/warp.cuh"
#include "kernels/histogram/parts/private_counts.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * device::kWarpSize;
constexpr int kBlocksPerSm = 3;
constexpr int kBins = static_cast<int>(kHistogramByteBins);
constexpr int kRows = 64;
constexpr int kWarpBytes = kRows * device::kWarpSize * 4;
constexpr std::size_t kSharedBytes = std::size_t{kWarps} * kWarpBytes;
constexpr int kLoads = 5;   // in flight
constexpr int kRounds = 3;  // of kLoads vectors between two flushes
constexpr int kChunk = kLoads * kRounds * device::kWarpSize;  // vectors of a warp
static_assert(kLoads * kRounds * 16 <= 255, "a byte counter must not overflow");

// Where a lane's counters are, in the form that the address arithmetic wants.
//
//   byte 0 of an address: (warp % 2) * 128 + lane * 4 + value / 64
//   byte 1:               (warp / 2) * 64 + value % 64
struct Place {
  std::uint32_t low;   // byte 0 without the value, in the low byte of both halves
  std::uint32_t high;  // byte 1 without the value, in all four bytes

  __device__ Place(int warp, int lane)
      : low(static_cast<std::uint32_t>(warp % 2 * 128 + lane * 4) * 0x00010001u),
        high(static_cast<std::uint32_t>(warp / 2 * 64) * 0x01010101u) {}
};

__device__ __forceinline__ void count_pair(std::uint8_t* counters, std::uint32_t a,
                                           std::uint32_t b) {
  const std::uint32_t count_a = counters[a], count_b = counters[b];
  counters[a] = static_cast<std::uint8_t>(count_a + 1);
  // Read before the store above: when both are the same counter this store adds 2.
  counters[b] = static_cast<std::uint8_t>(count_b + (a == b ? 2 : 1));
}

__device__ __forceinline__ void count_word(std::uint8_t* counters, const Place& place,
                                           std::uint32_t word) {
  const std::uint32_t rows = (word & 0x3f3f3f3fu) | place.high;
  const std::uint32_t even = ((word >> 6) & 0x00030003u) | place.low;  // values 0 and 2
  const std::uint32_t odd = ((word >> 14) & 0x00030003u) | place.low;  // values 1 and 3
  // Byte 0 from even or odd, byte 1 from rows, bytes 2 and 3 are a 0 from even or odd.
  count_pair(counters, __byte_perm(even, rows, 0x1140), __byte_perm(odd, rows, 0x1150));
  count_pair(counters, __byte_perm(even, rows, 0x1162), __byte_perm(odd, rows, 0x1172));
}

// Adds the counters of four bins, one in each byte, to their totals; clears the counters. The lanes
// of the warp read 32 different banks: lane l starts at word l of its row.
__device__ __forceinline__ void flush_row(std::uint32_t (&totals)[4], std::uint32_t* row,
                                          int lane) {
  std::uint32_t even = 0, odd = 0;  // two sums of 16 bits each: 32 * 255 fits
#pragma unroll 8
  for (int j = 0; j < device::kWarpSize; ++j) {
    std::uint32_t* word = row + (lane + j) % device::kWarpSize;
    even += *word & 0x00ff00ffu;
    odd += (*word >> 8) & 0x00ff00ffu;
    *word = 0;
  }
  totals[0] += even & 0xffffu;
  totals[1] += odd & 0xffffu;
  totals[2] += even >> 16;
  totals[3] += odd >> 16;
}

__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    lane_private_kernel(std::int64_t* __restrict__ counts, const std::uint8_t* __restrict__ x,
                        std::int64_t n) {
  std::uint32_t* shared = device::dynamic_shared<std::uint32_t>();
  const VectorSpan<std::uint8_t> span(x, n);
  const int warp = threadIdx.x / device::kWarpSize, lane = threadIdx.x % device::kWarpSize;
  for (int i = static_cast<int>(threadIdx.x); i < kWarps * kWarpBytes / 4; i += kThreads) {
    shared[i] = 0;
  }
  __syncthreads();  // counters are 0 before any thread counts
  count_edges(counts, span, x, n, ByteBinning{kBins});

  const Place place(warp, lane);
  std::uint8_t* counters = reinterpret_cast<std::uint8_t*>(shared);
  // Row r of this warp: two warps share 256 bytes.
  const auto row_of = [&](int r) { return shared + (warp / 2 * kRows + r) * 64 + warp % 2 * 32; };
  std::uint32_t totals[2][4] = {};
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps * kChunk;
  for (std::int64_t chunk = (std::int64_t{blockIdx.x} * kWarps + warp) * kChunk;
       chunk < span.vectors; chunk += step) {
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
      const std::int64_t first = chunk + round * kLoads * device::kWarpSize + lane;
      uint4 vectors[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const std::int64_t at = first + i * device::kWarpSize;
        if (at < span.vectors) vectors[i] = span.body[at];
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        if (first + i * device::kWarpSize >= span.vectors) continue;
        count_word(counters, place, vectors[i].x);
        count_word(counters, place, vectors[i].y);
        count_word(counters, place, vectors[i].z);
        count_word(counters, place, vectors[i].w);
      }
    }
    __syncwarp();  // all lanes have counted
    flush_row(totals[0], row_of(lane), lane);
    flush_row(totals[1], row_of(lane + device::kWarpSize), lane);
    __syncwarp();  // counters are 0 before any lane counts again
  }

  // The counters are free: the first 256 words become the block's totals. A row holds the values
  // row, row + 64, row + 128 and row + 192, one in each byte.
  __syncthreads();  // all warps have flushed
  for (int b = static_cast<int>(threadIdx.x); b < kBins; b += kThreads) shared[b] = 0;
  __syncthreads();  // totals are 0
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      atomicAdd(shared + k * kRows + half * device::kWarpSize + lane, totals[half][k]);
    }
  }
  PrivateCounts{shared, 0, kBins}.add_to(counts);
}

}  // namespace

void histogram_lane_private(const HistogramCall& call, const Stream& stream) {
  const std::int64_t resident = std::int64_t{kBlocksPerSm} * call.multiprocessors;
  const std::int64_t per_block =
      std::int64_t{VectorSpan<std::uint8_t>::kPerVector} * kWarps * kChunk;
  launch(lane_private_kernel,
         Launch{histogram_blocks(call.n, per_block, resident), kThreads, kSharedBytes, stream},
         call.counts, static_cast<const std::uint8_t*>(call.x), call.n);
}

}  // namespace weft::kernels::cuda

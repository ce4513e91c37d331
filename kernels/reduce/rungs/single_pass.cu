// SPDX-License-Identifier: MIT
// Reduction in one launch: blocks hand their totals to the last block through the L2 cache.
//
//   block b       reduces one contiguous piece of the array and publishes its total, descriptor b
//   last block    also waits for all descriptors, combines them in order and clears them
//
// A second launch costs more than the whole reduction of a short array, and so does a grid barrier.
// A descriptor (kernels/device/descriptor.cuh) carries its state in the words of its value: no
// counter, no atomic operation and no fence, one trip to the L2 cache and one back. The descriptors
// are the stream's zeroed words (engine/stream.h), so that nothing has to be cleared before. Only
// the last block waits, and nobody waits for it: a device that has room for two blocks cannot stop.
//
// A thread has up to eight 16-byte loads in flight, 128 bytes. So 128 blocks of 256 threads request
// 2^20 floats all at once. 64 registers allow four such blocks on an SM. A thread adds at most
// eight floats of a lane before it goes on in double. The grid and the order of every operation
// follow from n and the options. The launch may overlap with the end of the kernel before it
// (sm_90), and prefetches a short array into L2 meanwhile, as in vectorized.cu.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/device/descriptor.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/reduce/parts/block.cuh"
#include "kernels/reduce/parts/vectors.cuh"

namespace weft::kernels::cuda {

namespace {

using device::DescriptorWord;
using device::TileState;

constexpr int kMostLoads = 8;  // of 16 bytes, in flight
constexpr std::int64_t kMostBlocks = 512;
constexpr std::int64_t kSpread = 128;  // blocks that get fewer than kMostLoads rows
constexpr int kLooks = 4;  // descriptors that a thread of the last block asks for at once

// The total of this thread's elements of [begin, end): vectors, and what is left of less than a
// vector at the end of the array. A warp reads kLoads rows of 512 bytes that follow one another, so
// that the addresses of a thread differ by constants. Not __restrict__, see vectorized.cu.
template <class Rule>
__device__ __forceinline__ typename Partial<Rule>::Next::Value thread_total(
    const typename Rule::Input* x, std::int64_t begin, std::int64_t end) {
  using Input = typename Rule::Input;
  using Next = typename Partial<Rule>::Next;
  using Total = typename Next::Value;
  constexpr int kLanes = Vector<Input>::kLanes;
  // The values of argmax need the registers of half the loads.
  constexpr int kLoads = std::is_arithmetic_v<Total> ? kMostLoads : 4;
  constexpr int kRow = device::kWarpSize * kLanes, kPart = kLoads * kRow;  // elements of a warp
  const int warp = static_cast<int>(threadIdx.x) / device::kWarpSize;
  const int lane = static_cast<int>(threadIdx.x) % device::kWarpSize;
  const int tile = static_cast<int>(blockDim.x) * kLoads * kLanes;
  const bool aligned = device::is_aligned(x, 16);
  Total total = Next::identity();
  for (std::int64_t i = begin + warp * kPart + lane * kLanes; i < end; i += tile) {
    const int left = static_cast<int>(end - i < kPart ? end - i : kPart);
    const Input* from = x + i;
    Vector<Input> v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (k * kRow + kLanes <= left) v[k] = load_vector(from, k * kRow, aligned);
    }
    typename Rule::Value values[kLanes];
#pragma unroll
    for (int e = 0; e < kLanes; ++e) values[e] = Rule::identity();
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      if (k * kRow + kLanes > left) continue;
#pragma unroll
      for (int e = 0; e < kLanes; ++e) {
        values[e] = Rule()(values[e], Rule::map(v[k].lane[e], i + k * kRow + e));
      }
    }
#pragma unroll
    for (int e = 0; e < kLanes; ++e) total = Next()(total, static_cast<Total>(values[e]));
  }
  const std::int64_t rest = end - end % kLanes + static_cast<int>(threadIdx.x);
  if (rest < end) total = Next()(total, static_cast<Total>(Rule::map(x[rest], rest)));
  return total;
}

// What this thread, one of `threads`, combines of the descriptors of all blocks, which it clears.
template <class Rule>
__device__ __forceinline__ typename Rule::Value take_totals(DescriptorWord* descriptors, int count,
                                                            int threads) {
  using Value = typename Rule::Value;
  Value total = Rule::identity();
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kLooks * threads) {
    Value values[kLooks];
    bool ready[kLooks];
#pragma unroll
    for (int k = 0; k < kLooks; ++k) {
      const int block = first + k * threads;
      ready[k] =
          block < count && device::inspect(descriptors, block, values[k]) != TileState::empty;
    }
#pragma unroll
    for (int k = 0; k < kLooks; ++k) {
      const int block = first + k * threads;
      if (block >= count) break;
      while (!ready[k]) {
        ready[k] = device::inspect(descriptors, block, values[k]) != TileState::empty;
      }
      total = Rule()(total, values[k]);
      device::clear<Value>(descriptors, block);
    }
  }
  return total;
}

// Block b reduces elements [b * piece, (b + 1) * piece), whole rows. Shared memory: two values for
// each warp.
template <class Rule, class Result>
__global__ void __launch_bounds__(1024)
    single_pass_kernel(Result* result, const typename Rule::Input* x, std::int64_t n,
                       std::int64_t piece, DescriptorWord* descriptors, bool early) {
  using Next = typename Partial<Rule>::Next;
  using Total = typename Next::Value;
  device::overlap_allow();
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const int block = static_cast<int>(blockIdx.x), blocks = static_cast<int>(gridDim.x);
  const std::int64_t begin = block * piece, end = begin + piece < n ? begin + piece : n;
  Total* shared = device::dynamic_shared<Total>();
  if (early && tid == 0) device::prefetch(x + begin, end - begin);
  device::overlap_wait();
  Total total = thread_total<Rule>(x, begin, end);
  total = block_total(total, Next(), shared);
  if (blocks > 1) {
    if (tid == 0) device::publish(descriptors, block, TileState::total, total);
    if (block + 1 < blocks) return;
    // Few totals are one warp's: that is quicker than a barrier.
    if (blocks <= kLooks * device::kWarpSize) {
      if (tid >= device::kWarpSize) return;
      total = warp_total(take_totals<Next>(descriptors, blocks, device::kWarpSize), Next());
    } else {
      total = take_totals<Next>(descriptors, blocks, threads);
      total = block_total(total, Next(), shared + threads / device::kWarpSize);
    }
  }
  if (tid == 0) store_result(result, total);
}

// Rows of a block, of `threads` 16-byte vectors each. An array of one batch of loads is a block's;
// a longer one is spread over kSpread blocks first, then the batches of a block fill up, then the
// grid grows, and at last the blocks loop. Nothing depends on the device.
constexpr std::int64_t rows_of(std::int64_t n, std::size_t element_bytes, int threads) {
  const std::int64_t row = threads * static_cast<std::int64_t>(16 / element_bytes);
  const std::int64_t rows = n > row ? divide_up(n, row) : 1;
  if (rows <= kMostLoads) return rows;
  const std::int64_t spread = divide_up(rows, kSpread), least = divide_up(rows, kMostBlocks);
  return std::max(least, std::min<std::int64_t>(spread, kMostLoads));
}

template <class Rule, class Result>
void run(Result* result, const ReduceCall& call, const Stream& stream) {
  using Input = typename Rule::Input;
  using Value = typename Partial<Rule>::Next::Value;
  static_assert(kMostBlocks * device::kDescriptorWords<Value> <= Stream::kZeroedWords,
                "a descriptor for each block");
  const std::int64_t piece =
      rows_of(call.n, sizeof(Input), call.threads) * call.threads * Vector<Input>::kLanes;
  const std::int64_t blocks = call.n > piece ? divide_up(call.n, piece) : 1;
  const Launch config{static_cast<unsigned>(blocks), static_cast<unsigned>(call.threads),
                      static_cast<std::size_t>(call.threads) / 32 * 2 * sizeof(Value), stream};
  launch(single_pass_kernel<Rule, Result>, config.overlapped(), result,
         static_cast<const Input*>(call.x), call.n, piece, stream.zeroed_words(),
         reduce_is_short(call.n, sizeof(Input)));
}

}  // namespace

void reduce_single_pass(const ReduceCall& call, const Stream& stream) {
  with_rule<true>(call,
                  [&](auto rule, auto* result) { run<decltype(rule)>(result, call, stream); });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Reduction in one launch: blocks hand their totals to the last block through the L2 cache.
//
//   block b       reduces one contiguous piece of the array and publishes its total, descriptor b
//   last block    also waits for all descriptors, combines them in order and clears them
//
// A second launch costs more than the whole reduction of a short array, and so does a grid barrier.
// A descriptor (kernels/device/descriptor.cuh) carries its state in the words of its value: no
// counter, no atomic operation and no fence, one way to the L2 cache and one back. The descriptors
// are the stream's zeroed words (engine/stream.h), so that nothing has to be cleared before. Only
// the last block waits, and nobody waits for it: a device that has room for two blocks cannot stop.
//
// A thread has up to eight 16-byte loads in flight: 128 bytes, 2^20 floats in 128 blocks of 256
// threads all at once; 64 registers, so four blocks of 256 threads on a multiprocessor. It adds at
// most eight floats of a lane before it goes on in double. The grid and the order of every
// operation follow from n and the options. The launch may overlap the end of the kernel before it
// (sm_90), and has brought a short array to the L2 cache by then, as in vectorized.cu.
#include "engine/launch_overlap.h"
#include "kernels/device/descriptor.cuh"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/reduce/block.cuh"
#include "kernels/reduce/vectors.cuh"
#include "kernels/reduce/workspace.h"

namespace weft::kernels::cuda {

namespace {

using device::DescriptorWord;
using device::TileState;

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
  constexpr int kLoads = std::is_arithmetic_v<Total> ? kReduceSinglePassLoads : 4;
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

struct SinglePass {
  template <class Rule, class Result, class T>
  static void run(Result* result, const ReduceArguments<T>& a, const Stream& stream) {
    using Value = typename Partial<Rule>::Next::Value;
    static_assert(kReduceSinglePassBlocks * device::kDescriptorWords<Value> <= Stream::kZeroedWords,
                  "a descriptor for each block");
    const std::int64_t piece = reduce_single_pass_rows(a.n, sizeof(T), a.threads) * a.threads *
                               static_cast<std::int64_t>(16 / sizeof(T));
    const std::int64_t blocks = a.n > piece ? (a.n + piece - 1) / piece : 1;
    launch_overlapped(single_pass_kernel<Rule, Result>, true, 1,
                      Launch{static_cast<unsigned>(blocks), static_cast<unsigned>(a.threads),
                             static_cast<std::size_t>(a.threads) / 32 * 2 * sizeof(Value), stream},
                      result, a.x, a.n, piece, stream.zeroed_words(),
                      reduce_is_short(a.n, sizeof(T)));
  }
};

}  // namespace

template <class T>
void reduce_single_pass(const ReduceArguments<T>& arguments, const Stream& stream) {
  reduce_by_rule<SinglePass>(arguments, stream);
}

template void reduce_single_pass(const ReduceArguments<std::int32_t>&, const Stream&);
template void reduce_single_pass(const ReduceArguments<std::int64_t>&, const Stream&);
template void reduce_single_pass(const ReduceArguments<float>&, const Stream&);
template void reduce_single_pass(const ReduceArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda

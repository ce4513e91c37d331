// SPDX-License-Identifier: MIT
// Reduction in two launches, with 16-byte loads.
//
//   stage 1   block b of B reduces one contiguous piece of the array to partials[b]
//   stage 2   one block reduces the B partials to the result
//
// A thread has four 16-byte loads in flight, 64 bytes, and keeps one value for each element of a
// vector, so that additions do not wait for one another. B is several times what the GPU holds at
// once, so that SMs that finish early get more blocks. It depends on n and the options
// only, and so does the order of every operation: the result has the same bits on every run.
// Partial sums of floats are doubles: for n = 2^28 a thread adds 62 floats into each of its values.
//
// Each launch may start while the one before it ends (sm_90): its blocks are in place and wait for
// what they read. Meanwhile they prefetch a short array into L2, which is safe even if the kernel
// before still changes it, since it writes to L2 too. Pointers are not __restrict__: then const
// memory would count as unchanged while the kernel runs, and loads could move above the wait.
#include <algorithm>

#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/reduce/parts/block.cuh"
#include "kernels/reduce/parts/vectors.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kLoads = 4;                              // of 16 bytes, in flight
constexpr std::int64_t kGridThreads = 132 * 2048 * 4;  // at most
constexpr int kCombineThreads = 1024;

// Block b reduces elements [b * piece, (b + 1) * piece), a multiple of what the block loads at
// once.
template <class Rule>
__global__ void __launch_bounds__(1024)
    vectorized_kernel(typename Partial<Rule>::Next::Value* partials, const typename Rule::Input* x,
                      std::int64_t n, std::int64_t piece, bool early) {
  device::overlap_allow();
  using Input = typename Rule::Input;
  using Total = typename Partial<Rule>::Next::Value;
  constexpr int kLanes = Vector<Input>::kLanes;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * piece;
  const std::int64_t end = begin + piece < n ? begin + piece : n;
  const int row = threads * kLanes, tile = kLoads * row;
  const bool aligned = device::is_aligned(x, 16);
  typename Rule::Value values[kLanes];
#pragma unroll
  for (int e = 0; e < kLanes; ++e) values[e] = Rule::identity();
  if (early && tid == 0) device::prefetch(x + begin, end - begin);
  device::overlap_wait();
  std::int64_t first = begin;
  for (; first + tile <= end; first += tile) {
    const std::int64_t i = first + tid * kLanes;
    Vector<Input> v[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) v[k] = load_vector(x, i + k * row, aligned);
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
#pragma unroll
      for (int e = 0; e < kLanes; ++e) {
        values[e] = Rule()(values[e], Rule::map(v[k].lane[e], i + k * row + e));
      }
    }
  }
  for (std::int64_t i = first + tid; i < end; i += threads) {
    values[0] = Rule()(values[0], Rule::map(x[i], i));
  }
  using Next = typename Partial<Rule>::Next;
  Total total = Next::identity();
#pragma unroll
  for (int e = 0; e < kLanes; ++e) total = Next()(total, static_cast<Total>(values[e]));
  total = block_total(total, Next(), device::dynamic_shared<Total>());
  if (tid == 0) partials[blockIdx.x] = total;
}

template <class Rule, class Result>
__global__ void __launch_bounds__(kCombineThreads)
    combine_kernel(Result* result, const typename Rule::Value* partials, int count) {
  device::overlap_allow();
  using Value = typename Rule::Value;
  Value total = Rule::identity();
  device::overlap_wait();  // for the partials
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kCombineThreads) {
    total = Rule()(total, partials[i]);
  }
  total = block_total(total, Rule(), device::dynamic_shared<Value>());
  if (threadIdx.x == 0) store_result(result, total);
}

// They depend on n and the options only, never on the device, and neither does the order of
// operations.
constexpr std::int64_t blocks_of(std::int64_t n, std::size_t element_bytes, int threads) {
  const std::int64_t tile = threads * kLoads * static_cast<std::int64_t>(16 / element_bytes);
  return std::clamp<std::int64_t>(divide_up(n, tile), 1, kGridThreads / threads);
}

template <class Rule, class Result>
void run(Result* result, const ReduceCall& call, const Stream& stream) {
  using Input = typename Rule::Input;
  using Next = typename Partial<Rule>::Next;
  using Value = typename Next::Value;
  const std::int64_t blocks = blocks_of(call.n, sizeof(Input), call.threads);
  const std::int64_t tile = call.threads * kLoads * Vector<Input>::kLanes;
  const std::int64_t piece = divide_up(divide_up(call.n, tile), blocks) * tile;
  Value* partials = static_cast<Value*>(call.workspace);
  const Launch pieces{static_cast<unsigned>(blocks), static_cast<unsigned>(call.threads),
                      static_cast<std::size_t>(call.threads) / 32 * sizeof(Value), stream};
  launch(vectorized_kernel<Rule>, pieces.overlapped(), partials, static_cast<const Input*>(call.x),
         call.n, piece, reduce_is_short(call.n, sizeof(Input)));
  const Launch combine{1, kCombineThreads, kCombineThreads / 32 * sizeof(Value), stream};
  launch(combine_kernel<Next, Result>, combine.overlapped(), result, partials,
         static_cast<int>(blocks));
}

}  // namespace

void reduce_vectorized(const ReduceCall& call, const Stream& stream) {
  with_rule<true>(call,
                  [&](auto rule, auto* result) { run<decltype(rule)>(result, call, stream); });
}

std::size_t reduce_workspace_vectorized(std::int64_t n, int threads) {
  // Elements of 8 bytes have twice the blocks.
  return static_cast<std::size_t>(blocks_of(n, 8, threads)) * kReducePartialBytes;
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Reduction in two launches, with 16-byte loads.
//
//   stage 1   block b of B reduces one contiguous piece of the array to partials[b]
//   stage 2   one block reduces the B partials to the result
//
// A thread has four 16-byte loads in flight, 64 bytes, and keeps one value for each element of a
// vector, so that additions do not wait for one another. B is several times what the GPU holds at
// once, so that multiprocessors that finish early get more blocks. It depends on n and the options
// only, and so does the order of every operation: the result has the same bits on every run.
// Partial sums of floats are doubles: for n = 2^28 a thread adds 62 floats into each of its values.
//
// Each launch may start while the one before it ends (sm_90): its blocks are in place, and wait for
// what they read. What will be read of a short array they have brought to the L2 cache meanwhile,
// where it would be found also if a kernel before had changed it. Pointers are not __restrict__:
// with it, const memory counts as unchanged while the kernel runs, and loads may move to before the
// wait.
#include "engine/launch_overlap.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/device/overlap.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/reduce/block.cuh"
#include "kernels/reduce/vectors.cuh"
#include "kernels/reduce/workspace.h"

namespace weft::kernels::cuda {

namespace {

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
  const int row = threads * kLanes, tile = kReduceLoads * row;
  const bool aligned = device::is_aligned(x, 16);
  typename Rule::Value values[kLanes];
#pragma unroll
  for (int e = 0; e < kLanes; ++e) values[e] = Rule::identity();
  if (early && tid == 0) device::prefetch(x + begin, end - begin);
  device::overlap_wait();
  std::int64_t first = begin;
  for (; first + tile <= end; first += tile) {
    const std::int64_t i = first + tid * kLanes;
    Vector<Input> v[kReduceLoads];
#pragma unroll
    for (int k = 0; k < kReduceLoads; ++k) v[k] = load_vector(x, i + k * row, aligned);
#pragma unroll
    for (int k = 0; k < kReduceLoads; ++k) {
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

struct Vectorized {
  template <class Rule, class Result, class T>
  static void run(Result* result, const ReduceArguments<T>& a, const Stream& stream) {
    using Next = typename Partial<Rule>::Next;
    using Value = typename Next::Value;
    const std::int64_t blocks = reduce_vectorized_blocks(a.n, sizeof(T), a.threads);
    const std::int64_t tile = a.threads * kReduceLoads * static_cast<std::int64_t>(16 / sizeof(T));
    const std::int64_t tiles = (a.n + tile - 1) / tile;
    const std::int64_t piece = (tiles + blocks - 1) / blocks * tile;
    Value* partials = static_cast<Value*>(a.workspace);
    launch_overlapped(vectorized_kernel<Rule>, true, 1,
                      Launch{static_cast<unsigned>(blocks), static_cast<unsigned>(a.threads),
                             static_cast<std::size_t>(a.threads) / 32 * sizeof(Value), stream},
                      partials, a.x, a.n, piece, reduce_is_short(a.n, sizeof(T)));
    launch_overlapped(combine_kernel<Next, Result>, true, 1,
                      Launch{1, kCombineThreads, kCombineThreads / 32 * sizeof(Value), stream},
                      result, partials, static_cast<int>(blocks));
  }
};

}  // namespace

template <class T>
void reduce_vectorized(const ReduceArguments<T>& a, const Stream& stream) {
  reduce_by_rule<Vectorized>(a, stream);
}

template void reduce_vectorized(const ReduceArguments<std::int32_t>&, const Stream&);
template void reduce_vectorized(const ReduceArguments<std::int64_t>&, const Stream&);
template void reduce_vectorized(const ReduceArguments<float>&, const Stream&);
template void reduce_vectorized(const ReduceArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda

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
#include "kernels/device/vector.cuh"
#include "kernels/reduce/block.cuh"
#include "kernels/reduce/levels.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kCombineThreads = 1024;

// What partial results are kept in, and the rule for them.
template <class Rule>
struct Partial {
  using Next = typename Rule::Next;
};
template <>
struct Partial<CombineRule<Sum<float>, float>> {
  using Next = CombineRule<Sum<double>, double>;
};
template <>
struct Partial<SquareRule<float>> {
  using Next = CombineRule<Sum<double>, double>;
};

template <class T>
struct alignas(16) Vector {
  static constexpr int kLanes = static_cast<int>(16 / sizeof(T));
  T lane[kLanes];
};

// Vector at x + i, one load when x is aligned.
template <class T>
__device__ __forceinline__ Vector<T> load_vector(const T* x, std::int64_t i, bool aligned) {
  if (aligned) return *reinterpret_cast<const Vector<T>*>(x + i);
  Vector<T> v;
#pragma unroll
  for (int e = 0; e < Vector<T>::kLanes; ++e) v.lane[e] = x[i + e];
  return v;
}

// Block b reduces elements [b * piece, (b + 1) * piece), a multiple of what the block loads at
// once.
template <class Rule>
__global__ void __launch_bounds__(1024)
    vectorized_kernel(typename Partial<Rule>::Next::Value* __restrict__ partials,
                      const typename Rule::Input* __restrict__ x, std::int64_t n,
                      std::int64_t piece) {
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
    combine_kernel(Result* __restrict__ result, const typename Rule::Value* __restrict__ partials,
                   int count) {
  using Value = typename Rule::Value;
  Value total = Rule::identity();
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kCombineThreads) {
    total = Rule()(total, partials[i]);
  }
  total = block_total(total, Rule(), device::dynamic_shared<Value>());
  if (threadIdx.x == 0) {
    if constexpr (std::is_arithmetic_v<Value>) {
      *result = static_cast<Result>(total);
    } else {
      *result = total.index;  // of argmax, the value is not asked for
    }
  }
}

template <class Rule, class Result>
void run(Result* result, const typename Rule::Input* x, std::int64_t n, int threads,
         void* workspace, const Stream& stream) {
  using Next = typename Partial<Rule>::Next;
  using Value = typename Next::Value;
  constexpr std::size_t kInput = sizeof(typename Rule::Input);
  const std::int64_t blocks = reduce_vectorized_blocks(n, kInput, threads);
  const std::int64_t tile = threads * kReduceLoads * static_cast<std::int64_t>(16 / kInput);
  const std::int64_t tiles = (n + tile - 1) / tile;
  const std::int64_t piece = (tiles + blocks - 1) / blocks * tile;
  Value* partials = static_cast<Value*>(workspace);
  launch(vectorized_kernel<Rule>,
         Launch{static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                static_cast<std::size_t>(threads) / 32 * sizeof(Value), stream},
         partials, x, n, piece);
  launch(combine_kernel<Next, Result>,
         Launch{1, kCombineThreads, kCombineThreads / 32 * sizeof(Value), stream}, result, partials,
         static_cast<int>(blocks));
}

}  // namespace

template <class T>
void reduce_vectorized(const ReduceArguments<T>& a, const Stream& stream) {
  if (a.index != nullptr) {
    return run<ArgmaxRule<T>>(a.index, a.x, a.n, a.threads, a.workspace, stream);
  }
  switch (a.kind) {
    case Reduction::sum:
      return run<CombineRule<Sum<T>, T>>(a.result, a.x, a.n, a.threads, a.workspace, stream);
    case Reduction::sum_of_squares:
      return run<SquareRule<T>>(a.result, a.x, a.n, a.threads, a.workspace, stream);
    case Reduction::min:
      return run<CombineRule<Min<T>, T>>(a.result, a.x, a.n, a.threads, a.workspace, stream);
    case Reduction::max:
      return run<CombineRule<Max<T>, T>>(a.result, a.x, a.n, a.threads, a.workspace, stream);
  }
}

template void reduce_vectorized(const ReduceArguments<std::int32_t>&, const Stream&);
template void reduce_vectorized(const ReduceArguments<std::int64_t>&, const Stream&);
template void reduce_vectorized(const ReduceArguments<float>&, const Stream&);
template void reduce_vectorized(const ReduceArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Reduction in two stages, with 16-byte loads.
//
//   stage 1   block b of B reduces its elements, strided by the grid, to partials[b]
//   stage 2   one block reduces the B partials to the result
//
// B depends on n only, and so does the order of every operation: the result has the same bits on
// every run. A thread keeps four float sums, so that four additions are under way at once, with two
// loads in flight; partials are doubles. For n = 2^28 a thread adds 256 floats into each sum.
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/reduce/cuda.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kElementsPerBlock = 8 * kThreads;  // two loads for each thread
constexpr std::int64_t kMaxBlocks = 1056;                 // 8 for each of the 132 SMs of an H100

struct Identity {
  __device__ float operator()(float x) const { return x; }
};
struct Square {
  __device__ float operator()(float x) const { return x * x; }
};

// What distinguishes the kinds: how elements are mapped, combined, and what the empty result is.
template <class Map, class Combine>
struct Rule {
  float empty;

  __device__ __forceinline__ float map(float x) const { return Map()(x); }
  template <class T>
  __device__ __forceinline__ T combine(T a, T b) const {
    return Combine()(a, b);
  }
};

// Combines the elements of one 16-byte load; those past the end do not take part.
template <class R>
__device__ __forceinline__ void take(float (&sums)[4], const device::Float4& values,
                                     std::int64_t offset, std::int64_t n, const R& rule) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float mapped = rule.map(values.lane[i]);
    if (offset + i < n) sums[i] = rule.combine(sums[i], mapped);
  }
}

template <class Map, class Combine>
__global__ void __launch_bounds__(kThreads)
    partials_kernel(double* __restrict__ partials, const float* __restrict__ x, std::int64_t n,
                    Rule<Map, Combine> rule) {
  __shared__ device::BlockReduceStorage<double, kThreads> storage;
  float sums[4] = {rule.empty, rule.empty, rule.empty, rule.empty};
  const std::int64_t stride = 4 * device::grid_threads();
  for (std::int64_t first = 4 * device::global_thread(); first < n; first += 2 * stride) {
    const device::Float4 a = device::load4(x, first, n);
    const device::Float4 b = device::load4(x, first + stride, n);
    take(sums, a, first, n, rule);
    take(sums, b, first + stride, n, rule);
  }
  const double low = rule.combine(static_cast<double>(sums[0]), static_cast<double>(sums[1]));
  const double high = rule.combine(static_cast<double>(sums[2]), static_cast<double>(sums[3]));
  const double total = device::block_reduce<kThreads>(rule.combine(low, high), Combine(), storage);
  if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

template <class Map, class Combine>
__global__ void __launch_bounds__(kThreads)
    combine_kernel(float* __restrict__ result, const double* __restrict__ partials, int count,
                   Rule<Map, Combine> rule) {
  __shared__ device::BlockReduceStorage<double, kThreads> storage;
  double total = static_cast<double>(rule.empty);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    total = rule.combine(total, partials[i]);
  }
  total = device::block_reduce<kThreads>(total, Combine(), storage);
  if (threadIdx.x == 0) *result = static_cast<float>(total);
}

template <class Map, class Combine>
void run(float* result, const float* x, std::int64_t n, Workspace workspace, float empty,
         const Stream& stream) {
  const Rule<Map, Combine> rule{empty};
  double* partials = static_cast<double*>(workspace.data);
  const unsigned blocks = blocks_for(n, kElementsPerBlock, kMaxBlocks);
  launch(partials_kernel<Map, Combine>, Launch{blocks, kThreads, 0, stream}, partials, x, n, rule);
  launch(combine_kernel<Map, Combine>, Launch{1, kThreads, 0, stream}, result, partials,
         static_cast<int>(blocks), rule);
}

}  // namespace

std::size_t reduce_workspace_bytes(std::int64_t n) {
  return blocks_for(n, kElementsPerBlock, kMaxBlocks) * sizeof(double);
}

void reduce(float* result, const float* x, std::int64_t n, Reduction kind, Workspace workspace,
            const Stream& stream) {
  switch (kind) {
    case Reduction::sum:
      return run<Identity, device::Add>(result, x, n, workspace, 0.0f, stream);
    case Reduction::sum_of_squares:
      return run<Square, device::Add>(result, x, n, workspace, 0.0f, stream);
    case Reduction::min:
      return run<Identity, device::MinNan>(result, x, n, workspace, INFINITY, stream);
    case Reduction::max:
      return run<Identity, device::MaxNan>(result, x, n, workspace, -INFINITY, stream);
  }
}

}  // namespace weft::kernels::cuda

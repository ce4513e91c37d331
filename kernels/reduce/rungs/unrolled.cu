// SPDX-License-Identifier: MIT
// The last six levels belong to one warp: they are written out, without a loop, and wait for the
// warp only (__syncwarp), not for the block.
#include "kernels/device/warp.cuh"
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

// One level of the tree, by the first warp.
template <class Rule, int kStep>
__device__ __forceinline__ void warp_level(typename Rule::Value* values, int tid) {
  __syncwarp();  // the level below is written
  if (tid < kStep) values[tid] = Rule()(values[tid], values[tid + kStep]);
}

template <class Rule>
__global__ void __launch_bounds__(1024)
    unrolled_kernel(typename Rule::Value* out, const typename Rule::Input* x, std::int64_t n) {
  using Value = typename Rule::Value;
  Value* values = device::dynamic_shared<Value>();
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (2 * threads) + tid;
  values[tid] =
      Rule()(element_or_identity<Rule>(x, i, n), element_or_identity<Rule>(x, i + threads, n));
  for (int step = threads / 2; step > device::kWarpSize; step /= 2) {
    __syncthreads();  // the level below is written
    if (tid < step) values[tid] = Rule()(values[tid], values[tid + step]);
  }
  __syncthreads();  // up to 64 values are written, the rest is one warp's
  if (tid < device::kWarpSize) {
    if (threads > device::kWarpSize) values[tid] = Rule()(values[tid], values[tid + 32]);
    warp_level<Rule, 16>(values, tid);
    warp_level<Rule, 8>(values, tid);
    warp_level<Rule, 4>(values, tid);
    warp_level<Rule, 2>(values, tid);
    warp_level<Rule, 1>(values, tid);
  }
  if (tid == 0) out[blockIdx.x] = values[0];
}

struct Unrolled {
  template <class Rule>
  static constexpr auto kernel = unrolled_kernel<Rule>;
};

}  // namespace

void reduce_unrolled(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<Unrolled>(call, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The first version: a tree over shared memory, in which thread t works when t is a multiple of
// twice the step.
//
//   step 1   t0+t1   -    t2+t3   -    t4+t5   -    t6+t7   -
//   step 2   t0+t2   -      -     -    t4+t6   -      -     -
//   step 4   t0+t4   -      -     -      -     -      -     -
//
// Until the step reaches 32 every warp has a thread at work, so every warp diverges and none
// retires. An element costs one load, and one barrier per step is paid by the whole block.
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    interleaved_divergent_kernel(typename Rule::Value* out, const typename Rule::Input* x,
                                 std::int64_t n) {
  using Value = typename Rule::Value;
  Value* values = device::dynamic_shared<Value>();
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + tid;
  values[tid] = element_or_identity<Rule>(x, i, n);
  for (int step = 1; step < threads; step *= 2) {
    __syncthreads();  // the level below is written
    if (tid % (2 * step) == 0) values[tid] = Rule()(values[tid], values[tid + step]);
  }
  if (tid == 0) out[blockIdx.x] = values[0];
}

struct InterleavedDivergent {
  template <class Rule>
  static constexpr auto kernel = interleaved_divergent_kernel<Rule>;
};

}  // namespace

void reduce_interleaved_divergent(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<InterleavedDivergent>(call, stream);
}

}  // namespace weft::kernels::cuda

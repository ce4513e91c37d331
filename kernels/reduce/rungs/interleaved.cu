// SPDX-License-Identifier: MIT
// The same tree, worked on by the first threads: thread t combines places 2 * step * t and its
// partner, so that warps without work retire whole instead of diverging.
//
//   step 1   places (0,1) (2,3) (4,5) (6,7)   threads 0 1 2 3
//   step 2   places (0,2) (4,6)               threads 0 1
//   step 4   places (0,4)                     thread  0
//
// Now the threads of a warp touch places 2 * step apart: their accesses collide in the 32 banks.
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    interleaved_kernel(typename Rule::Value* out, const typename Rule::Input* x, std::int64_t n) {
  using Value = typename Rule::Value;
  Value* values = device::dynamic_shared<Value>();
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + tid;
  values[tid] = element_or_identity<Rule>(x, i, n);
  for (int step = 1; step < threads; step *= 2) {
    __syncthreads();  // the level below is written
    const int place = 2 * step * tid;
    if (place < threads) values[place] = Rule()(values[place], values[place + step]);
  }
  if (tid == 0) out[blockIdx.x] = values[0];
}

struct Interleaved {
  template <class Rule>
  static constexpr auto kernel = interleaved_kernel<Rule>;
};

}  // namespace

void reduce_interleaved(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<Interleaved>(call, stream);
}

}  // namespace weft::kernels::cuda

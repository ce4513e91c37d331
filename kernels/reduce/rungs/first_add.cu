// SPDX-License-Identifier: MIT
// Each thread loads two elements and combines them on the way to shared memory: half the blocks,
// the same tree, and every thread has done something useful.
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    first_add_kernel(typename Rule::Value* out, const typename Rule::Input* x, std::int64_t n) {
  using Value = typename Rule::Value;
  Value* values = device::dynamic_shared<Value>();
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (2 * threads) + tid;
  values[tid] =
      Rule()(element_or_identity<Rule>(x, i, n), element_or_identity<Rule>(x, i + threads, n));
  for (int step = threads / 2; step > 0; step /= 2) {
    __syncthreads();  // the level below is written
    if (tid < step) values[tid] = Rule()(values[tid], values[tid + step]);
  }
  if (tid == 0) out[blockIdx.x] = values[0];
}

struct FirstAdd {
  template <class Rule>
  static constexpr auto kernel = first_add_kernel<Rule>;
};

}  // namespace

void reduce_first_add(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<FirstAdd>(call, stream);
}

}  // namespace weft::kernels::cuda

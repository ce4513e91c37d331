// SPDX-License-Identifier: MIT
// The tree from the other side: the upper half is added to the lower half, then the upper quarter,
// so that neighbouring threads touch neighbouring places and no bank serves two of them.
//
//   step 4   t0+t4  t1+t5  t2+t6  t3+t7
//   step 2   t0+t2  t1+t3
//   step 1   t0+t1
//
// Half of the threads do nothing but load one element.
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    sequential_kernel(typename Rule::Value* out, const typename Rule::Input* x, std::int64_t n) {
  using Value = typename Rule::Value;
  Value* values = device::dynamic_shared<Value>();
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + tid;
  values[tid] = element_or_identity<Rule>(x, i, n);
  for (int step = threads / 2; step > 0; step /= 2) {
    __syncthreads();  // the level below is written
    if (tid < step) values[tid] = Rule()(values[tid], values[tid + step]);
  }
  if (tid == 0) out[blockIdx.x] = values[0];
}

struct Sequential {
  template <class Rule>
  static constexpr auto kernel = sequential_kernel<Rule>;
};

}  // namespace

void reduce_sequential(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<Sequential>(call, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Each thread loads two elements and combines them on the way to shared memory: half the blocks,
// the same tree, and every thread has done something useful.
#include "kernels/reduce/levels.cuh"

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
  static constexpr int kPerThread = 2;
  template <class Rule>
  static constexpr auto kernel = first_add_kernel<Rule>;
};

}  // namespace

template <class T>
void reduce_first_add(const ReduceArguments<T>& arguments, const Stream& stream) {
  reduce_by_levels<FirstAdd>(arguments, stream);
}

template void reduce_first_add(const ReduceArguments<std::int32_t>&, const Stream&);
template void reduce_first_add(const ReduceArguments<std::int64_t>&, const Stream&);
template void reduce_first_add(const ReduceArguments<float>&, const Stream&);
template void reduce_first_add(const ReduceArguments<double>&, const Stream&);

}  // namespace weft::kernels::cuda

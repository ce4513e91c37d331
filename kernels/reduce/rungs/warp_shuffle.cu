// SPDX-License-Identifier: MIT
// The last warp keeps its values in registers: five shuffles replace five rounds through shared
// memory. The barriers of the first levels remain.
#include "kernels/reduce/parts/block.cuh"
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    warp_shuffle_kernel(typename Rule::Value* out, const typename Rule::Input* x, std::int64_t n) {
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
    Value value = values[tid];
    if (threads > device::kWarpSize) value = Rule()(value, values[tid + device::kWarpSize]);
    value = warp_total(value, Rule());
    if (tid == 0) out[blockIdx.x] = value;
  }
}

struct WarpShuffle {
  template <class Rule>
  static constexpr auto kernel = warp_shuffle_kernel<Rule>;
};

}  // namespace

void reduce_warp_shuffle(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<WarpShuffle>(call, stream);
}

}  // namespace weft::kernels::cuda

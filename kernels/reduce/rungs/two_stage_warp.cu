// SPDX-License-Identifier: MIT
// Every warp reduces its values by shuffles, and the first warp reduces the totals of the warps:
// one barrier in all, and shared memory holds one value per warp.
#include "kernels/reduce/parts/block.cuh"
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    two_stage_warp_kernel(typename Rule::Value* out, const typename Rule::Input* x,
                          std::int64_t n) {
  using Value = typename Rule::Value;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (2 * threads) + tid;
  Value value =
      Rule()(element_or_identity<Rule>(x, i, n), element_or_identity<Rule>(x, i + threads, n));
  value = block_total(value, Rule(), device::dynamic_shared<Value>());
  if (tid == 0) out[blockIdx.x] = value;
}

struct TwoStageWarp {
  template <class Rule>
  static constexpr auto kernel = two_stage_warp_kernel<Rule>;
};

}  // namespace

void reduce_two_stage_warp(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<TwoStageWarp>(call, stream);
}

}  // namespace weft::kernels::cuda

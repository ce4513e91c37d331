// SPDX-License-Identifier: MIT
// warp_shuffle, said with cooperative groups: the block and the tile of 32 threads are objects, and
// barriers and shuffles are their methods. The same work; the groups that synchronise are named.
#include <cooperative_groups.h>

#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

template <class Rule>
__global__ void __launch_bounds__(1024)
    cooperative_groups_kernel(typename Rule::Value* out, const typename Rule::Input* x,
                              std::int64_t n) {
  namespace cg = ::cooperative_groups;
  using Value = typename Rule::Value;
  Value* values = device::dynamic_shared<Value>();
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  const int tid = static_cast<int>(block.thread_rank());
  const int threads = static_cast<int>(block.size());
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (2 * threads) + tid;
  values[tid] =
      Rule()(element_or_identity<Rule>(x, i, n), element_or_identity<Rule>(x, i + threads, n));
  for (int step = threads / 2; step > 32; step /= 2) {
    block.sync();  // the level below is written
    if (tid < step) values[tid] = Rule()(values[tid], values[tid + step]);
  }
  block.sync();  // up to 64 values are written, the rest is one warp's
  if (warp.meta_group_rank() == 0) {
    Value value = values[tid];
    if (threads > 32) value = Rule()(value, values[tid + 32]);
    for (unsigned step = warp.size() / 2; step > 0; step /= 2) {
      value = Rule()(value, warp.shfl_down(value, step));
    }
    if (tid == 0) out[blockIdx.x] = value;
  }
}

struct CooperativeGroups {
  template <class Rule>
  static constexpr auto kernel = cooperative_groups_kernel<Rule>;
};

}  // namespace

void reduce_cooperative_groups(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<CooperativeGroups>(call, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Each thread combines 8 elements in a register before the block meets: the cost of shuffles and of
// the barrier is paid once per 8 elements, and 8 loads are in flight. Neighbouring threads still
// load neighbouring elements.
#include "kernels/reduce/parts/block.cuh"
#include "kernels/reduce/parts/levels.cuh"

namespace weft::kernels::cuda {

namespace {

constexpr int kPerThread = 8;  // elements of a thread

template <class Rule>
__global__ void __launch_bounds__(1024)
    coarsened_kernel(typename Rule::Value* out, const typename Rule::Input* x, std::int64_t n) {
  using Value = typename Rule::Value;
  const int tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * threads * kPerThread + tid;
  Value value = Rule::identity();
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    value = Rule()(value, element_or_identity<Rule>(x, first + k * threads, n));
  }
  value = block_total(value, Rule(), device::dynamic_shared<Value>());
  if (tid == 0) out[blockIdx.x] = value;
}

struct Coarsened {
  template <class Rule>
  static constexpr auto kernel = coarsened_kernel<Rule>;
};

}  // namespace

void reduce_coarsened(const ReduceCall& call, const Stream& stream) {
  reduce_by_levels<Coarsened>(call, stream);
}

}  // namespace weft::kernels::cuda

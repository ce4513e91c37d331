// SPDX-License-Identifier: MIT
// Divergence, rung "branch_by_thread": even threads square, odd threads cube.
//
// The threads of a warp share one instruction at a time. Where they want different ones, the warp
// does both sides one after the other, and the threads of the other side wait:
//
//   lanes 0 2 4 ... 30   squares   .......   1 multiplication a round
//   lanes 1 3 5 ... 31   .......   cubes     2 multiplications a round
//
// Each warp spends the time of 3 multiplications a round, of which half of the lanes do each. The
// loops inside of the sides keep the compiler from making this the next rung by itself, which it
// does with sides as short as one multiplication.
#include "kernels/divergence/parts/powers.cuh"

namespace weft::kernels::cuda {

namespace {

__global__ void __launch_bounds__(kDivergenceThreads)
    divergence_branch_by_thread_kernel(std::int32_t* y, const std::int32_t* x, std::int64_t n,
                                       int rounds) {
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    const std::int32_t value = x[i];
    if (i % 2 == 0) {
      y[i] = squares(value, rounds);
    } else {
      y[i] = cubes(value, rounds);
    }
  }
}

}  // namespace

void divergence_branch_by_thread(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds,
                                 const Stream& stream) {
  launch(divergence_branch_by_thread_kernel,
         Launch{blocks_for(n, kDivergenceThreads), kDivergenceThreads, 0, stream}, y, x, n, rounds);
}

}  // namespace weft::kernels::cuda

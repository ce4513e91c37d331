// SPDX-License-Identifier: MIT
// Divergence, rung "branch_by_warp": the branch of rung "branch_by_thread", which all threads of a
// warp take alike.
//
//   elements     0  1  2  3  4  5  6  7 ... 62 63
//   warp 0       0     1     2     3    ... 31      lanes: squares
//   warp 1          0     1     2     3 ...    31   lanes: cubes
//
// Two warps share 64 elements, one has the even ones and one the odd ones. No warp waits for a side
// that it does not need: 1 or 2 multiplications a round, 1.5 on average. A warp reads every other
// word, 8 sectors instead of 4 for each load; its partner finds the other half in the cache.
#include "kernels/divergence/parts/powers.cuh"

namespace weft::kernels::cuda {

namespace {

__global__ void __launch_bounds__(kDivergenceThreads)
    divergence_branch_by_warp_kernel(std::int32_t* y, const std::int32_t* x, std::int64_t n,
                                     int rounds) {
  constexpr int kWarp = 32, kShared = 2 * kWarp;  // elements of two warps
  for (std::int64_t t = device::global_thread(); t / kShared * kShared < n;
       t += device::grid_threads()) {
    const int side = static_cast<int>(t / kWarp % 2);
    const std::int64_t i = t / kShared * kShared + t % kWarp * 2 + side;
    if (i >= n) continue;
    if (side == 0) {
      y[i] = squares(x[i], rounds);
    } else {
      y[i] = cubes(x[i], rounds);
    }
  }
}

}  // namespace

void divergence_branch_by_warp(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds,
                               const Stream& stream) {
  launch(divergence_branch_by_warp_kernel,
         Launch{blocks_for(n, kDivergenceThreads), kDivergenceThreads, 0, stream}, y, x, n, rounds);
}

}  // namespace weft::kernels::cuda

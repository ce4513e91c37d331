// SPDX-License-Identifier: MIT
// Divergence, rung "predicated": no branch, a choice of operands instead.
//
// A square is v * v * 1, so all threads do the same two multiplications and only choose the last
// operand by the parity of their element. A warp spends the time of 2 multiplications a round
// instead of 3; the lanes that square do one of them for nothing.
#include "kernels/divergence/parts/powers.cuh"

namespace weft::kernels::cuda {

namespace {

__global__ void __launch_bounds__(kDivergenceThreads)
    divergence_predicated_kernel(std::int32_t* y, const std::int32_t* x, std::int64_t n,
                                 int rounds) {
  for (std::int64_t i = device::global_thread(); i < n; i += device::grid_threads()) {
    const bool odd = i % 2 != 0;
    std::uint32_t v = static_cast<std::uint32_t>(x[i]);
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) v = v * v * (odd ? v : 1u) + static_cast<std::uint32_t>(r);
    y[i] = static_cast<std::int32_t>(v);
  }
}

}  // namespace

void divergence_predicated(std::int32_t* y, const std::int32_t* x, std::int64_t n, int rounds,
                           const Stream& stream) {
  launch(divergence_predicated_kernel,
         Launch{blocks_for(n, kDivergenceThreads), kDivergenceThreads, 0, stream}, y, x, n, rounds);
}

}  // namespace weft::kernels::cuda

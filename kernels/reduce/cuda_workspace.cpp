// SPDX-License-Identifier: MIT
#include "kernels/reduce/cuda.h"
#include "kernels/reduce/workspace.h"

namespace weft::kernels::cuda {

std::size_t reduce_workspace_bytes(ReduceVariant variant, std::int64_t n, int threads) {
  const auto level_bytes = [&](std::int64_t per_thread) {
    // One more for argmax, whose last level does not write to the caller's memory.
    return static_cast<std::size_t>(reduce_level_elements(n, threads * per_thread) + 1) *
           kReducePartialBytes;
  };
  switch (variant) {
    case ReduceVariant::interleaved_divergent:
    case ReduceVariant::interleaved:
    case ReduceVariant::sequential:
      return level_bytes(1);
    case ReduceVariant::first_add:
    case ReduceVariant::unrolled:
    case ReduceVariant::warp_shuffle:
    case ReduceVariant::cooperative_groups:
    case ReduceVariant::two_stage_warp:
      return level_bytes(2);
    case ReduceVariant::coarsened:
      return level_bytes(kReduceCoarsening);
    case ReduceVariant::single_pass:
      return 0;
    default:  // elements of 8 bytes have twice the blocks
      return static_cast<std::size_t>(reduce_vectorized_blocks(n, 8, threads)) *
             kReducePartialBytes;
  }
}

}  // namespace weft::kernels::cuda

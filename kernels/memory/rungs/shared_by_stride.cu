// SPDX-License-Identifier: MIT
// Bandwidth of shared memory by stride: bank conflicts.
//
//   word w lies in bank w % 32; lane t of a warp reads word t * stride
//   stride 1    32 banks, one pass       stride 2    16 banks, 2 passes       odd: 32 banks
//   stride 32   one bank, 32 passes
//
// 32 KiB and a few words per block. A round has one address computation and kSharedReads reads from
// it, so that the reads and not the integer arithmetic are the limit.
#include "engine/launch.h"
#include "kernels/memory/launchers.h"

namespace weft::kernels::cuda {

namespace {

__global__ void __launch_bounds__(kSharedThreads)
    shared_strided_kernel(std::uint32_t* __restrict__ sums, int stride, int rounds) {
  __shared__ std::uint32_t words[kSharedWords + kSharedReads];
  for (std::uint32_t w = threadIdx.x; w < kSharedWords + kSharedReads; w += kSharedThreads) {
    words[w] = w;
  }
  __syncthreads();  // the table is complete before any thread reads
  std::uint32_t sum = 0, word = threadIdx.x * static_cast<std::uint32_t>(stride);
  for (int round = 0; round < rounds; ++round) {
    const std::uint32_t* from = words + word % kSharedWords;
#pragma unroll
    for (int k = 0; k < kSharedReads; ++k) sum += from[k];
    word += kSharedReads;
  }
  sums[static_cast<std::int64_t>(blockIdx.x) * kSharedThreads + threadIdx.x] = sum;
}

}  // namespace

void memory_shared_by_stride(std::uint32_t* sums, std::int64_t blocks, int stride, int rounds,
                             const Stream& stream) {
  launch(shared_strided_kernel, Launch{blocks_for(blocks, 1), kSharedThreads, 0, stream}, sums,
         stride, rounds);
}

}  // namespace weft::kernels::cuda

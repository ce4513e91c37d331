// SPDX-License-Identifier: MIT
// Kernels whose memory transactions are known by hand.
#include "tests/host_cuda/counted_kernels.h"

#include "engine/launch.h"

namespace weft::test {

namespace {

// One warp reads a column of a tile whose rows are kPitch floats apart.
template <int kPitch>
__global__ void read_column(float* out) {
  __shared__ float tile[32 * kPitch];
  const int lane = static_cast<int>(threadIdx.x);
  for (int row = 0; row < 32; ++row) tile[row * kPitch + lane] = 1.0f;
  __syncthreads();
  out[lane] = tile[lane * kPitch];
}

__global__ void read_strided(float* out, const float* x, int stride) {
  out[threadIdx.x] = x[threadIdx.x * stride];
}

__global__ void read_in_a_branch(float* out, const float* x) {
  if (threadIdx.x % 4 == 0) out[threadIdx.x] = x[0];
}

__global__ void add_to_bins(int* bins, int count) {
  atomicAdd(&bins[threadIdx.x % count], 1);
}

}  // namespace

void run_read_column(bool padded, float* out, const Stream& stream) {
  launch(padded ? read_column<33> : read_column<32>, Launch{1, 32, 0, stream}, out);
}
void run_read_strided(float* out, const float* x, int stride, const Stream& stream) {
  launch(read_strided, Launch{1, 32, 0, stream}, out, x, stride);
}
void run_read_in_a_branch(float* out, const float* x, const Stream& stream) {
  launch(read_in_a_branch, Launch{1, 32, 0, stream}, out, x);
}
void run_add_to_bins(int* bins, int count, const Stream& stream) {
  launch(add_to_bins, Launch{1, 64, 0, stream}, bins, count);
}

}  // namespace weft::test

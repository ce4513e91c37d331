// SPDX-License-Identifier: MIT
// Exclusive prefix sums of several blocks: up-sweep and down-sweep, the blocks' sums, and their
// addition.
// prints: exclusive scan of 2048: last 2047, 0 wrong
#include <cstdio>
#include <vector>

constexpr int kBlock = 256;

__global__ void scan_blocks(const unsigned* in, unsigned* out, unsigned* sums) {
  __shared__ unsigned tree[kBlock];
  const int t = threadIdx.x, base = blockIdx.x * kBlock;
  tree[t] = in[base + t];
  for (int stride = 1; stride < kBlock; stride *= 2) {
    __syncthreads();
    const int i = (t + 1) * 2 * stride - 1;
    if (i < kBlock) tree[i] += tree[i - stride];
  }
  __syncthreads();
  if (t == 0) {
    if (sums != nullptr) sums[blockIdx.x] = tree[kBlock - 1];
    tree[kBlock - 1] = 0;
  }
  for (int stride = kBlock / 2; stride > 0; stride /= 2) {
    __syncthreads();
    const int i = (t + 1) * 2 * stride - 1;
    if (i < kBlock) {
      const unsigned left = tree[i - stride];
      tree[i - stride] = tree[i];
      tree[i] += left;
    }
  }
  __syncthreads();
  out[base + t] = tree[t];
}

__global__ void add_sums(unsigned* out, const unsigned* sums) {
  out[blockIdx.x * blockDim.x + threadIdx.x] += sums[blockIdx.x];
}

int main() {
  const int n = 2048, blocks = n / kBlock;
  std::vector<unsigned> in(n, 1), out(n), padded(kBlock, 0);
  unsigned *d_in, *d_out, *d_sums, *d_offsets;
  cudaMalloc(&d_in, n * sizeof(unsigned));
  cudaMalloc(&d_out, n * sizeof(unsigned));
  cudaMalloc(&d_sums, kBlock * sizeof(unsigned));
  cudaMalloc(&d_offsets, kBlock * sizeof(unsigned));
  cudaMemcpy(d_in, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice);
  cudaMemset(d_sums, 0, kBlock * sizeof(unsigned));
  scan_blocks<<<blocks, kBlock>>>(d_in, d_out, d_sums);
  scan_blocks<<<1, kBlock>>>(d_sums, d_offsets, nullptr);
  add_sums<<<blocks, kBlock>>>(d_out, d_offsets);
  cudaMemcpy(out.data(), d_out, n * sizeof(unsigned), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += out[i] != unsigned(i);
  printf("exclusive scan of %d: last %u, %d wrong\n", n, out[n - 1], wrong);
  cudaFree(d_in);
  cudaFree(d_out);
  cudaFree(d_sums);
  cudaFree(d_offsets);
  return wrong != 0;
}

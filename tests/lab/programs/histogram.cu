// SPDX-License-Identifier: MIT
// A histogram of letters: atomics on global memory, and private copies in shared memory.
// prints: global: e 600, z 50, all 3050
// prints: shared: e 600, z 50, all 3050
#include <cstdio>
#include <cstring>
#include <string>

#define BINS 26

__global__ void histogram_global(const char* text, unsigned int* bins, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n && text[i] >= 'a' && text[i] <= 'z') atomicAdd(&bins[text[i] - 'a'], 1);
}

__global__ void histogram_shared(const char* text, unsigned int* bins, int n) {
  __shared__ unsigned int mine[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0u;
  __syncthreads();
  for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {
    int letter = text[i] - 'a';
    if (letter >= 0 && letter < BINS) atomicAdd(mine + letter, 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < BINS; b += blockDim.x) {
    if (mine[b] > 0) atomicAdd(&(bins[b]), mine[b]);
  }
}

static unsigned report(const char* name, const unsigned* d_bins) {
  unsigned bins[BINS], all = 0;
  cudaMemcpy(bins, d_bins, sizeof(bins), cudaMemcpyDeviceToHost);
  for (unsigned b : bins) all += b;
  printf("%s: e %u, z %u, all %u\n", name, bins['e' - 'a'], bins['z' - 'a'], all);
  return bins['e' - 'a'];
}

int main() {
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += "the quick brown fox jumped over the extremely lazy dog beneath three elms!";
  }
  text.resize(50 * 74);
  char* d_text;
  unsigned* d_bins;
  cudaMalloc(&d_text, text.size());
  cudaMalloc(&d_bins, BINS * sizeof(unsigned));
  cudaMemcpy(d_text, text.data(), text.size(), cudaMemcpyHostToDevice);
  cudaMemset(d_bins, 0, BINS * sizeof(unsigned));
  histogram_global<<<(text.size() + 127) / 128, 128>>>(d_text, d_bins, (int)text.size());
  unsigned e = report("global", d_bins);
  cudaMemset(d_bins, 0, BINS * sizeof(unsigned));
  histogram_shared<<<3, 64>>>(d_text, d_bins, (int)text.size());
  e -= report("shared", d_bins);
  cudaFree(d_text);
  cudaFree(d_bins);
  return e != 0;
}

// x86_64 expect: 10: integer division: kernel spread, block .0, 0, 0.* compare the divisor with 0
// The number of bins is worked out from too few values, and is zero.
#include <cstdio>
#include <vector>

const int n = 256;

__global__ void spread(int* counts, const int* values, int bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[values[i] % bins], 1);
}

int main() {
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  int *counts, *device_values;
  cudaMalloc(&counts, 16 * sizeof(int));
  cudaMalloc(&device_values, n * sizeof(int));
  cudaMemset(counts, 0, 16 * sizeof(int));
  cudaMemcpy(device_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  spread<<<(n + 127) / 128, 128>>>(counts, device_values, n / 512);
  int first = 0;
  cudaMemcpy(&first, counts, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", first);
  cudaFree(counts);
  cudaFree(device_values);
}

// SPDX-License-Identifier: MIT
// C = A B twice: each thread reads a row and a column by itself, and tiles in shared memory.
//
//   ./run lab run --counts examples/lab/matrix_multiply.cu
//
// The counts show what the tiles are for: `tiled` asks global memory for a 16th of the requests.
// Then take out either barrier, and see what is found.
//
// prints: naive: 0 of 2304 elements wrong
// prints: tiled: 0 of 2304 elements wrong
#include <cstdio>
#include <vector>

constexpr int kTile = 16;

// One thread computes one element of C (n, n).
__global__ void naive(const float* a, const float* b, float* c, int n) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || col >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
  c[row * n + col] = sum;
}

// The threads of a block load a tile of A and one of B together, and each uses all of them.
__global__ void tiled(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * kTile + y, col = blockIdx.x * kTile + x;
  float sum = 0;
  for (int begin = 0; begin < n; begin += kTile) {
    tile_a[y][x] = row < n && begin + x < n ? a[row * n + begin + x] : 0;
    tile_b[y][x] = begin + y < n && col < n ? b[(begin + y) * n + col] : 0;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < kTile; ++k) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();  // nobody needs them any more
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

int main() {
  const int n = 48;
  const size_t bytes = n * n * sizeof(float);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) {
    a[i] = i % 5;
    b[i] = i % 3;
  }
  float *device_a, *device_b, *device_c;
  cudaMalloc(&device_a, bytes);
  cudaMalloc(&device_b, bytes);
  cudaMalloc(&device_c, bytes);
  cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice);

  dim3 block(kTile, kTile), grid((n + kTile - 1) / kTile, (n + kTile - 1) / kTile);
  int wrong = 0;
  for (bool with_tiles : {false, true}) {
    cudaMemset(device_c, 0, bytes);
    if (with_tiles) {
      tiled<<<grid, block>>>(device_a, device_b, device_c, n);
    } else {
      naive<<<grid, block>>>(device_a, device_b, device_c, n);
    }
    cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost);
    int here = 0;
    for (int row = 0; row < n; ++row) {
      for (int col = 0; col < n; ++col) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
        here += c[row * n + col] != sum;
      }
    }
    printf("%s: %d of %d elements wrong\n", with_tiles ? "tiled" : "naive", here, n * n);
    wrong += here;
  }
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  return wrong > 0;
}

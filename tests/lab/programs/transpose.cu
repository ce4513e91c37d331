// SPDX-License-Identifier: MIT
// A matrix transposed without and with a padded tile in shared memory.
// prints: naive: 0 wrong
// prints: tiled: 0 wrong
#include <iostream>
#include <vector>

const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;

__global__ void transpose_naive(float *odata, const float *idata, int width, int height) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height) odata[x * height + (y + j)] = idata[(y + j) * width + x];
}

__global__ void transpose_tiled(float *odata, const float *idata, int width, int height) {
  __shared__ float tile[TILE_DIM][TILE_DIM + 1];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
    if (x < height && y + j < width) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  const int width = 70, height = 45;
  std::vector<float> in(width * height), out(width * height);
  for (int i = 0; i < width * height; ++i) in[i] = i;
  float *d_in, *d_out;
  cudaMalloc(&d_in, in.size() * sizeof(float));
  cudaMalloc(&d_out, in.size() * sizeof(float));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  dim3 grid((width + TILE_DIM - 1) / TILE_DIM, (height + TILE_DIM - 1) / TILE_DIM, 1);
  dim3 block(TILE_DIM, BLOCK_ROWS, 1);
  int all = 0;
  void (*const kernels[])(float *, const float *, int, int) = {transpose_naive, transpose_tiled};
  const char *names[] = {"naive", "tiled"};
  for (int k = 0; k < 2; ++k) {
    cudaMemset(d_out, 0, out.size() * sizeof(float));
    kernels[k]<<<grid, block>>>(d_out, d_in, width, height);
    cudaMemcpy(out.data(), d_out, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) wrong += out[x * height + y] != in[y * width + x];
    std::cout << names[k] << ": " << wrong << " wrong" << std::endl;
    all += wrong;
  }
  cudaFree(d_in);
  cudaFree(d_out);
  return all;
}

// SPDX-License-Identifier: MIT
// Convolution of an image with a mask in constant memory, and with a tile in shared memory.
// prints: basic: 0 wrong
// prints: tiled: 0 wrong
#include <cstdio>
#include <cstdlib>

#define MASK_WIDTH 5
#define MASK_RADIUS (MASK_WIDTH / 2)
#define O_TILE 12
#define I_TILE (O_TILE + MASK_WIDTH - 1)

__constant__ float M[MASK_WIDTH][MASK_WIDTH];
const __constant__ int kBias[] = {1, 2, 3};

__global__ void convolve(const float* in, float* out, int width, int height) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (col >= width || row >= height) return;
  float sum = kBias[1];
  for (int i = 0; i < MASK_WIDTH; ++i)
    for (int j = 0; j < MASK_WIDTH; ++j) {
      int r = row - MASK_RADIUS + i, c = col - MASK_RADIUS + j;
      if (r >= 0 && r < height && c >= 0 && c < width) sum += M[i][j] * in[r * width + c];
    }
  out[row * width + col] = sum;
}

__global__ void convolve_tiled(const float* in, float* out, int width, int height) {
  __shared__ float tile[I_TILE][I_TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row_o = blockIdx.y * O_TILE + ty, col_o = blockIdx.x * O_TILE + tx;
  int row_i = row_o - MASK_RADIUS, col_i = col_o - MASK_RADIUS;
  if (row_i >= 0 && row_i < height && col_i >= 0 && col_i < width)
    tile[ty][tx] = in[row_i * width + col_i];
  else
    tile[ty][tx] = 0.0f;
  __syncthreads();
  if (ty < O_TILE && tx < O_TILE && row_o < height && col_o < width) {
    float sum = kBias[1];
    for (int i = 0; i < MASK_WIDTH; i++)
      for (int j = 0; j < MASK_WIDTH; j++) sum += M[i][j] * tile[i + ty][j + tx];
    out[row_o * width + col_o] = sum;
  }
}

int main() {
  const int w = 33, h = 29;
  float mask[MASK_WIDTH][MASK_WIDTH], in[w * h], out[w * h], *d_in, *d_out;
  for (int i = 0; i < 25; ++i) mask[i / 5][i % 5] = i % 3;
  for (int i = 0; i < w * h; ++i) in[i] = i % 10;
  cudaMemcpyToSymbol(M, mask, sizeof(mask));
  cudaMalloc(&d_in, sizeof(in));
  cudaMalloc(&d_out, sizeof(out));
  cudaMemcpy(d_in, in, sizeof(in), cudaMemcpyHostToDevice);
  int all = 0;
  for (int tiled = 0; tiled < 2; ++tiled) {
    cudaMemset(d_out, 0, sizeof(out));
    if (!tiled)
      convolve<<<dim3((w + 15) / 16, (h + 15) / 16), dim3(16, 16)>>>(d_in, d_out, w, h);
    else
      convolve_tiled<<<dim3((w + O_TILE - 1) / O_TILE, (h + O_TILE - 1) / O_TILE),
                       dim3(I_TILE, I_TILE)>>>(d_in, d_out, w, h);
    cudaMemcpy(out, d_out, sizeof(out), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) {
        float sum = 2;
        for (int i = -2; i <= 2; ++i)
          for (int j = -2; j <= 2; ++j)
            if (y + i >= 0 && y + i < h && x + j >= 0 && x + j < w)
              sum += mask[i + 2][j + 2] * in[(y + i) * w + x + j];
        wrong += sum != out[y * w + x];
      }
    printf("%s: %d wrong\n", tiled ? "tiled" : "basic", wrong);
    all += wrong;
  }
  cudaFree(d_in);
  cudaFree(d_out);
  return all;
}

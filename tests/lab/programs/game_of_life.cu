// SPDX-License-Identifier: MIT
// Conway's Life on a torus: a glider moves by one cell in four generations.
// prints: after 8 generations 5 cells live, the glider has moved by 2
#include <cstdio>
#include <cstring>
#include <utility>

constexpr int W = 32, H = 24;

__global__ void step(const unsigned char* now, unsigned char* next) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= W || y >= H) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      neighbours += now[(y + dy + H) % H * W + (x + dx + W) % W];
    }
  }
  next[y * W + x] = neighbours == 3 || (neighbours == 2 && now[y * W + x]);
}

int main() {
  unsigned char board[W * H], later[W * H];
  memset(board, 0, sizeof board);
  const int glider[5][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
  for (auto& cell : glider) board[cell[1] * W + cell[0]] = 1;
  unsigned char *a, *b;
  cudaMalloc(&a, sizeof board);
  cudaMalloc(&b, sizeof board);
  cudaMemcpy(a, board, sizeof board, cudaMemcpyHostToDevice);
  const dim3 block(16, 8), grid((W + 15) / 16, (H + 7) / 8);
  for (int generation = 0; generation < 8; ++generation) {
    step<<<grid, block>>>(a, b);
    std::swap(a, b);
  }
  cudaMemcpy(later, a, sizeof later, cudaMemcpyDeviceToHost);
  int live = 0, moved = 1;
  for (unsigned char cell : later) live += cell;
  for (auto& cell : glider) moved &= later[(cell[1] + 2) * W + cell[0] + 2];
  printf("after 8 generations %d cells live, the glider has %s\n", live,
         moved ? "moved by 2" : "gone astray");
  cudaFree(a);
  cudaFree(b);
  return !(live == 5 && moved);
}

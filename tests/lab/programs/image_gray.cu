// SPDX-License-Identifier: MIT
// An image in uchar4 to grey and through a Sobel filter; a header of the program's own.
// prints: grey: 0 wrong
// prints: edges on 40 of 40 rows
#include <cmath>
#include <cstdio>
#include <vector>

#include "helpers/image.h"

__global__ void to_gray(const uchar4* rgba, unsigned char* gray, int n) {
  const int i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i < n) gray[i] = luminance(rgba[i]);
}

__global__ void sobel(const unsigned char* gray, unsigned char* edges, Extent size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (!size.contains(x, y)) return;
  int gx = 0, gy = 0;
  for (int d = -1; d <= 1; ++d) {
    const int weight = d == 0 ? 2 : 1;
    gx += weight * (gray[size.clamped(x + 1, y + d)] - gray[size.clamped(x - 1, y + d)]);
    gy += weight * (gray[size.clamped(x + d, y + 1)] - gray[size.clamped(x + d, y - 1)]);
  }
  edges[y * size.width + x] = min(255, (int)sqrtf((float)(gx * gx + gy * gy)));
}

int main() {
  const Extent size{50, 40};
  const int n = size.width * size.height;
  std::vector<uchar4> picture(n);
  for (int i = 0; i < n; ++i) {
    const unsigned char v = i % size.width < 20 ? 30 : 220;
    picture[i] = make_uchar4(v, v, v, 255);
  }
  uchar4* d_rgba;
  unsigned char *d_gray, *d_edges;
  CHECK(cudaMalloc(&d_rgba, n * sizeof(uchar4)));
  CHECK(cudaMalloc(&d_gray, n));
  CHECK(cudaMalloc(&d_edges, n));
  CHECK(cudaMemcpy(d_rgba, picture.data(), n * sizeof(uchar4), cudaMemcpyHostToDevice));
  to_gray<<<(n + 255) / 256, 256>>>(d_rgba, d_gray, n);
  sobel<<<dim3((size.width + 15) / 16, (size.height + 15) / 16), dim3(16, 16)>>>(d_gray, d_edges,
                                                                               size);
  std::vector<unsigned char> gray(n), edges(n);
  CHECK(cudaMemcpy(gray.data(), d_gray, n, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(edges.data(), d_edges, n, cudaMemcpyDeviceToHost));
  int wrong = 0, rows = 0;
  for (int i = 0; i < n; ++i) wrong += gray[i] != luminance(picture[i]);
  for (int y = 0; y < size.height; ++y) {
    rows += edges[y * size.width + 20] == 255 && edges[y * size.width + 30] == 0;
  }
  printf("grey: %d wrong\nedges on %d of %d rows\n", wrong, rows, size.height);
  CHECK(cudaFree(d_rgba));
  CHECK(cudaFree(d_gray));
  CHECK(cudaFree(d_edges));
  return wrong || rows != size.height;
}

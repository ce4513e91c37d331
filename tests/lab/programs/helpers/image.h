// SPDX-License-Identifier: MIT
// What image_gray.cu shares with others.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(call) check((call), #call, __FILE__, __LINE__)
inline void check(cudaError_t code, const char* what, const char* file, int line) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s at %s:%d: %s\n", what, file, line, cudaGetErrorName(code));
  std::exit(EXIT_FAILURE);
}

struct Extent {
  int width, height;
  __host__ __device__ bool contains(int x, int y) const {
    return x >= 0 && x < width && y >= 0 && y < height;
  }
  __device__ int clamped(int x, int y) const {
    return min(max(y, 0), height - 1) * width + min(max(x, 0), width - 1);
  }
};

__host__ __device__ inline unsigned char luminance(uchar4 p) {
  return (unsigned char)((p.x * 77 + p.y * 150 + p.z * 29) >> 8);
}

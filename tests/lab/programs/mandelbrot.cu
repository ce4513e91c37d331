// SPDX-License-Identifier: MIT
// The Mandelbrot set in double precision, into pitched memory.
// prints: the set covers a quarter of the picture
#include <cstdio>
#include <vector>

struct Complex {
  double re, im;
  __host__ __device__ Complex(double r, double i) : re(r), im(i) {}
  __host__ __device__ Complex operator*(const Complex& o) const {
    return Complex(re * o.re - im * o.im, re * o.im + im * o.re);
  }
  __host__ __device__ Complex operator+(const Complex& o) const {
    return Complex(re + o.re, im + o.im);
  }
  __host__ __device__ double norm() const { return re * re + im * im; }
};

__host__ __device__ inline int steps(int x, int y, int width, int height, int limit) {
  const Complex c(-2.0 + 3.0 * x / width, -1.0 + 2.0 * y / height);
  Complex z(0, 0);
  int n = 0;
  while (n < limit && z.norm() <= 4.0) {
    z = z * z + c;
    ++n;
  }
  return n;
}

__global__ void mandelbrot(int* image, size_t pitch, int width, int height, int limit) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    int* row = (int*)((char*)image + y * pitch);
    row[x] = steps(x, y, width, height, limit);
  }
}

int main() {
  const int width = 45, height = 30, limit = 60;
  int* image;
  size_t pitch;
  cudaMallocPitch(&image, &pitch, width * sizeof(int), height);
  dim3 block(8, 8), grid((width + 7) / 8, (height + 7) / 8);
  mandelbrot<<<grid, block>>>(image, pitch, width, height, limit);
  std::vector<int> out(width * height);
  cudaMemcpy2D(out.data(), width * sizeof(int), image, pitch, width * sizeof(int), height,
               cudaMemcpyDeviceToHost);
  int inside = 0, wrong = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      inside += out[y * width + x] == limit;
      wrong += out[y * width + x] != steps(x, y, width, height, limit);
    }
  }
  cudaFree(image);
  if (inside < 340 || inside > 385 || wrong > 8) {  // a GPU may round x * x + y differently
    printf("%d points are in the set, %d differ\n", inside, wrong);
    return 1;
  }
  printf("the set covers a quarter of the picture\n");
  return 0;
}

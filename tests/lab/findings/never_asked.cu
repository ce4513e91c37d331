// The line of a call that failed, and of memory that kernels have not freed, is in the documents too.
// flags:
// note: leak 10 1
// note: unread-error 16 1
// prints: done
// exit: 0
#include <cstdio>

__global__ void keeps(int** kept) {
  *kept = new int(3);
}

int main() {
  int *x = nullptr, **kept;
  cudaMalloc(&kept, sizeof(int*));
  cudaMalloc(&x, size_t(1) << 60);
  keeps<<<1, 1>>>(kept);
  cudaDeviceSynchronize();
  std::printf("done\n");
}

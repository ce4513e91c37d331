// Host code that has run for long is not checked any more at a place that has only met its own memory.
// flags: --check 0
// note: unchecked 0 1
// prints: 3
// exit: 0
// flags: --check all --stop never
// finding: device-pointer 14 1
// prints: 3
// flags: --check 0 --strict
// finding: unchecked 0 1
#include <cstdio>

__attribute__((noinline)) int sum(const int* x, int n) {
  int total = 0; for (int i = 0; i < n; ++i) total += x[i];
  return total;
}

int many[1 << 20];

int main() {
  int *x, three = 3;
  cudaMalloc(&x, sizeof(int));
  cudaMemcpy(x, &three, sizeof(int), cudaMemcpyHostToDevice);
  for (int i = 0; i < 3; ++i) sum(many, 1 << 20);
  std::printf("%d\n", sum(x, 1));
}

// expect: 12: wrong free: cudaFree at .* which was freed
// The same array is freed twice.
#include <cstdio>
#include <cstdlib>
#include <vector>

int main() {
  int* x;
  cudaMalloc(&x, 100 * sizeof(int));
  int* y = x;
  cudaFree(x);
  cudaFree(y);
}

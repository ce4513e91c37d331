// prints: 0 1 2 3 | 0 1 2 3 |
// prints: i0 a0 a1 a2 two i1 a0 a1 a2 two low 0 low 1 high 2
// A warp prints statement by statement, as on a GPU.
#include <cstdio>

__global__ void statements() {
  printf("%d ", threadIdx.x);
  if (threadIdx.x == 3) printf("| ");
  printf("%d ", threadIdx.x);
  if (threadIdx.x == 3) printf("|\n");
}

__global__ void loop() {
  for (int i = 0; i < 2; ++i) {
    if (threadIdx.x == 0) printf("i%d ", i);
    printf("a%d ", threadIdx.x);
    if (threadIdx.x == 2) printf("two ");
  }
  if (threadIdx.x < 2) {
    printf("low %d ", threadIdx.x);
  } else {
    printf("high %d\n", threadIdx.x);
  }
}

int main() {
  statements<<<1, 4>>>();
  loop<<<1, 3>>>();
  cudaDeviceSynchronize();
}

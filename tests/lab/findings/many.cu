// A program ends at 20 findings, unless it never stops.
// flags:
// finding: out-of-bounds 47 1
// finding: out-of-bounds 48 1
// finding: out-of-bounds 49 1
// finding: out-of-bounds 50 1
// finding: out-of-bounds 51 1
// finding: out-of-bounds 52 1
// finding: out-of-bounds 53 1
// finding: out-of-bounds 54 1
// finding: out-of-bounds 55 1
// finding: out-of-bounds 56 1
// finding: out-of-bounds 57 1
// finding: out-of-bounds 58 1
// finding: out-of-bounds 59 1
// finding: out-of-bounds 60 1
// finding: out-of-bounds 61 1
// finding: out-of-bounds 62 1
// finding: out-of-bounds 63 1
// finding: out-of-bounds 64 1
// finding: out-of-bounds 65 1
// finding: out-of-bounds 66 1
// flags: --stop never
// finding: out-of-bounds 47 1
// finding: out-of-bounds 48 1
// finding: out-of-bounds 49 1
// finding: out-of-bounds 50 1
// finding: out-of-bounds 51 1
// finding: out-of-bounds 52 1
// finding: out-of-bounds 53 1
// finding: out-of-bounds 54 1
// finding: out-of-bounds 55 1
// finding: out-of-bounds 56 1
// finding: out-of-bounds 57 1
// finding: out-of-bounds 58 1
// finding: out-of-bounds 59 1
// finding: out-of-bounds 60 1
// finding: out-of-bounds 61 1
// finding: out-of-bounds 62 1
// finding: out-of-bounds 63 1
// finding: out-of-bounds 64 1
// finding: out-of-bounds 65 1
// finding: out-of-bounds 66 1
// finding: out-of-bounds 67 1
// finding: out-of-bounds 68 1
__global__ void k(int* x, int n) {
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
  atomicAdd(&x[n], 1);
}

int main() {
  int* x;
  cudaMalloc(&x, 4);
  k<<<1, 1>>>(x, 1);
}

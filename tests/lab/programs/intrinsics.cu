// SPDX-License-Identifier: MIT
// Directed rounding, operations on the parts of a word, and inverses of error functions.
// prints: towards zero 1, up 1 + 2^-23, down and up around 1/3: 1 ulp apart
// prints: of 0xffffffff 4294967040, of -16777217 -16777218
// prints: 10050505 ff03ff03 00010000 0000ffff 7fff0001 00000008 ffff0102
// prints: 0.476936 1.95996 6.60158
#include <cmath>
#include <cstdio>

__global__ void round_and_invert(double* f) {
  f[0] = __fadd_rz(1.0f, 1e-9f);
  f[1] = __fadd_ru(1.0f, 1e-9f);
  f[2] = __fdiv_ru(1.0f, 3.0f) - __fdiv_rd(1.0f, 3.0f);
  f[3] = __uint2float_rz(0xffffffffu);
  f[4] = __int2float_rd(-16777217);
  f[5] = erfinv(0.5);
  f[6] = normcdfinv(0.975);
  f[7] = erfcinv(1e-20);
}

__global__ void parts_of_words(unsigned* u) {
  u[0] = __vadd4(0x0f040404u, 0x01010101u);
  u[1] = __vaddus4(0xff01ff01u, 0x02020202u);
  u[2] = __vmaxs2(0x8000ffffu, 0x00010000u);
  u[3] = __vcmpgtu4(0x01020304u, 0x02020202u);
  u[4] = __vabsss2(0x80000001u);
  u[5] = __vsadu4(0x01020304u, 0x04030201u);
  u[6] = __vavgs4(0xfffe0102u, 0x00010101u);
}

int main() {
  double *f, h[8];
  unsigned *u, v[7];
  cudaMalloc(&f, sizeof h);
  cudaMalloc(&u, sizeof v);
  round_and_invert<<<1, 1>>>(f);
  parts_of_words<<<1, 1>>>(u);
  cudaMemcpy(h, f, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(v, u, sizeof v, cudaMemcpyDeviceToHost);
  printf("towards zero %g, up 1 + 2^%g, down and up around 1/3: %g ulp apart\n", h[0],
         std::log2(h[1] - 1), h[2] * 33554432);
  printf("of 0xffffffff %.0f, of -16777217 %.0f\n", h[3], h[4]);
  for (int i = 0; i < 7; ++i) printf("%08x%s", v[i], i < 6 ? " " : "\n");
  printf("%g %g %g\n", h[5], h[6], h[7]);
}

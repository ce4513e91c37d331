// Numbers of 16 bits, half and bfloat16: operators, comparisons, conversions and functions, behind
// macros of names that headers have, too.
// prints: half: 3.5 -1.25 2.375 0.374023 | pair 4 0.5, 1 0 | nearest 2048, up 2050 down 2048
// prints: bfloat16: 3.5 -1.25 2.375 0.373047 | pair 4 0.5, 1 0 | nearest 2048, up 2064 down 2048
// prints: bits 3c00 3f80, largest 65504, -2 and 127, nan 1 0
#define N 8
#define T 4
#define size 3
#define x0 1
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdio>

template <class Number, class Pair>
__device__ void compute(float* to, Number a, Number b, Pair (*pair)(Number, Number)) {
  to[0] = a + b;
  to[1] = -b + Number(0.0f) - a * b / b + a - b + b;
  Number sum = __hfma(a, b, Number(-0.4375f));
  sum += Number(1.0f);
  sum -= Number(1.0f);
  to[2] = sum;
  to[3] = __float2half(0.0f) < __float2half(1.0f) ? float(hsin(hrcp(hsqrt(a * a + a + Number(-0.5f))))) : 0;
  Pair both = pair(a, b);
  both += pair(Number(1.75f), Number(-0.75f));
  to[4] = __low2float(both);
  to[5] = both.y;
  const Pair equal = __heq2(both, pair(Number(4.0f), Number(4.0f)));
  to[6] = equal.x;
  to[7] = equal.y;
}

__global__ void halves(float* to) {
  compute<__half, __half2>(to, 2.25f, 1.25f, make_half2);
  to[8] = __float2half(2049.0f);
  to[9] = __float2half_ru(2049.0f);
  to[10] = __half2float(__float2half_rd(2049.0f));
}
__global__ void bfloats(float* to) {
  compute<__nv_bfloat16, __nv_bfloat162>(to, 2.25f, 1.25f, __halves2bfloat162);
  to[8] = __float2bfloat16(2052.0f);
  to[9] = __bfloat162float(__float2bfloat16_ru(2052.0f));
  to[10] = __bfloat162float(__float2bfloat16_rz(2052.0f));
}
__global__ void rest(int* to) {
  to[0] = __half_as_ushort(__int2half_rn(1));
  to[1] = __bfloat16_as_ushort(__double2bfloat16(1.0));
  to[2] = __half2int_rn(__float2half_rz(1e6f));
  to[3] = __half2int_rd(__float2half(-1.5f));
  to[4] = __half2char_rz(__float2half(300.0f));
  to[5] = __hisnan(hlog(__float2half(-1.0f)));
  to[6] = __hbgt2(make_half2(1.0f, 2.0f), make_half2(0.0f, 2.0f));
}

int main() {
  float *data, host[11];
  cudaMalloc(&data, sizeof host);
  for (int i = 0; i < 2; ++i) {
    if (i == 0) halves<<<1, 1>>>(data);
    if (i == 1) bfloats<<<1, 1>>>(data);
    cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    printf("%s: %g %g %g %g | pair %g %g, %g %g | nearest %g, up %g down %g\n", i == 0 ? "half" : "bfloat16", host[0], host[1],
           host[2], host[3], host[4], host[5], host[6], host[7], host[8], host[9], host[10]);
  }
  int *words, bits[7];
  cudaMalloc(&words, sizeof bits);
  rest<<<1, 1>>>(words);
  cudaMemcpy(bits, words, sizeof bits, cudaMemcpyDeviceToHost);
  printf("bits %x %x, largest %d, %d and %d, nan %d %d\n", bits[0], bits[1], bits[2], bits[3], bits[4], bits[5], bits[6]);
}

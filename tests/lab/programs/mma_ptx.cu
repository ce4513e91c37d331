// A product of 16 x 16 and 16 x 8 halves by one warp: ldmatrix feeds mma.sync, in inline PTX behind
// macros, as programs about tensor cores have it.
//
// prints: 128 sums, 0 wrong
// prints: 128 sums of halves, 0 wrong
#include <cstdint>
#include <cstdio>

#include <cuda_fp16.h>

#define LDMATRIX_X4(r0, r1, r2, r3, addr)                                              \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"    \
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)                                \
               : "r"(addr))
#define LDMATRIX_X2_T(r0, r1, addr)                                                    \
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"      \
               : "=r"(r0), "=r"(r1)                                                    \
               : "r"(addr))

__global__ void product(float* c, __half* c_half, const __half* a, const __half* b) {
  __shared__ alignas(16) __half left[16][16], right[16][8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) left[i / 16][i % 16] = a[i];
  for (int i = lane; i < 128; i += 32) right[i / 8][i % 8] = b[i];
  __syncthreads();
  uint32_t ra[4], rb[2], rd[2] = {0, 0};
  float d[4] = {0, 0, 0, 0};
  LDMATRIX_X4(ra[0], ra[1], ra[2], ra[3],
              (uint32_t)__cvta_generic_to_shared(&left[lane % 16][lane / 16 * 8]));
  LDMATRIX_X2_T(rb[0], rb[1], (uint32_t)__cvta_generic_to_shared(&right[lane % 16][0]));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, "
      "{%8, %9};\n"
      : "=r"(rd[0]), "=r"(rd[1])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]), "r"(rd[0]),
        "r"(rd[1]));
  for (int i = 0; i < 4; ++i) {
    const int at = (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2;
    c[at] = d[i];
    c_half[at] = reinterpret_cast<const __half*>(rd)[i];
  }
}

int main() {
  __half a[256], b[128], half_sums[128];
  float sums[128];
  for (int i = 0; i < 256; ++i) a[i] = __float2half((float)(i % 7 - 3));
  for (int i = 0; i < 128; ++i) b[i] = __float2half((float)(i % 5 - 2));
  __half *da, *db, *dh;
  float* dc;
  cudaMalloc(&da, sizeof a);
  cudaMalloc(&db, sizeof b);
  cudaMalloc(&dc, sizeof sums);
  cudaMalloc(&dh, sizeof half_sums);
  cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice);
  cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice);
  product<<<1, 32>>>(dc, dh, da, db);
  cudaMemcpy(sums, dc, sizeof sums, cudaMemcpyDeviceToHost);
  cudaMemcpy(half_sums, dh, sizeof half_sums, cudaMemcpyDeviceToHost);
  if (cudaGetLastError() != cudaSuccess) return 1;
  int wrong = 0, wrong_half = 0;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) {
        sum += __half2float(a[row * 16 + k]) * __half2float(b[k * 8 + column]);
      }
      wrong += sums[row * 8 + column] != sum;
      wrong_half += __half2float(half_sums[row * 8 + column]) != sum;
    }
  }
  printf("128 sums, %d wrong\n128 sums of halves, %d wrong\n", wrong, wrong_half);
  return 0;
}

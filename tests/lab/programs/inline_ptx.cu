// Inline PTX as course programs have it: special registers, arithmetic, a carry of bits, shuffles,
// votes, loads with a hint, asynchronous copies, atomics, and clocks.
//
// prints: lanes 0 to 31, warps 0 and 1
// prints: 3 * 5 + 7 = 22, the upper half of 2^33 is 2, 0x12345678 by bytes is 0x78563412
// prints: 8 bits from bit 4 on: 0x67, of three numbers the majority: 0xe8, 17 has 2 bits
// prints: sum of a warp by shfl.sync: 496
// prints: ballot of odd lanes: 0xaaaaaaaa
// prints: 64 floats copied, 0 wrong
// prints: counter 64, the largest 63
// prints: the clock ran
#include <cstdio>

#define CHECK(call)                                                   \
  do {                                                                \
    cudaError_t error = (call);                                       \
    if (error != cudaSuccess) {                                       \
      printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

#define CP_ASYNC_16(to, from)                                               \
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;\n" ::"r"(to), "l"(from), \
               "n"(16))

struct Answers {
  unsigned lanes[64], warps[64], mad, high, bytes, field, majority, bits, sum, ballot, wrong;
  unsigned counter, largest, clock_ran;
};

__device__ __forceinline__ unsigned lane_id() {
  unsigned id;
  asm("mov.u32 %0, %%laneid;" : "=r"(id));
  return id;
}

__global__ void answer(Answers* out, const float* from, float* to) {
  __shared__ alignas(16) float tile[64];
  long long begin, end;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(begin)::"memory");
  out->lanes[threadIdx.x] = lane_id();
  out->warps[threadIdx.x] = threadIdx.x / 32;

  unsigned mad, high, bytes, field, majority, bits;
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(mad) : "r"(3), "r"(5), "r"(7));
  asm("{\n\t.reg .u64 wide;\n\tmul.wide.u32 wide, %1, %2;\n\tmov.b64 {_, %0}, wide;\n\t}"
      : "=r"(high)
      : "r"(1u << 17), "r"(1u << 16));
  asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(bytes) : "r"(0x12345678u));
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(field) : "r"(0x12345678u));
  asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(majority) : "r"(0xf0u), "r"(0xccu), "r"(0xaau));
  asm("popc.b32 %0, %1;" : "=r"(bits) : "r"(17));

  unsigned sum = lane_id();
  for (int step = 16; step > 0; step /= 2) {
    unsigned other;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                 : "=r"(other)
                 : "r"(sum), "r"(step));
    sum += other;
  }
  unsigned ballot;
  asm volatile(
      "{\n"
      "  .reg .pred odd;\n"
      "  setp.ne.u32 odd, %1, 0;\n"
      "  vote.sync.ballot.b32 %0, odd, 0xffffffff;\n"
      "}\n"
      : "=r"(ballot)
      : "r"(threadIdx.x & 1));

  if (threadIdx.x < 16) {
    unsigned shared = static_cast<unsigned>(__cvta_generic_to_shared(tile + 4 * threadIdx.x));
    CP_ASYNC_16(shared, from + 4 * threadIdx.x);
  }
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group 0;\n" ::: "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  float value = tile[63 - threadIdx.x], again;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(again) : "l"(from + 63 - threadIdx.x));
  asm volatile("st.global.cs.f32 [%0], %1;" ::"l"(to + threadIdx.x), "f"(value) : "memory");
  if (value != again) asm volatile("red.global.add.u32 [%0], 1;" ::"l"(&out->wrong));
  unsigned before;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(&out->counter), "r"(1));
  asm volatile("red.global.max.u32 [%0], %1;" ::"l"(&out->largest), "r"(threadIdx.x) : "memory");
  asm volatile("membar.gl;" ::: "memory");
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(end)::"memory");
  if (threadIdx.x == 0) {
    out->mad = mad, out->high = high, out->bytes = bytes, out->field = field;
    out->majority = majority, out->bits = bits, out->sum = sum, out->ballot = ballot;
    out->clock_ran = end > begin;
  }
}

int main() {
  Answers* out;
  float *from, *to, numbers[64], back[64];
  for (int i = 0; i < 64; ++i) numbers[i] = i * 0.5f;
  CHECK(cudaMalloc(&out, sizeof(Answers)));
  CHECK(cudaMalloc(&from, sizeof numbers));
  CHECK(cudaMalloc(&to, sizeof numbers));
  CHECK(cudaMemset(out, 0, sizeof(Answers)));
  CHECK(cudaMemcpy(from, numbers, sizeof numbers, cudaMemcpyHostToDevice));
  answer<<<1, 64>>>(out, from, to);
  CHECK(cudaGetLastError());
  Answers got;
  CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
  int wrong = got.wrong;
  for (int i = 0; i < 64; ++i) wrong += back[i] != numbers[63 - i];
  printf("lanes %u to %u, warps %u and %u\n", got.lanes[32], got.lanes[63], got.warps[0],
         got.warps[63]);
  printf("3 * 5 + 7 = %u, the upper half of 2^33 is %u, 0x12345678 by bytes is 0x%x\n", got.mad,
         got.high, got.bytes);
  printf("8 bits from bit 4 on: 0x%x, of three numbers the majority: 0x%x, 17 has %u bits\n",
         got.field, got.majority, got.bits);
  printf("sum of a warp by shfl.sync: %u\n", got.sum);
  printf("ballot of odd lanes: 0x%x\n", got.ballot);
  printf("64 floats copied, %d wrong\n", wrong);
  printf("counter %u, the largest %u\n", got.counter, got.largest);
  printf("the clock %s\n", got.clock_ran ? "ran" : "stood");
  return 0;
}

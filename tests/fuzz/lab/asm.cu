__global__ void k(float* x, int n = 3) {
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("{ .reg .pred p; setp.lt.s32 p, %1, 4; @p add.f32 %0, %0, 0f3F800000; }"
      : "+f"(x[lane])
      : "r"(n));
  extern __shared__ float s[];
}
template <class T>
__global__ void t(T* p) {}
__device__ int flag;
__constant__ float c[4];
int main() {
  k<<<1, 32, 16>>>(nullptr);
  t<int><<<dim3(1), 2>>>((int*)0);
}

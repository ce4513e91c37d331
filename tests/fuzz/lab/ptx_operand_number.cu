__device__ void f(int x) { asm("mov.u32 %0, %99999999999999999999999;" : "=r"(x)); }

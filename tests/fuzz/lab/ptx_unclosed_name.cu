__device__ void f() { asm("mov.u32 %0, 1;" : [unclosed "=r"(x)); }

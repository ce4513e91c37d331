__device__ void f() { asm(".reg .b32 r<0>; @{p} mov.u32 a, b;"); }

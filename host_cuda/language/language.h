// SPDX-License-Identifier: MIT
// The words of CUDA C++ for a host compiler, the built-in variables, and barriers.
//
// __shared__ is static: a block's threads share it, blocks run one at a time, and the linker script
// shared_section.ld gathers these variables in one place, where the checks find them. Built-in
// variables are globals, set whenever a thread is resumed; they are const here, because none
// changes while a thread lives, so that a debugger can print and test them.
#pragma once

#include <cstddef>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __constant__ __attribute__((section("weft_constant")))
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// A function of this layer that kernels call: its return address is the place of the call, and the
// compiler's hooks for accesses and basic blocks stay out of it.
#ifdef __clang__
#define WEFT_DEVICE_CALL [[gnu::noinline]] __attribute__((no_sanitize("thread", "coverage")))
#else
#define WEFT_DEVICE_CALL [[gnu::noinline, gnu::no_sanitize("thread"), gnu::no_sanitize_coverage]]
#endif

struct uint3 {
  unsigned x, y, z;
};

struct dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

extern const uint3 threadIdx, blockIdx;
extern const dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

namespace weft::host_cuda {

// A parameter of this type takes no part in finding T. Programs are C++17, as nvcc has it, which
// has no std::type_identity_t.
template <class T>
struct Itself {
  using Type = T;
};
template <class T>
using NotDeduced = typename Itself<T>::Type;

void* dynamic_shared();  // of the running block, aligned to 256 bytes
unsigned shared_address(const void* generic);
void* generic_address(unsigned shared);
void grid_barrier();
[[noreturn]] void trap();
[[noreturn]] void refuse();  // what the launcher of a kernel for GPUs only does here
long long clock();           // nanoseconds

}  // namespace weft::host_cuda

extern "C" {
void __syncthreads();
int __syncthreads_count(int predicate);
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);
void __syncwarp(unsigned mask = 0xffffffffu);
// What the thread has done before is published by its next atomic or volatile write.
void __threadfence();
void __threadfence_block();
void __threadfence_system();
}

inline void __trap() {
  weft::host_cuda::trap();
}

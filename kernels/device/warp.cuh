// SPDX-License-Identifier: MIT
// Collectives of one warp. All 32 lanes must call them, converged or not.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

constexpr int kWarpSize = 32;
constexpr unsigned kFullWarp = 0xffffffffu;

struct Add {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};

// The larger of two values, or the one that is not NaN.
struct MaxNumber {
  __device__ __forceinline__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

struct MinInt {
  __device__ __forceinline__ int operator()(int a, int b) const { return a < b ? a : b; }
};

// Minimum and maximum that keep a NaN once there is one.
struct MinNan {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a <= b || a != a ? a : b;
  }
};
struct MaxNan {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a >= b || a != a ? a : b;
  }
};

// op must be commutative; the result has the same bits in all lanes.
template <class T, class Op>
__device__ __forceinline__ T warp_reduce(T value, Op op) {
#pragma unroll
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    value = op(value, __shfl_xor_sync(kFullWarp, value, offset));
  }
  return value;
}

}  // namespace weft::kernels::device

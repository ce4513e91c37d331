// SPDX-License-Identifier: MIT
// What the rungs that load 16 bytes at a time share: vectors, and what partial results are kept in.
#pragma once

#include "kernels/device/vector.cuh"
#include "kernels/reduce/parts/rules.cuh"

namespace weft::kernels::cuda {

// What partial results are kept in, and the rule for them.
template <class Rule>
struct Partial {
  using Next = typename Rule::Next;
};
template <>
struct Partial<CombineRule<Sum<float>, float>> {
  using Next = CombineRule<Sum<double>, double>;
};
template <>
struct Partial<SquareRule<float>> {
  using Next = CombineRule<Sum<double>, double>;
};

template <class T>
struct alignas(16) Vector {
  static constexpr int kLanes = static_cast<int>(16 / sizeof(T));
  T lane[kLanes];
};

// Vector at x + i, one load when x is aligned.
template <class T>
__device__ __forceinline__ Vector<T> load_vector(const T* x, std::int64_t i, bool aligned) {
  if (aligned) return *reinterpret_cast<const Vector<T>*>(x + i);
  Vector<T> v;
#pragma unroll
  for (int e = 0; e < Vector<T>::kLanes; ++e) v.lane[e] = x[i + e];
  return v;
}

template <class Result, class Value>
__device__ __forceinline__ void store_result(Result* result, const Value& total) {
  if constexpr (std::is_arithmetic_v<Value>) {
    *result = static_cast<Result>(total);
  } else {
    *result = total.index;  // of argmax, the value is not asked for
  }
}

}  // namespace weft::kernels::cuda

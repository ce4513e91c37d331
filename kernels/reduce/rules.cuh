// SPDX-License-Identifier: MIT
// What distinguishes the reductions: how an element becomes a value, and how values combine.
//
// A rule has Input (what memory holds), Value (what is combined), identity(), map(input, index) and
// operator()(Value, Value). The values of one level are the inputs of the next, for which
// Next is the rule.
#pragma once

#include "kernels/operators.h"

namespace weft::kernels::cuda {

template <class Op, class T>
struct CombineRule {
  using Input = T;
  using Value = T;
  using Next = CombineRule;
  static __device__ __forceinline__ Value identity() { return Op::identity(); }
  static __device__ __forceinline__ Value map(const Input& x, std::int64_t) { return x; }
  __device__ __forceinline__ Value operator()(const Value& a, const Value& b) const {
    return Op()(a, b);
  }
};

template <class T>
struct SquareRule : CombineRule<Sum<T>, T> {
  using Next = CombineRule<Sum<T>, T>;
  static __device__ __forceinline__ T map(const T& x, std::int64_t) { return Product<T>()(x, x); }
};

template <class T>
struct ArgmaxRule : CombineRule<FirstMax<T>, Indexed<T>> {
  using Input = T;
  using Value = Indexed<T>;
  using Next = CombineRule<FirstMax<T>, Indexed<T>>;
  static __device__ __forceinline__ Value map(const T& x, std::int64_t i) { return {x, i}; }
};

}  // namespace weft::kernels::cuda

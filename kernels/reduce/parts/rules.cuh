// SPDX-License-Identifier: MIT
// What distinguishes the reductions: how an element becomes a value, and how values combine.
//
// A rule has Input (what memory holds), Value (what is combined), identity(), map(input, index) and
// operator()(Value, Value). The values of one level are the inputs of the next, for which
// Next is the rule.
#pragma once

#include <type_traits>

#include "kernels/operators.h"
#include "kernels/reduce/launchers.h"

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

// Calls run(rule, result) with the rule of a call and the place of its result, which is a value or
// an index. Without kSquares the row of the rung refuses sums of squares.
template <bool kSquares, class Run>
void with_rule(const ReduceCall& call, Run run) {
  with_type(call.type, [&](auto zero) {
    using T = decltype(zero);
    T* result = static_cast<T*>(call.result);
    if (call.index != nullptr) return run(ArgmaxRule<T>(), call.index);
    if (call.kind == Reduction::sum) return run(CombineRule<Sum<T>, T>(), result);
    if (call.kind == Reduction::min) return run(CombineRule<Min<T>, T>(), result);
    if (call.kind == Reduction::max) return run(CombineRule<Max<T>, T>(), result);
    if constexpr (kSquares) run(SquareRule<T>(), result);
  });
}

}  // namespace weft::kernels::cuda

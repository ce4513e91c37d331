// SPDX-License-Identifier: MIT
// How the reduction of one block becomes the reduction of an array of any length: each level is one
// launch, and its blocks leave one value each for the next.
//
//   n values -> n / per_block values -> n / per_block^2 values -> ... -> 1
//
// Technique has kernel<Rule>(Value* out, const Input* x, n), with one Value per thread of dynamic
// shared memory. A thread takes call.per_thread elements.
#pragma once

#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/reduce/parts/rules.cuh"

namespace weft::kernels::cuda {

// The value of element i, the identity past the end.
template <class Rule>
__device__ __forceinline__ typename Rule::Value element_or_identity(const typename Rule::Input* x,
                                                                    std::int64_t i,
                                                                    std::int64_t n) {
  return i < n ? Rule::map(x[i], i) : Rule::identity();
}

template <class Value>
__global__ void store_index_kernel(std::int64_t* index, const Value* found) {
  *index = found->index;
}

// `result` gets the last value; partial results of the levels before go to `partials`.
template <class Technique, class Rule>
void reduce_level(typename Rule::Value* result, const typename Rule::Input* x, std::int64_t n,
                  const ReduceCall& call, typename Rule::Value* partials, const Stream& stream) {
  const std::int64_t per_block = std::int64_t{call.threads} * call.per_thread;
  const std::int64_t blocks = n > per_block ? divide_up(n, per_block) : 1;
  const std::size_t shared_bytes = call.threads * sizeof(typename Rule::Value);
  launch(Technique::template kernel<Rule>,
         Launch{static_cast<unsigned>(blocks), static_cast<unsigned>(call.threads), shared_bytes,
                stream},
         blocks > 1 ? partials : result, x, n);
  if (blocks > 1) {
    reduce_level<Technique, typename Rule::Next>(result, partials, blocks, call, partials + blocks,
                                                 stream);
  }
}

template <class Technique>
void reduce_by_levels(const ReduceCall& call, const Stream& stream) {
  with_rule<false>(call, [&](auto rule, auto* result) {
    using Rule = decltype(rule);
    using Value = typename Rule::Value;
    const auto* x = static_cast<const typename Rule::Input*>(call.x);
    Value* partials = static_cast<Value*>(call.workspace);
    if constexpr (std::is_same_v<decltype(result), Value*>) {
      reduce_level<Technique, Rule>(result, x, call.n, call, partials, stream);
    } else {
      reduce_level<Technique, Rule>(partials, x, call.n, call, partials + 1, stream);
      launch(store_index_kernel<Value>, Launch{1, 1, 0, stream}, result, partials);
    }
  });
}

}  // namespace weft::kernels::cuda

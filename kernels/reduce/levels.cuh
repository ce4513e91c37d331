// SPDX-License-Identifier: MIT
// How the reduction of one block becomes the reduction of an array of any length: each level is one
// launch, and its blocks leave one value each for the next.
//
//   n values -> n / per_block values -> n / per_block^2 values -> ... -> 1
//
// Technique has kPerThread (elements of a thread) and kernel<Rule>(Value* out, const Input* x, n),
// with one Value per thread of dynamic shared memory.
#pragma once

#include "engine/error.h"
#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/reduce/cuda.h"
#include "kernels/reduce/rules.cuh"
#include "kernels/reduce/workspace.h"

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
                  int threads, typename Rule::Value* partials, const Stream& stream) {
  const std::int64_t per_block = static_cast<std::int64_t>(threads) * Technique::kPerThread;
  const std::int64_t blocks = n > per_block ? (n + per_block - 1) / per_block : 1;
  if (blocks > 0x7fffffff) {
    throw Error(ErrorKind::usage, str("reduce: ", n, " elements need ", blocks, " blocks of ",
                                      threads, " threads, a grid has at most 2^31 - 1"));
  }
  const std::size_t shared_bytes = static_cast<std::size_t>(threads) * sizeof(typename Rule::Value);
  launch(
      Technique::template kernel<Rule>,
      Launch{static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes, stream},
      blocks > 1 ? partials : result, x, n);
  if (blocks > 1) {
    reduce_level<Technique, typename Rule::Next>(result, partials, blocks, threads,
                                                 partials + blocks, stream);
  }
}

template <class Technique, class T>
void reduce_by_levels(const ReduceArguments<T>& a, const Stream& stream) {
  if (a.index != nullptr) {
    Indexed<T>* partials = static_cast<Indexed<T>*>(a.workspace);
    reduce_level<Technique, ArgmaxRule<T>>(partials, a.x, a.n, a.threads, partials + 1, stream);
    launch(store_index_kernel<Indexed<T>>, Launch{1, 1, 0, stream}, a.index, partials);
    return;
  }
  T* partials = static_cast<T*>(a.workspace);
  switch (a.kind) {
    case Reduction::sum:
      return reduce_level<Technique, CombineRule<Sum<T>, T>>(a.result, a.x, a.n, a.threads,
                                                             partials, stream);
    case Reduction::min:
      return reduce_level<Technique, CombineRule<Min<T>, T>>(a.result, a.x, a.n, a.threads,
                                                             partials, stream);
    case Reduction::max:
      return reduce_level<Technique, CombineRule<Max<T>, T>>(a.result, a.x, a.n, a.threads,
                                                             partials, stream);
    case Reduction::sum_of_squares:
      throw Error(ErrorKind::usage,
                  "reduce: sum_of_squares needs variant vectorized or single_pass");
  }
}

}  // namespace weft::kernels::cuda

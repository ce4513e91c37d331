// SPDX-License-Identifier: MIT
// Launchers of the CUDA variants, one per TECHNIQUE.cu.
#pragma once

#include "kernels/reduce/reduce.h"

namespace weft::kernels::cuda {

template <class T>
struct ReduceArguments {
  T* result;            // null for argmax
  std::int64_t* index;  // null, or where argmax goes
  const T* x;
  std::int64_t n;
  Reduction kind;  // not for argmax
  int threads;
  void* workspace;
};

template <class T>
void reduce_interleaved_divergent(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_interleaved(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_sequential(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_first_add(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_unrolled(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_warp_shuffle(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_cooperative_groups(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_two_stage_warp(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_coarsened(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_vectorized(const ReduceArguments<T>& arguments, const Stream& stream);
template <class T>
void reduce_single_pass(const ReduceArguments<T>& arguments, const Stream& stream);

// Workspace of a variant, in bytes, for elements of 4 or 8 bytes; enough for argmax too.
std::size_t reduce_workspace_bytes(ReduceVariant variant, std::int64_t n, int threads);

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Reductions of n values to one, in a fixed order that does not depend on the device load.
//
// T is int32_t, int64_t, float or double. Sums of integers wrap around; sums of floats are kept in
// float within a block (within a thread, for variants vectorized and single_pass, which add the
// rest in double). Of 0 values the sum is 0, min and max are +infinity and -infinity (the largest
// and least integer), and argmax is -1. NaN propagates, and argmax finds the first NaN. Traffic: n
// elements.
#pragma once

#include <span>

#include "kernels/common.h"

namespace weft::kernels {

enum class Reduction { sum, sum_of_squares, min, max };

// The ladder; sum_of_squares is on its last two rungs only.
enum class ReduceVariant {
  automatic,  // vectorized
  interleaved_divergent,
  interleaved,
  sequential,
  first_add,
  unrolled,
  warp_shuffle,
  cooperative_groups,
  two_stage_warp,
  coarsened,
  vectorized,
  single_pass,
};

struct ReduceOptions {
  ReduceVariant variant = ReduceVariant::automatic;
  int threads = 256;  // per block, on a GPU: 32, 64, ..., 1024
};

// Enough for reduce() and argmax().
template <class T>
std::size_t reduce_workspace_bytes(std::int64_t n, const ReduceOptions& options, Device device);

template <class T>
void reduce(T* result,   // one value; written also for n == 0
            const T* x,  // (n,)
            std::int64_t n, Reduction kind, const ReduceOptions& options, Workspace workspace,
            const Stream& stream);

// The first of the largest values.
template <class T>
void argmax(std::int64_t* index,  // one value; written also for n == 0
            const T* x,           // (n,)
            std::int64_t n, const ReduceOptions& options, Workspace workspace,
            const Stream& stream);

// The same for floats and the default options.
std::size_t reduce_workspace_bytes(std::int64_t n, Device device);
void reduce(float* result,   // one value; written also for n == 0
            const float* x,  // (n,)
            std::int64_t n, Reduction kind, Workspace workspace, const Stream& stream);

// The ladder, in teaching order; automatic is not a row.
std::span<const VariantInfo> reduce_variants();
ReduceVariant parse_reduce_variant(std::string_view name);  // throws usage, naming the choices

// What a reduction of n elements has to move and to compute.
constexpr double reduce_bytes(std::int64_t n, std::size_t element_bytes) {
  return static_cast<double>(n) * static_cast<double>(element_bytes);
}
constexpr double reduce_flops(std::int64_t n) {
  return n > 1 ? static_cast<double>(n - 1) : 0.0;
}

}  // namespace weft::kernels

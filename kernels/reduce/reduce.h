// SPDX-License-Identifier: MIT
// Reductions of n values to one, in a fixed order that does not depend on the device load.
//
// T is int32_t, int64_t, float or double. Sums of integers wrap around; sums of floats are kept in
// float within a block (within a thread, for variants vectorized and single_pass, which add the
// rest in double). Of 0 values the sum is 0, min and max are +infinity and -infinity (the largest
// and least integer), and argmax is -1. NaN propagates, and argmax finds the first NaN. Traffic: n
// elements.
#pragma once

#include "kernels/element_type.h"
#include "kernels/ladder.h"

namespace weft::kernels {

enum class Reduction { sum, sum_of_squares, min, max };

struct ReduceOptions {
  std::string_view variant = kAutomatic;
  int threads = 256;  // per block, on a GPU: 32, 64, ..., 1024
};

// What the choice of a rung depends on.
struct ReduceProblem {
  std::int64_t n = 0;
  std::size_t element_bytes = sizeof(float);
  Reduction kind = Reduction::sum;  // max for argmax
  int threads = 256;
};

// Enough for reduce() and argmax().
std::size_t reduce_workspace_bytes(std::int64_t n, std::size_t element_bytes,
                                   const ReduceOptions& options, Device device);
template <class T>
std::size_t reduce_workspace_bytes(std::int64_t n, const ReduceOptions& options, Device device) {
  return reduce_workspace_bytes(n, sizeof(T), options, device);
}

void reduce(ElementType type,
            void* result,   // one value; written also for n == 0
            const void* x,  // (n,)
            std::int64_t n, Reduction kind, const ReduceOptions& options, Workspace workspace,
            const Stream& stream);
template <class T>
void reduce(T* result, const T* x, std::int64_t n, Reduction kind, const ReduceOptions& options,
            Workspace workspace, const Stream& stream) {
  reduce(kElementType<T>, result, x, n, kind, options, workspace, stream);
}

// The first of the largest values.
void argmax(ElementType type,
            std::int64_t* index,  // one value; written also for n == 0
            const void* x,        // (n,)
            std::int64_t n, const ReduceOptions& options, Workspace workspace,
            const Stream& stream);
template <class T>
void argmax(std::int64_t* index, const T* x, std::int64_t n, const ReduceOptions& options,
            Workspace workspace, const Stream& stream) {
  argmax(kElementType<T>, index, x, n, options, workspace, stream);
}

// The same for floats and the default options.
inline std::size_t reduce_workspace_bytes(std::int64_t n, Device device) {
  return reduce_workspace_bytes<float>(n, {}, device);
}
inline void reduce(float* result, const float* x, std::int64_t n, Reduction kind,
                   Workspace workspace, const Stream& stream) {
  reduce(result, x, n, kind, ReduceOptions{}, workspace, stream);
}

// The tree by which a block adds up, where its steps are worked out by hand.
enum class ReduceTree {
  none,
  spread,    // thread t adds value t + step to value t, if 2 step divides t
  gathered,  // thread t adds value 2 step t + step to value 2 step t
  halves     // thread t adds the value half a block further on
};
ReduceTree reduce_tree(std::string_view rung);  // of another name: none
// Is it measured where the host queues each call? One launch and two differ there.
bool reduce_is_queued_alone(std::string_view rung);

Rungs reduce_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool reduce_takes(std::string_view variant, const ReduceProblem& problem, Device device);
Choice reduce_choice(const ReduceProblem& problem, Device device);

// What a reduction of n elements has to move and to compute.
constexpr double reduce_bytes(std::int64_t n, std::size_t element_bytes) {
  return static_cast<double>(n) * static_cast<double>(element_bytes);
}
constexpr double reduce_flops(std::int64_t n) {
  return n > 1 ? static_cast<double>(n - 1) : 0.0;
}

}  // namespace weft::kernels

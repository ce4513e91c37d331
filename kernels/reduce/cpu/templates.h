// SPDX-License-Identifier: MIT
// Reductions on the CPU: threads reduce chunks of a fixed size, one thread combines the chunks in
// order, so the number of threads does not matter. Floats are summed in doubles.
#pragma once

#include "engine/extent.h"
#include "kernels/cpu_math.h"
#include "kernels/operators.h"
#include "kernels/reduce/cpu/table.h"
#include "kernels/reduce/reduce.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

namespace detail {

// Sums of 1024 elements are kept in A, where they vectorise; their total in Total.
template <class Total, class A, class T, class Term>
Total chunk_sum(const T* x, std::int64_t n, Term term) {
  constexpr std::int64_t kBlock = 1024;
  Total total = 0;
  for (std::int64_t first = 0; first < n; first += kBlock) {
    const std::int64_t end = n - first < kBlock ? n : first + kBlock;
    A sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < end; ++i) sum += term(static_cast<A>(x[i]));
    total += static_cast<Total>(sum);
  }
  return total;
}

template <class T>
T chunk_min(const T* x, std::int64_t n) {
  T min = Min<T>::identity();
  int nans = 0;
#pragma omp simd reduction(min : min) reduction(| : nans)
  for (std::int64_t i = 0; i < n; ++i) {
    min = x[i] < min ? x[i] : min;
    nans |= kernels::detail::is_nan(x[i]);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (nans) return static_cast<T>(__builtin_nan(""));
  }
  return min;
}

template <class T>
T chunk_max(const T* x, std::int64_t n) {
  T max = Max<T>::identity();
  int nans = 0;
#pragma omp simd reduction(max : max) reduction(| : nans)
  for (std::int64_t i = 0; i < n; ++i) {
    max = x[i] > max ? x[i] : max;
    nans |= kernels::detail::is_nan(x[i]);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (nans) return static_cast<T>(__builtin_nan(""));
  }
  return max;
}

// partials[c] = reduce(first element, length) for every chunk c; returns their number.
template <class Partial, class Reduce>
std::int64_t for_each_chunk(std::int64_t n, Partial* partials, Reduce reduce) {
  const std::int64_t chunks = divide_up(n, kReduceChunk);
#pragma omp parallel for schedule(static) if (chunks > 1)
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::int64_t first = chunk * kReduceChunk;
    partials[chunk] = reduce(first, n - first < kReduceChunk ? n - first : kReduceChunk);
  }
  return chunks;
}

template <class Op, class Partial>
Partial combined(const Partial* partials, std::int64_t count, Op op) {
  Partial total = Op::identity();
  for (std::int64_t i = 0; i < count; ++i) total = op(total, partials[i]);
  return total;
}

}  // namespace detail

// `workspace` has room for divide_up(n, kReduceChunk) values of T or double.
template <class T>
void reduce(T* result, const T* x, std::int64_t n, Reduction kind, void* workspace) {
  // Floats add up in T and then in double, integers in the unsigned type, which wraps around.
  using A = typename kernels::detail::Arithmetic<T>::type;
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, A>;
  if (kind == Reduction::sum || kind == Reduction::sum_of_squares) {
    Total* partials = static_cast<Total*>(workspace);
    const bool squares = kind == Reduction::sum_of_squares;
    const std::int64_t chunks =
        detail::for_each_chunk(n, partials, [=](std::int64_t first, std::int64_t length) {
          return squares ? detail::chunk_sum<Total, A>(x + first, length, [](A v) { return v * v; })
                         : detail::chunk_sum<Total, A>(x + first, length, [](A v) { return v; });
        });
    *result = static_cast<T>(detail::combined(partials, chunks, Sum<Total>()));
    return;
  }
  T* partials = static_cast<T*>(workspace);
  const bool smallest = kind == Reduction::min;
  const std::int64_t chunks =
      detail::for_each_chunk(n, partials, [=](std::int64_t first, std::int64_t length) {
        return smallest ? detail::chunk_min(x + first, length)
                        : detail::chunk_max(x + first, length);
      });
  *result = smallest ? detail::combined(partials, chunks, Min<T>())
                     : detail::combined(partials, chunks, Max<T>());
}

// `workspace` has room for as many Indexed<T>.
template <class T>
void argmax(std::int64_t* index, const T* x, std::int64_t n, void* workspace) {
  Indexed<T>* partials = static_cast<Indexed<T>*>(workspace);
  const std::int64_t chunks =
      detail::for_each_chunk(n, partials, [=](std::int64_t first, std::int64_t length) {
        Indexed<T> found = FirstMax<T>::identity();
        for (std::int64_t i = first; i < first + length; ++i) {
          found = FirstMax<T>()(found, Indexed<T>{x[i], i});
        }
        return found;
      });
  *index = detail::combined(partials, chunks, FirstMax<T>()).index;
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

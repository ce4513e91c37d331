// SPDX-License-Identifier: MIT
// Scan (prefix sum) of n values with an associative operator.
//
//   inclusive   y[i] = x[0] op x[1] op ... op x[i]
//   exclusive   y[i] = x[0] op ... op x[i - 1],   y[0] = identity
//
// T is int32_t, int64_t, float or double; the operators are those of kernels/operators.h: integers
// wrap around, so every variant gives the same bits; NaN propagates. Any other associative operator
// on any type of 4-byte words: cpu/templates.h, and cuda::KoggeStone::run() and its like in the
// .cuh files.
//
// y may be x; other overlaps are not allowed. n == 0 writes nothing. Every variant gives the same
// bits on every run; sums of floats may differ between variants (and for grid_sync and lookahead
// between kinds of GPU), because their grouping does. Least traffic: 2n elements.
#pragma once

#include "kernels/element_type.h"
#include "kernels/ladder.h"

namespace weft::kernels {

enum class ScanOp { sum, min, max, product };
enum class ScanKind { inclusive, exclusive };

struct ScanOptions {
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  std::string_view variant = kAutomatic;
};

// What the choice of a rung depends on.
struct ScanProblem {
  std::int64_t n = 0;
};

// For elements of any type, also with an operator of one's own.
std::size_t scan_workspace_bytes(std::string_view variant, std::int64_t n,
                                 std::size_t element_bytes, Device device);
template <class T>
std::size_t scan_workspace_bytes(std::int64_t n, const ScanOptions& options, Device device) {
  return scan_workspace_bytes(options.variant, n, sizeof(T), device);
}

void scan(ElementType type,
          void* y,        // (n,), may be x
          const void* x,  // (n,)
          std::int64_t n, const ScanOptions& options, Workspace workspace, const Stream& stream);
template <class T>
void scan(T* y, const T* x, std::int64_t n, const ScanOptions& options, Workspace workspace,
          const Stream& stream) {
  scan(kElementType<T>, y, x, n, options, workspace, stream);
}

// How a block scans, where its additions are worked out by hand.
enum class ScanSteps {
  none,
  doubling,     // each element adds the one 1, 2, 4, ... places before it
  up_and_down,  // a tree of sums, and back
};
ScanSteps scan_steps(std::string_view rung);  // of another name: none

Rungs scan_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool scan_takes(std::string_view variant, const ScanProblem& problem, Device device);
Choice scan_choice(const ScanProblem& problem, Device device);

}  // namespace weft::kernels

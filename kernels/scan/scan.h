// SPDX-License-Identifier: MIT
// Scan (prefix sum) of n values with an associative operator.
//
//   inclusive   y[i] = x[0] op x[1] op ... op x[i]
//   exclusive   y[i] = x[0] op ... op x[i - 1],   y[0] = identity
//
// T is int32_t, int64_t, float or double; the operators are those of kernels/operators.h: integers
// wrap around, so every variant gives the same bits; NaN propagates. Any other associative operator
// on any type of 4-byte words: cpu.h, and cuda::KoggeStone::run() and its like in the .cuh files.
//
// y may be x; other overlaps are not allowed. n == 0 writes nothing. Every variant gives the same
// bits on every run; sums of floats may differ between variants (and for grid_sync and lookahead
// between kinds of GPU), because their grouping does. Least traffic: 2n elements.
#pragma once

#include <span>

#include "kernels/common.h"

namespace weft::kernels {

enum class ScanOp { sum, min, max, product };
enum class ScanKind { inclusive, exclusive };

enum class ScanVariant {
  automatic,  // threaded on the CPU; on a GPU lookahead, or grid_sync between 2^21 and 2^23
  sequential,
  threaded,
  kogge_stone,
  kogge_stone_double_buffered,
  warp_scan,
  brent_kung,
  three_kernel,
  grid_sync,
  decoupled_lookback,
  lookahead,
};

struct ScanOptions {
  ScanOp op = ScanOp::sum;
  ScanKind kind = ScanKind::inclusive;
  ScanVariant variant = ScanVariant::automatic;
};

template <class T>
std::size_t scan_workspace_bytes(std::int64_t n, const ScanOptions& options, Device device);
template <class T>
void scan(T* y,        // (n,), may be x
          const T* x,  // (n,)
          std::int64_t n, const ScanOptions& options, Workspace workspace, const Stream& stream);

// The ladder, in teaching order; automatic is not a row.
std::span<const VariantInfo> scan_variants();
ScanVariant parse_scan_variant(std::string_view name);  // throws usage, naming the choices

// What a scan of n elements has to move, and the applications of the operator that it needs.
constexpr double scan_bytes(std::int64_t n, std::size_t element_bytes) {
  return 2.0 * static_cast<double>(n) * static_cast<double>(element_bytes);
}
constexpr double scan_flops(std::int64_t n) {
  return n > 1 ? static_cast<double>(n - 1) : 0.0;
}

}  // namespace weft::kernels

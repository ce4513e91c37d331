// SPDX-License-Identifier: MIT
// The checks of the options of GEMM, of those too that only some rungs look at. Each throws usage
// with what it expected and found.
#pragma once

#include "kernels/checks.h"
#include "kernels/gemm/gemm.h"

namespace weft::kernels {

inline void check_strip(const GemmOptions& options) {
  const int width = options.strip_width, results = options.strip_results;
  if (width != 32 && width != 64 && width != 128 && width != 256) {
    throw Error(ErrorKind::usage,
                str("gemm: strip_width must be 32, 64, 128 or 256, found ", width));
  }
  if (results != 2 && results != 4) {
    throw Error(ErrorKind::usage, str("gemm: strip_results must be 2 or 4, found ", results));
  }
}

inline void check_cluster(const GemmOptions& options) {
  const int parts = options.cluster_parts, columns = options.cluster_columns;
  if (parts != 0 && parts != 1 && parts != 2 && parts != 4 && parts != 8) {
    throw Error(ErrorKind::usage,
                str("gemm: cluster_parts must be 0, 1, 2, 4 or 8, found ", parts));
  }
  if (columns != 0 && columns != 32 && columns != 64) {
    throw Error(ErrorKind::usage,
                str("gemm: cluster_columns must be 0, 32 or 64, found ", columns));
  }
  if (parts == 8 && columns == 32) {
    throw Error(ErrorKind::usage, "gemm: 8 parts of k take tiles of 64 columns, found 32");
  }
}

// The rung whose tiles can be the same for every m.
inline constexpr std::string_view kBatchInvariant = "register_tiled";

inline void check_batch_invariant(const GemmOptions& options, GemmStorage storage) {
  if (options.variant != kAutomatic && options.variant != kBatchInvariant) {
    throw Error(ErrorKind::usage, str("gemm: batch_invariant takes variant ", kBatchInvariant,
                                      ", found ", options.variant));
  }
  if (storage != GemmStorage::fp32) {
    throw Error(ErrorKind::usage, "gemm: batch_invariant is for floats, found bfloat16");
  }
}

inline void check_options(const GemmOptions& options) {
  check_mode("gemm", options.mode);
  check_enumerator("gemm", "epilogue", options.epilogue, Epilogue::relu);
  check_finite("gemm", "alpha", options.alpha);
  check_finite("gemm", "beta", options.beta);
  check_strip(options);
  check_cluster(options);
}

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// The checks of the options that only some rungs of GEMM look at. Each throws usage with what it
// expected and found.
#pragma once

#include "engine/error.h"
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
  const int share = options.cluster_share, parts = options.cluster_parts;
  if (share < 0 || share > 2) {
    throw Error(ErrorKind::usage, str("gemm: cluster_share must be 0, 1 or 2, found ", share));
  }
  if (parts != 0 && parts != 1 && parts != 2 && parts != 4 && parts != 8) {
    throw Error(ErrorKind::usage,
                str("gemm: cluster_parts must be 0, 1, 2, 4 or 8, found ", parts));
  }
  if (share == 2 && parts > 2) {
    throw Error(ErrorKind::usage, str("gemm: a cluster has at most 8 blocks, found 4 that share ",
                                      "operands times ", parts, " parts"));
  }
}

}  // namespace weft::kernels

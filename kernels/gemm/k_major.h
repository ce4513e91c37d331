// SPDX-License-Identifier: MIT
// GEMM operands as Hopper's tensor cores read floats: rows along k that the copy engine can read.
#pragma once

#include "engine/stream.h"

namespace weft::kernels::cuda {

// op(A), or the transpose of op(B): (extent, k). Stored so, or (k, extent) when not along_k.
struct GemmOperand {
  const float* data;
  std::int64_t extent, k, ld;
  bool along_k;
};

// (extent, k) with rows of `ld` floats that start on 16-byte boundaries.
struct KMajor {
  const float* data;
  std::int64_t ld;
};

// The operand itself, or a copy in `scratch`.
KMajor k_major(const GemmOperand& operand, Buffer& scratch, const Stream& stream);

// Both parts of the operand in `scratch`, x = big + small with big = tf32(x): a row has 32 small
// ones, the 32 big ones they belong to, and so on; zeros from k to the next multiple of 32.
KMajor k_major_parts(const GemmOperand& operand, Buffer& scratch, const Stream& stream);

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// GEMM operands as Hopper's tensor cores read floats: rows along k that the copy engine can read.
#pragma once

#include "engine/stream.h"
#include "kernels/half.h"

namespace weft::kernels::cuda {

// op(A), or the transpose of op(B): (extent, k). Stored so, or (k, extent) when not along_k.
struct GemmOperand {
  const float* data;
  std::int64_t extent, k, ld;
  bool along_k;
  bool stays = false;  // as it is, whatever its order, if its rows are aligned

  bool aligned() const;  // rows start on 16-byte boundaries
};

// An operand (extent, k) with rows of `ld` floats that start on 16-byte boundaries, or (k, extent)
// for one that stays as it is.
struct KMajor {
  const float* data;
  std::int64_t ld;
};

// Both operands of a product. Copies lie in `memory` and last as long as this.
struct KMajorOperands {
  KMajor a, b;
  Buffer memory;
};

// The operands themselves, or copies.
KMajorOperands k_major(const GemmOperand& a, const GemmOperand& b, const Stream& stream);

// Copies in two parts, x = big + small with big = tf32(x): a row has 32 small ones, the 32 big ones
// they belong to, and so on; zeros from k to the next multiple of 32.
KMajorOperands k_major_parts(const GemmOperand& a, const GemmOperand& b, const Stream& stream);

// The largest |x| of each row of the operands, as the bits of a float; the rows behind the last, up
// to a multiple of 256, have zeros.
struct HalfScales {
  const std::uint32_t *largest_a, *largest_b;
};

// Both operands in parts of fp16: a row has 64 small ones, the 64 big ones they belong to, and so
// on; zeros from k to the next multiple of 64.
struct KMajorHalves {
  const Half *a, *b;
  std::int64_t ld;
  HalfScales scales;
  Buffer memory;
};
KMajorHalves k_major_halves(const GemmOperand& a, const GemmOperand& b, const Stream& stream);

}  // namespace weft::kernels::cuda

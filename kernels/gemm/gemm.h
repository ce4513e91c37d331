// SPDX-License-Identifier: MIT
// GEMM: C = mask(epilogue(alpha * op(A) op(B) + beta * C + bias)), row-major.
//
//   op(A) is (m, k): A stored (m, k) with leading dimension lda, or (k, m) when transpose_a
//   op(B) is (k, n): B stored (k, n) with leading dimension ldb, or (n, k) when transpose_b
//   C is (m, n) with leading dimension ldc; bias, when not null, has n values, one per column
//   mask and row_sums, what the backward pass of a layer needs besides: see GemmOptions
//
// beta == 0 does not read C. k == 0 gives epilogue(beta * C + bias). C must not overlap A or B.
// An operand that is infinite may give NaN where C is infinite, in every mode. Rungs that split
// floats leave out 2^-21 of a product at most. "wgmma_fp16x3" also leaves out 2^-50 of a factor
// times the largest value in the row of op(A), or in the column of op(B), that the other factor is
// from. FLOPs 2mnk; least traffic 4(mk + kn + mn) bytes. Sums are fp32 in every ComputeMode.
//
// A, B and C are floats, or all three are Bfloat16: half the traffic, and each result is rounded
// once, to nearest even. Leading dimensions count elements.
#pragma once

#include "kernels/bfloat16.h"
#include "kernels/ladder.h"

namespace weft::kernels {

struct GemmDims {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  std::int64_t lda = 0, ldb = 0, ldc = 0;  // 0: dense, the stored row length
};

struct GemmOptions {
  std::string_view variant = kAutomatic;
  ComputeMode mode = ComputeMode::fp32;
  float alpha = 1;  // finite, as beta is
  float beta = 0;
  Epilogue epilogue = Epilogue::none;
  // The next two are for floats only and must not overlap C. Backward of a ReLU whose output is the
  // mask: C is 0 where that is not above 0.
  const float* relu_mask = nullptr;  // (m, n), ldc
  // Sums of the rows of op(A), as if op(B) had one more column, of ones: alpha * sum + beta * what
  // was there. The gradient of a bias, when C is that of the weight.
  float* row_sums = nullptr;  // (m,)
  // The kernel may start while the one before it on the stream is ending. Never changes results;
  // register_tiled, the cluster and the wgmma rungs gain by it.
  bool overlap = true;
  // A row of C has the same bits whatever m is. On a GPU this takes register_tiled in its tile of
  // 32 x 32, for floats only; on a CPU it is so anyway.
  bool batch_invariant = false;
  int strip_width = 128;    // of the strip rungs: threads of a block, 32, 64, 128 or 256
  int strip_results = 4;    // of strip_k3, strip_k4, strip_k3k4: results of a thread, 2 or 4
  int cluster_parts = 0;    // of the cluster rungs: blocks that share k, 1, 2, 4 or 8; 0 chooses
  int cluster_columns = 0;  // of the cluster rungs: of a tile, 32 or 64; 0 chooses
};

void gemm(float* c,           // (m, n), ldc
          const float* a,     // op(A) is (m, k), lda
          const float* b,     // op(B) is (k, n), ldb
          const float* bias,  // (n,) or null
          const GemmDims& dims, const GemmOptions& options, const Stream& stream);

// On bfloat16 storage. Products of two bfloat16 are exact in fp32, so options.mode changes nothing.
void gemm(Bfloat16* c,        // (m, n), ldc
          const Bfloat16* a,  // op(A) is (m, k), lda
          const Bfloat16* b,  // op(B) is (k, n), ldb
          const float* bias,  // (n,) or null
          const GemmDims& dims, const GemmOptions& options, const Stream& stream);

enum class GemmStorage { fp32, bf16 };  // of A, B and C

// What the choice of a rung depends on.
struct GemmProblem {
  GemmDims dims;
  GemmStorage storage = GemmStorage::fp32;
  ComputeMode mode = ComputeMode::fp32;
  bool aligned = true;  // rows of A and B start on 16-byte boundaries
};

// What a block computes of C. It loads each element of A and B that this takes once, or for every
// product where that is 1 x 1.
struct GemmTile {
  std::int64_t rows = 0, columns = 0;
};

// What a rung is beside the others: what its arithmetic by hand is, and where it is measured.
struct GemmTraits {
  GemmTile (*tile)(const GemmOptions& options) = nullptr;  // none: there is no such arithmetic
  std::int64_t side = 0;       // of square tiles, by which this rung is found
  bool any_side = false;       // its arithmetic holds for square tiles of another side, too
  bool strip = false;          // takes strip_width
  bool results = false;        // and strip_results
  bool for_layers = false;     // meant for the products of a linear layer
  bool fast = false;           // the fastest in fp32 without tensor cores
  std::int64_t longest_k = 0;  // sums of more terms drift; 0: they do not
};
GemmTraits gemm_traits(std::string_view rung);  // of another name: no traits

Rungs gemm_rungs();  // in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool gemm_takes(std::string_view variant, const GemmProblem& problem, Device device);
Choice gemm_choice(const GemmProblem& problem, Device device);
Choice gemm_choice_on_h200(const GemmProblem& problem);  // wherever this runs

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// The thresholds were measured on an H200 (bench/results).
#include "kernels/gemm/automatic.h"

#include <algorithm>

#include "engine/extent.h"

namespace weft::kernels {
namespace {

// Up to here sums on tensor cores, which cut off, are as accurate as fp32 multiply-adds: of the k
// that a cluster_tf32x3 block has, each of four warps sums a quarter.
constexpr std::int64_t kShortSums = 2304;

// Rows and columns from which it pays to split both operands first, so that wgmma can read them.
constexpr std::int64_t kSplitPays = 512;

std::int64_t tiles(const GemmDims& dims, std::int64_t side) {
  return divide_up(dims.m, side) * divide_up(dims.n, side);
}

}  // namespace

Choice gemm_automatic(const GemmProblem& problem, const GemmDevice& device) {
  const auto& [dims, storage, mode, aligned] = problem;
  // Persistent blocks of 128 rows pay for their start where half of the multiprocessors have one;
  // for tf32, where nothing is copied first, earlier.
  const bool fits = device.hopper && dims.k >= 64 && fits_copy_engine(dims);
  const bool large = fits && tiles(dims, 128) >= 64;
  if (storage == GemmStorage::bf16) {
    if (large && aligned) {
      return {"wgmma_bf16", "tiles of 128 x 128 for half of the multiprocessors"};
    }
    return {"mma_bf16", !device.hopper ? "the device has no wgmma, or no code for it"
                        : !aligned     ? "rows do not start on 16-byte boundaries"
                                       : "fewer than 64 tiles of 128 x 128"};
  }
  // As many tiles of 64 x 64 as multiprocessors, or fewer.
  const bool few = tiles(dims, 64) <= device.multiprocessors;
  // (A transposed A asks for row sums, which the others leave to a kernel of their own.)
  if (few && dims.k <= 128 && !dims.transpose_a) {
    return {"register_tiled", "k of 128 or less in few tiles: what counts is the start"};
  }
  const bool clusters =
      few && device.compute_capability >= 90 && aligned && dims.k > 0 && fits_copy_engine(dims);
  constexpr std::string_view kClusters =
      "no more tiles of 64 x 64 than multiprocessors, so blocks help each other";
  if (mode != ComputeMode::fp32 && device.compute_capability >= 80) {
    if (clusters) return {"cluster_tf32", kClusters};
    if (large && aligned) {
      return {"wgmma_tf32", "tiles of 128 x 128 for half of the multiprocessors"};
    }
    const bool copies = dims.transpose_a && !dims.transpose_b;
    if (fits && aligned && !copies && tiles(dims, 128) >= 8) {
      return {"wgmma_tf32", "operands are read as they lie, and there are 8 large tiles"};
    }
    // With fewer tiles of 64 x 64 latency decides, and tiles that split k among warps win.
    if (tiles(dims, 64) >= 32) {
      return {"mma_tf32", !device.hopper ? "the device has no wgmma, or no code for it"
                          : !aligned     ? "rows do not start on 16-byte boundaries"
                                         : "too few tiles of 128 x 128 for wgmma"};
    }
  }
  if (mode == ComputeMode::fp32 && device.compute_capability >= 80) {
    // Blocks that share a tile have a part of k each.
    const std::int64_t parts = std::min<std::int64_t>(
        4, device.multiprocessors / std::max<std::int64_t>(tiles(dims, 64), 1));
    if (clusters && dims.k <= kShortSums * parts) return {"cluster_tf32x3", kClusters};
    if (large && dims.m >= kSplitPays && dims.n >= kSplitPays) {
      return {
          "wgmma_fp16x3",
          "tiles of 128 x 128 for half of the multiprocessors; three products of fp16 are fp32"};
    }
    if (!few) {
      return {"tf32x3",
              "more tiles of 64 x 64 than multiprocessors; three products of tf32 are fp32"};
    }
  }
  if (tiles(dims, 128) >= 64) {
    return {"operand_reuse", "64 tiles of 128 x 128 or more pay for those of threads"};
  }
  return {"register_tiled", "too few tiles of 128 x 128 to fill a GPU: smaller ones"};
}

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// The thresholds were measured on an H200 (bench/results).
#include "kernels/gemm/automatic.h"

namespace weft::kernels {
namespace {

// Up to here sums on tensor cores, which cut off, are as accurate as fp32 multiply-adds.
constexpr std::int64_t kShortSums = 2048;

std::int64_t tiles(const GemmDims& dims, std::int64_t side) {
  return (dims.m + side - 1) / side * ((dims.n + side - 1) / side);
}

}  // namespace

GemmVariant gemm_automatic(const GemmDims& dims, GemmStorage storage, ComputeMode mode,
                           bool aligned, const GemmDevice& device) {
  // Persistent blocks of 128 rows pay for their start where half of the multiprocessors have one;
  // for operands that tf32 must not transpose first, earlier.
  const bool fits = device.hopper && dims.k >= 64 && fits_copy_engine(dims);
  const bool large = fits && tiles(dims, 128) >= 64;
  if (storage == GemmStorage::bf16) {
    return large && aligned ? GemmVariant::wgmma_bf16 : GemmVariant::mma_bf16;
  }
  // As many tiles of 64 x 64 as multiprocessors, or fewer: its blocks help each other.
  const bool few = device.compute_capability >= 90 && aligned && dims.k >= 32 &&
                   fits_copy_engine(dims) && tiles(dims, 64) <= device.multiprocessors;
  if (few && mode == ComputeMode::fp32 && dims.k <= kShortSums) {
    return GemmVariant::cluster_tf32x3;
  }
  if (mode != ComputeMode::fp32 && device.compute_capability >= 80) {
    if (few) return GemmVariant::cluster_tf32;
    const bool in_place = aligned && !dims.transpose_a && dims.transpose_b;
    if (large || (fits && in_place && tiles(dims, 128) >= 8)) return GemmVariant::wgmma_tf32;
    // With fewer tiles of 64 x 64 latency decides, and tiles that split k among warps win.
    if (tiles(dims, 64) >= 32) return GemmVariant::mma_tf32;
  }
  // Two blocks of 128 x 128 for every multiprocessor pay for the long thread tiles.
  return tiles(dims, 128) >= 256 ? GemmVariant::warp_tiled : GemmVariant::register_tiled;
}

}  // namespace weft::kernels

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

Chosen<GemmVariant> gemm_automatic(const GemmDims& dims, GemmStorage storage, ComputeMode mode,
                                   bool aligned, const GemmDevice& device) {
  // Persistent blocks of 128 rows pay for their start where half of the multiprocessors have one;
  // for operands that tf32 must not transpose first, earlier.
  const bool fits = device.hopper && dims.k >= 64 && fits_copy_engine(dims);
  const bool large = fits && tiles(dims, 128) >= 64;
  if (storage == GemmStorage::bf16) {
    if (large && aligned) {
      return {GemmVariant::wgmma_bf16, "tiles of 128 x 128 for half of the multiprocessors"};
    }
    return {GemmVariant::mma_bf16, !device.hopper ? "the device has no wgmma, or no code for it"
                                   : !aligned     ? "rows do not start on 16-byte boundaries"
                                                  : "fewer than 64 tiles of 128 x 128"};
  }
  // As many tiles of 64 x 64 as multiprocessors, or fewer: its blocks help each other.
  const bool few = device.compute_capability >= 90 && aligned && dims.k >= 32 &&
                   fits_copy_engine(dims) && tiles(dims, 64) <= device.multiprocessors;
  constexpr std::string_view kFew =
      "no more tiles of 64 x 64 than multiprocessors, so blocks help each other";
  if (few && mode == ComputeMode::fp32 && dims.k <= kShortSums) {
    return {GemmVariant::cluster_tf32x3, kFew};
  }
  if (mode != ComputeMode::fp32 && device.compute_capability >= 80) {
    if (few) return {GemmVariant::cluster_tf32, kFew};
    const bool in_place = aligned && !dims.transpose_a && dims.transpose_b;
    if (large)
      return {GemmVariant::wgmma_tf32, "tiles of 128 x 128 for half of the multiprocessors"};
    if (fits && in_place && tiles(dims, 128) >= 8) {
      return {GemmVariant::wgmma_tf32, "operands run along k already, and there are 8 large tiles"};
    }
    // With fewer tiles of 64 x 64 latency decides, and tiles that split k among warps win.
    if (tiles(dims, 64) >= 32) {
      return {GemmVariant::mma_tf32, device.hopper ? "too few tiles of 128 x 128 for wgmma"
                                                   : "the device has no wgmma, or no code for it"};
    }
  }
  // Two blocks of 128 x 128 for every multiprocessor pay for the long thread tiles.
  if (tiles(dims, 128) >= 256) {
    return {GemmVariant::warp_tiled,
            "256 tiles of 128 x 128 or more pay for long tiles of threads"};
  }
  return {GemmVariant::register_tiled, "too few tiles of 128 x 128 to fill a GPU: smaller ones"};
}

}  // namespace weft::kernels

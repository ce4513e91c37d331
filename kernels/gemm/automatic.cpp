// SPDX-License-Identifier: MIT
// The thresholds were measured on an H200 (bench/results).
#include "kernels/gemm/automatic.h"

namespace weft::kernels {
namespace {

std::int64_t tiles(const GemmDims& dims, std::int64_t side) {
  return (dims.m + side - 1) / side * ((dims.n + side - 1) / side);
}

}  // namespace

GemmVariant gemm_automatic(const GemmDims& dims, GemmStorage storage, ComputeMode mode,
                           bool aligned, const GemmDevice& device) {
  // Persistent blocks of 128 rows pay for their start where half of the multiprocessors have one.
  const bool large = dims.k >= 64 && tiles(dims, 128) >= 64 && fits_copy_engine(dims);
  if (storage == GemmStorage::bf16) {
    return device.hopper && aligned && large ? GemmVariant::wgmma_bf16 : GemmVariant::mma_bf16;
  }
  const bool tensor_cores = mode != ComputeMode::fp32 && device.compute_capability >= 80;
  if (tensor_cores && device.hopper && large) return GemmVariant::wgmma_tf32;
  // With fewer than 64 tiles of 64 x 64 latency decides, and tiles that split k among warps win.
  if (tensor_cores && tiles(dims, 64) >= 64) return GemmVariant::mma_tf32;
  // Two blocks of 128 x 128 for every multiprocessor pay for the long thread tiles.
  return tiles(dims, 128) >= 256 ? GemmVariant::warp_tiled : GemmVariant::register_tiled;
}

}  // namespace weft::kernels

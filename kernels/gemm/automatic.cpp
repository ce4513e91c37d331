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
                           int compute_capability) {
  if (storage == GemmStorage::bf16) return GemmVariant::mma_bf16;
  const bool tensor_cores = mode != ComputeMode::fp32 && compute_capability >= 80;
  // With fewer than 64 tiles of 64 x 64 latency decides, and tiles that split k among warps win.
  if (tensor_cores && tiles(dims, 64) >= 64) return GemmVariant::mma_tf32;
  // Two blocks of 128 x 128 for every multiprocessor pay for the long thread tiles.
  return tiles(dims, 128) >= 256 ? GemmVariant::warp_tiled : GemmVariant::register_tiled;
}

}  // namespace weft::kernels

// SPDX-License-Identifier: MIT
// What the files of the rung "wgmma" share: tensor cores in tf32 and bf16; sm_90a alone.
#pragma once

#include "kernels/conv/parts/largest.cuh"
#include "kernels/conv_relu_pool/launchers.h"

namespace weft::kernels::cuda {

constexpr int kPoolKernel = 3, kPoolTaps = kPoolKernel * kPoolKernel;
constexpr std::int64_t kMostItems = std::int64_t{1} << 30;  // tiles, by numbers of 32 bits

inline bool has_wgmma_shape(const ReluPoolDims& dims) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // of an image: 32-bit offsets
  const ConvDims& d = dims.conv;
  return d.c * d.h * d.w < kMostElements && d.oc * d.oh() * d.ow() < kMostElements &&
         d.kh == kPoolKernel && d.kw == kPoolKernel && d.stride_h == 1 && d.stride_w == 1 &&
         d.pad_h < kPoolKernel && d.pad_w < kPoolKernel && dims.ph == 2 && dims.pw == 2;
}

// The largest image of a stem. Two of this size lie in shared memory beside all else. The copy
// engine brings 16 bytes at a time, two neighbours in a row are read at once, and the data gradient
// of few channels has pairs of rows.
constexpr std::int64_t kMostStemBytes = 8192;
inline bool stem_fits(const ReluPoolDims& dims) {
  const std::int64_t width = dims.conv.w + kPoolKernel - 1;
  const std::int64_t bytes = 4 * (dims.conv.h + kPoolKernel - 1) * width;
  return width % 2 == 0 && dims.conv.h % 2 == 0 && bytes % 16 == 0 && bytes <= kMostStemBytes;
}

inline CellType pool_cell_type(ComputeMode mode) {
  return mode == ComputeMode::fp32   ? CellType::halves
         : mode == ComputeMode::bf16 ? CellType::bf16
                                     : CellType::tf32;
}

// Starts the search for the largest of the values, by which their halves are scaled; returns where
// in the workspace it will be, in parts (largest.cuh).
inline const std::uint32_t* find_largest_of(const float* values, std::int64_t count,
                                            Workspace workspace, const Stream& stream) {
  auto* parts = static_cast<std::uint32_t*>(workspace.data);
  find_largest({parts, values, count}, {}, {}, stream);
  return parts;
}

bool wgmma_data_fits(const ReluPoolDims& dims, ComputeMode mode);
std::size_t wgmma_stem_bytes(const ReluPoolDims& dims, ComputeMode mode);  // of partial sums
bool wgmma_weights_fit(const ReluPoolDims& dims);

}  // namespace weft::kernels::cuda

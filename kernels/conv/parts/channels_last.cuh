// SPDX-License-Identifier: MIT
// Images and filters as the copy engine reads them for implicit_gemm_wgmma: rounded, and with the
// channels of a pixel adjacent, in quads of 16 bytes: 4 of tf32, or 8 of bf16 or fp16.
//
//   images    (n, height, width, quads) without a border: the copy engine delivers zeros where a
//             window reads outside of its image
//   filters   (taps, rows, quads)
//
// Channels of the last quad that do not exist are 0. For fp32 accuracy numbers are in two parts of
// fp16 (device/halves.cuh), and a copy of 128 bytes has 32 channels:
//
//   images    4 quads big, 4 quads small, which are 2^11 times too large
//   filters   4 quads big, 4 quads big / 2^11, and in the next copy 4 quads small, 4 quads 0
//
// so that the first copy of filters times that of images, and the big half of that of images times
// the second, add up to three products of the parts. Images are scaled together, filters one by
// one.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/conv/parts/largest.cuh"

namespace weft::kernels::cuda {

struct PixelImages {
  std::int64_t channels = 0, height = 0, width = 0;
  CellType type = CellType::tf32;

  std::int64_t quads() const {  // of a pixel
    if (type == CellType::halves) return 8 * divide_up(channels, 32);
    return divide_up(channels, cell_channels(type) / kCellQuads);
  }
  std::int64_t filter_quads() const {  // of a filter at a tap
    return type == CellType::halves ? 2 * quads() : quads();
  }
  std::int64_t plane() const { return height * width; }
  std::int64_t bytes() const { return plane() * quads() * 16; }  // of one image
};

// Packs `images` images, and the filters as `layout` says which element is where; its padded_rows
// are not looked at. `filters` null: only the images. `largest` are those of halves, which
// find_largest() has found. One launch; a kernel that is launched with overlap may follow.
struct HalfLargest {
  const std::uint32_t *images = nullptr, *filters = nullptr;
};
void pack_pixels(void* pixels, const float* x, std::int64_t images, const PixelImages& layout,
                 void* filters, const float* w, const CellFilters& filter_layout,
                 const HalfLargest& largest, const Stream& stream);

// Scratch of implicit_gemm_wgmma: packed images and filters; for weights packed images and partial
// sums.
// Does implicit_gemm_wgmma compute weight gradients of this shape: 3 x 3, stride 1, and 32 images
// side by side (64 in bf16) are no more than what is packed at a time?
bool wgmma_weights_fit(const ConvDims& dims, ComputeMode mode);
std::size_t wgmma_weights_bytes(const ConvDims& dims, ComputeMode mode);

}  // namespace weft::kernels::cuda

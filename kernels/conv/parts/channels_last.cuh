// SPDX-License-Identifier: MIT
// Images and filters as the copy engine reads them for implicit_gemm_wgmma: rounded, and with the
// channels of a pixel adjacent, in quads of 16 bytes: 4 of tf32 or 8 of bf16 (channel_quads.cuh).
//
//   images    (n, height, width, quads) without a border: the copy engine delivers zeros where a
//             window reads outside of its image
//   filters   (taps, rows, quads)
//
// Channels of the last quad that do not exist are 0. For fp32 accuracy numbers are in two parts:
// what tf32 keeps of all channels, in whole copies of 128 bytes, and then what it leaves of them.
#pragma once

#include "engine/extent.h"
#include "kernels/conv/parts/channel_blocks.cuh"

namespace weft::kernels::cuda {

struct PixelImages {
  std::int64_t channels = 0, height = 0, width = 0;
  CellType type = CellType::tf32;
  int parts = 1;  // 2: tf32 and what it leaves

  std::int64_t part_quads() const {
    const std::int64_t of_quad = cell_channels(type) / kCellQuads;
    const std::int64_t quads = divide_up(channels, of_quad);
    return parts == 1 ? quads : round_up(quads, 8);
  }
  std::int64_t quads() const { return parts * part_quads(); }  // of a pixel
  std::int64_t plane() const { return height * width; }
  std::int64_t bytes() const { return plane() * quads() * 16; }  // of one image
};

// Packs `images` images, and the filters as `layout` says which element is where; its padded_rows
// are not looked at. `filters` null: only the images. One launch; a kernel that is launched with
// overlap may follow.
void pack_pixels(void* pixels, const float* x, std::int64_t images, const PixelImages& layout,
                 void* filters, const float* w, const CellFilters& filter_layout,
                 const Stream& stream);

// Scratch of implicit_gemm_wgmma: packed images and filters; for weights packed images and partial
// sums.
// Does implicit_gemm_wgmma compute weight gradients of this shape: 3 x 3, stride 1, and 32 images
// side by side (64 in bf16) are no more than what is packed at a time?
bool wgmma_weights_fit(const ConvDims& dims, ComputeMode mode);
std::size_t wgmma_weights_bytes(const ConvDims& dims, ComputeMode mode);

}  // namespace weft::kernels::cuda

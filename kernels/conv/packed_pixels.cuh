// SPDX-License-Identifier: MIT
// Images and filters as the copy engine reads them for implicit_gemm_wgmma: rounded, and with the
// channels of a pixel side by side, in quads of 16 bytes: 4 of tf32 or 8 of bf16 (cell_quads.cuh).
//
//   images    (n, height, width, quads); no border: what a window reads outside of its image the
//             copy engine makes up
//   filters   (taps, rows, quads)
//
// Channels of the last quad that do not exist are 0. For fp32 accuracy numbers are in two parts:
// what tf32 keeps of all channels, in whole copies of 128 bytes, and then what it leaves of them.
#pragma once

#include "kernels/conv/packed_cells.cuh"

namespace weft::kernels::cuda {

struct PixelImages {
  std::int64_t channels = 0, height = 0, width = 0;
  CellType type = CellType::tf32;
  int parts = 1;  // 2: tf32 and what it leaves

  std::int64_t part_quads() const {
    const std::int64_t of_quad = cell_channels(type) / kCellQuads;
    const std::int64_t quads = (channels + of_quad - 1) / of_quad;
    return parts == 1 ? quads : (quads + 7) / 8 * 8;
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
std::size_t wgmma_workspace_bytes(ConvPass pass, const ConvDims& dims, ComputeMode mode);
std::size_t wgmma_weights_bytes(const ConvDims& dims, ComputeMode mode);

}  // namespace weft::kernels::cuda

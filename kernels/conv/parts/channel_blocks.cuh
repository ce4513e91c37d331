// SPDX-License-Identifier: MIT
// Images and filters as the tensor-core kernels read them: in cells of 64 bytes.
//
// A cell holds neighbouring channels of one pixel: 16 as they are, or rounded to tf32 (or to bf16
// in fp32 storage, which tf32 represents exactly), or 32 in bf16. Channels that do not exist are 0.
//
//   images    (n, groups, height, width) cells: padding by zeros is part of the image, so that a
//             window never needs a bounds test
//   filters   (groups, taps, rows) cells, zeros in the rows behind the last filter
//
// Packing costs one pass over the data; in return every gather of the product is 16 bytes from an
// address that is a sum of a pixel's offset and a tap's offset.
#pragma once

#include "kernels/conv/launchers.h"
#include "kernels/device/fast_divide.cuh"

namespace weft::kernels::cuda {

constexpr int kCellBytes = 64, kCellQuads = 4;

// halves: floats in two parts of fp16, for images and filters of implicit_gemm_wgmma only.
enum class CellType { fp32, tf32, bf16_as_fp32, bf16, halves };

template <CellType kType>
constexpr int kCellChannels = kType == CellType::bf16 || kType == CellType::halves ? 32 : 16;
constexpr std::int64_t cell_channels(CellType type) {
  return type == CellType::bf16 ? 32 : 16;
}

// The place of images (n, channels, height, width) in cells. Negative borders cut.
struct CellImages {
  std::int64_t channels = 0, height = 0, width = 0;  // of the images in memory
  std::int64_t top = 0, left = 0;                    // border in front of pixel (0, 0)
  std::int64_t cell_height = 0, cell_width = 0;      // with both borders
  CellType type = CellType::tf32;

  std::int64_t groups() const { return (channels + cell_channels(type) - 1) / cell_channels(type); }
  std::int64_t plane() const { return cell_height * cell_width; }
  std::int64_t cells() const { return groups() * plane(); }  // of one image
  std::int64_t bytes() const { return cells() * kCellBytes; }
};

constexpr std::int64_t kMostPackedBytes = std::int64_t{1} << 30;  // of images at a time
// Images that are packed at a time, so that the cells of a large batch fit in memory. Throws usage
// when one image alone is beyond the 32-bit offsets of the kernels.
std::int64_t images_at_a_time(std::int64_t n, std::int64_t bytes_per_image);

// Finds the element of w at (row, channel, tap): w[row row_stride + channel channel_stride +
// (r0 + r r_step) kw + s0 + s s_step] for tap (r, s) of taps_h x taps_w.
struct CellFilters {
  std::int64_t rows = 0, padded_rows = 0, channels = 0;
  std::int64_t taps_h = 0, taps_w = 0;
  std::int64_t row_stride = 0, channel_stride = 0;
  std::int64_t r0 = 0, r_step = 1, s0 = 0, s_step = 1, kw = 0;
  CellType type = CellType::tf32;

  std::int64_t groups() const { return (channels + cell_channels(type) - 1) / cell_channels(type); }
  std::int64_t cells() const { return groups() * taps_h * taps_w * padded_rows; }
};

// What to pack, from where and to where. `cells` null: nothing.
struct ImagePacking {
  void* cells = nullptr;
  const float* x = nullptr;
  std::int64_t images = 0;
  CellImages layout = {};
};
struct FilterPacking {
  void* cells = nullptr;
  const float* w = nullptr;
  CellFilters layout = {};
};

// One launch for all; the types of all cells are the same.
void pack_cells(const ImagePacking& first, const ImagePacking& second, const FilterPacking& filters,
                CellType type, const Stream& stream);

// Scratch of implicit_gemm_tensor_core: packed images and filters, partial sums.
std::size_t tensor_core_weights_bytes(const ConvDims& dims, ComputeMode mode);

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// How implicit_gemm_wgmma.cu cuts a convolution into tiles: boxes of pixels by filters.
#pragma once

#include <cstdint>

namespace weft::kernels {

constexpr int kWgmmaPixels = 200;      // columns of one product: a box of 14 x 14 fills 196
constexpr int kWgmmaConsumers = 2;     // warpgroups that multiply
constexpr int kWgmmaChunkBytes = 128;  // of channels of a pixel, or of a filter at one tap
constexpr int kWgmmaMostStages = 8;
constexpr int kWgmmaSharedBytes = 227 * 1024 - 1024 - 256;  // without alignment and barriers

// The sums to compute: results (images, rows, height, width), each over taps_h x taps_w pixels of
// `chunks` chunks of channels.
struct WgmmaWork {
  std::int64_t images, height, width, rows, chunks;
  int taps_h, taps_w;
};

// A tile has 64 or 128 filters and the results of a box of pixels, a product of 200 columns for 128
// filters and two beside each other for 64. A stage of the ring has a chunk of all of them at one
// tap, or at all `taps` of a column of the kernel: then the box has taps - 1 more rows, and a tap's
// pixels begin some whole rows further into it.
struct WgmmaTile {
  int filters = 128;
  int images = 1, height = 1, width = 1;  // of the box of results
  int taps = 1;                           // of a stage

  int pixels() const { return filters == 64 ? 2 * kWgmmaPixels : kWgmmaPixels; }
  int box_height() const { return height + taps - 1; }
  int filter_bytes() const { return taps * filters * kWgmmaChunkBytes; }
  int stage_bytes() const {  // room for the columns behind the last pixel of the box too
    return filter_bytes() + (pixels() + (taps - 1) * width + 7) / 8 * 8 * kWgmmaChunkBytes;
  }
  int copied_bytes() const {
    return filter_bytes() + images * box_height() * width * kWgmmaChunkBytes;
  }
  // Are four neighbours of its results, from a multiple of four on, neighbours in a plane too?
  bool stores_quads(const WgmmaWork& work) const;
  int stages() const {
    const int room = kWgmmaSharedBytes / stage_bytes();
    return room < kWgmmaMostStages ? room : kWgmmaMostStages;
  }
};

// The tile that ends first on so many multiprocessors, by a model of its products and copies.
WgmmaTile choose_wgmma_tile(const WgmmaWork& work, std::int64_t processors);

}  // namespace weft::kernels

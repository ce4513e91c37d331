// SPDX-License-Identifier: MIT
// How implicit_gemm_wgmma.cu cuts a convolution into tiles: boxes of pixels by filters.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/extent.h"

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
  int filter_copies = 1;  // of filters at a tap, for a chunk; 2 of halves, the second half full
};

// A tile has 64 or 128 filters and the results of a box of pixels, a product of 200 columns for 128
// filters and two beside each other for 64. What it multiplies comes through two rings in shared
// memory. A stage of filters has a chunk of them at one tap. A stage of pixels has a chunk of the
// box at one tap, or at all `taps` of a column of the kernel: then the box has taps - 1 more rows,
// and a tap's pixels begin some whole rows further into it.
struct WgmmaTile {
  int filters = 128;
  int images = 1, height = 1, width = 1;  // of the box of results
  int taps = 1;                           // of a stage of pixels
  int filter_copies = 1;                  // each a stage of filters

  int pixels() const { return filters == 64 ? 2 * kWgmmaPixels : kWgmmaPixels; }
  int box_height() const { return height + taps - 1; }
  int filter_bytes() const { return filters * kWgmmaChunkBytes; }  // of a stage
  int pixel_bytes() const {  // room for the columns behind the last pixel of the box too
    return round_up(pixels() + (taps - 1) * width, 8) * kWgmmaChunkBytes;
  }
  int copied_pixel_bytes() const { return images * box_height() * width * kWgmmaChunkBytes; }
  double bytes_per_tap() const {  // from L2
    return filter_copies * filter_bytes() + static_cast<double>(copied_pixel_bytes()) / taps;
  }
  // A stage of pixels lasts `taps` stages of filters. Three of them leave a copy two stages'
  // products to arrive in; filters need as long, and a few more taps.
  int pixel_stages() const {
    if (taps == 1) {
      const int stage = pixel_bytes() + filter_copies * filter_bytes();
      return std::min(kWgmmaMostStages / filter_copies, kWgmmaSharedBytes / stage);
    }
    return 3 * pixel_bytes() + 6 * filter_bytes() <= kWgmmaSharedBytes ? 3 : 2;
  }
  int filter_stages() const {
    if (taps == 1) return filter_copies * pixel_stages();
    const int room = kWgmmaSharedBytes - pixel_stages() * pixel_bytes();
    return std::min(kWgmmaMostStages, room / filter_bytes());
  }
  int shared_bytes() const {
    return pixel_stages() * pixel_bytes() + filter_stages() * filter_bytes();
  }
  bool fits() const { return pixel_stages() >= 2 && filter_stages() >= 2; }
  // Are four neighbours of its results, from a multiple of four on, neighbours in a plane too?
  bool stores_quads(const WgmmaWork& work) const;
};

// The tile whose product ends first on so many SMs, by a model of its products and copies.
WgmmaTile choose_wgmma_tile(const WgmmaWork& work, std::int64_t processors);

}  // namespace weft::kernels

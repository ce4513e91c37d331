// SPDX-License-Identifier: MIT
// Images with the channels of a pixel side by side, on the CPU: (height, width, channels), framed
// by zeros. A row of a window is then kw * channels adjacent floats, few whole vectors.
//
// Squares of kLanes pixels by kLanes channels are transposed in registers on the way.
// Included by kernels/conv/cpu/instances.cpp only: see kernels/isa.h.
#pragma once

#include <cstdint>

#include "engine/extent.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/cpu/packed.h"

namespace weft::kernels::cpu {
inline namespace WEFT_ISA {

struct ChannelsLast {
  std::int64_t channels, h, w, pad_h, pad_w;

  explicit ChannelsLast(const ConvDims& d)
      : channels(d.c), h(d.h), w(d.w), pad_h(d.pad_h), pad_w(d.pad_w) {}

  std::int64_t line() const { return (w + 2 * pad_w) * channels; }
  // Whole vectors are read and written at any pixel, hence the slack.
  std::int64_t floats() const {
    return round_up((h + 2 * pad_h) * line() + kLanes * (channels + 1), 16);
  }
  std::int64_t at(std::int64_t i, std::int64_t j) const {
    return (i + pad_h) * line() + (j + pad_w) * channels;
  }
};

// The interior of `image` from `source` (channels, h, w); the frame must be zero and stays so.
inline void to_channels_last(float* image, const float* source, const ChannelsLast& layout) {
  const std::int64_t channels = layout.channels, plane = layout.h * layout.w;
  for (std::int64_t i = 0; i < layout.h; ++i) {
    for (std::int64_t j = 0; j < layout.w; j += kLanes) {
      const std::int64_t pixels = packed::least(kLanes, layout.w - j);
      const float* from = source + i * layout.w + j;
      float* to = image + layout.at(i, j);
      if (channels == 1) {
        simd::store_first(to, simd::load_first(from, pixels), pixels);
        continue;
      }
      for (std::int64_t first = 0; first < channels; first += kLanes) {
        const std::int64_t count = packed::least(kLanes, channels - first);
        FloatVector block[kLanes] = {};
        for (std::int64_t c = 0; c < count; ++c) {
          block[c] = simd::load_first(from + (first + c) * plane, pixels);
        }
        simd::transpose(block);
        // Zeros in the lanes past the last channel fall on pixels that are written later, or on
        // the frame, unless this pixel's neighbour has been written already.
        const std::int64_t lanes = first == 0 ? kLanes : count;
        for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
          simd::store_first(to + pixel * channels + first, block[pixel], lanes);
        }
      }
    }
  }
}

// target (channels, h, w) (+)= the interior of `image`.
inline void from_channels_last(float* target, const float* image, const ChannelsLast& layout,
                               bool add) {
  const std::int64_t channels = layout.channels, plane = layout.h * layout.w;
  const auto put = [&](float* to, FloatVector value, std::int64_t lanes) {
    if (add) value += simd::load_first(to, lanes);
    simd::store_first(to, value, lanes);
  };
  for (std::int64_t i = 0; i < layout.h; ++i) {
    for (std::int64_t j = 0; j < layout.w; j += kLanes) {
      const std::int64_t pixels = packed::least(kLanes, layout.w - j);
      const float* from = image + layout.at(i, j);
      float* to = target + i * layout.w + j;
      if (channels == 1) {
        put(to, simd::load(from), pixels);
        continue;
      }
      for (std::int64_t first = 0; first < channels; first += kLanes) {
        const std::int64_t count = packed::least(kLanes, channels - first);
        FloatVector block[kLanes];
#pragma GCC unroll 16
        for (int pixel = 0; pixel < kLanes; ++pixel) {
          block[pixel] = simd::load(from + pixel * channels + first);
        }
        simd::transpose(block);
        for (std::int64_t c = 0; c < count; ++c) put(to + (first + c) * plane, block[c], pixels);
      }
    }
  }
}

}  // namespace WEFT_ISA
}  // namespace weft::kernels::cpu

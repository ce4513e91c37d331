// SPDX-License-Identifier: MIT
// Images of bytes: RGB to grey and the box blur, exact on every device.
//
//   grey[i]  = (19595 R + 38470 G + 7471 B + 2^15) / 2^16, rounded down: 0.299, 0.587, 0.114
//   blur[p]  = mean of the pixels of channel c within `radius` rows and columns of p that lie in
//   the
//              image, rounded to the nearest, halves up
//
// Pixels are interleaved: (height, width, channels). Destinations must not overlap sources.
// Traffic: grey 4 bytes, blur 2 bytes per pixel and channel. A naive blur adds (2 radius + 1)^2
// pixels for each.
#pragma once

#include "kernels/ladder.h"

namespace weft::kernels {

struct ImageDims {
  std::int64_t height = 0, width = 0;
  std::int64_t channels = 1;

  std::int64_t elements() const { return height * width * channels; }
};

enum class ImageOperation { rgb_to_grey, box_blur };

void rgb_to_grey(std::uint8_t* grey,       // (pixels,)
                 const std::uint8_t* rgb,  // (pixels, 3)
                 std::int64_t pixels, std::string_view variant, const Stream& stream);

void box_blur(std::uint8_t* y,        // (height, width, channels)
              const std::uint8_t* x,  // (height, width, channels)
              const ImageDims& dims, std::int64_t radius, std::string_view variant,
              const Stream& stream);

std::optional<ImageOperation> image_operation(std::string_view rung);  // empty: no such rung
Rungs image_rungs();  // of both operations, in teaching order
// Throws usage, naming the rungs, unless there is such a rung or it is `automatic`.
bool image_takes(std::string_view variant, ImageOperation operation, Device device);

}  // namespace weft::kernels

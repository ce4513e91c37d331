// SPDX-License-Identifier: MIT
// One pixel of an image as a network sees it: copied or sampled, then normalised. What gather.cu
// and kernels that gather for themselves have in common, so that both make the same bits.
#pragma once

#include "kernels/batch/parts/draw.h"

namespace weft::kernels::cuda {

// The byte at (i, j), or background outside of the image.
__device__ __forceinline__ float pixel_at(const std::uint8_t* image, int i, int j, int height,
                                          int width) {
  const bool inside = i >= 0 && i < height && j >= 0 && j < width;
  return inside ? static_cast<float>(image[static_cast<std::int64_t>(i) * width + j]) : 0.0f;
}

// Bilinear, with background outside.
__device__ __forceinline__ float sample(const std::uint8_t* image, float y, float x, int height,
                                        int width) {
  // Beyond these limits everything is background; within them coordinates fit an int.
  x = fminf(fmaxf(x, -2.0f), static_cast<float>(width + 1));
  y = fminf(fmaxf(y, -2.0f), static_cast<float>(height + 1));
  const int j = static_cast<int>(x + 2.0f) - 2;  // floor, as x + 2 >= 0
  const int i = static_cast<int>(y + 2.0f) - 2;
  const float right = x - static_cast<float>(j), below = y - static_cast<float>(i);
  const float a = pixel_at(image, i, j, height, width);
  const float b = pixel_at(image, i, j + 1, height, width);
  const float c = pixel_at(image, i + 1, j, height, width);
  const float d = pixel_at(image, i + 1, j + 1, height, width);
  const float top = a + right * (b - a), bottom = c + right * (d - c);
  return top + below * (bottom - top);
}

// The pixel (i, j) of the distorted image, normalised.
__device__ __forceinline__ float distorted(const std::uint8_t* image, const draw::Affine& map,
                                           int i, int j, int height, int width,
                                           const draw::Line& line) {
  const float jf = static_cast<float>(j), rf = static_cast<float>(i);
  const float column = map.x0 + map.xj * jf + map.xi * rf;
  const float row = map.y0 + map.yj * jf + map.yi * rf;
  return draw::normalized(sample(image, row, column, height, width), line);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Launchers of rgb_to_grey_naive.cu, rgb_to_grey_vectorized.cu, box_blur_naive.cu and
// box_blur_tiled.cu; same parameters as the contracts in image.h.
#pragma once

#include "kernels/image/image.h"

namespace weft::kernels::cuda {

void rgb_to_grey_naive(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                       const Stream& stream);
void rgb_to_grey_vectorized(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                            const Stream& stream);
void box_blur_naive(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                    std::int64_t radius, const Stream& stream);
void box_blur_tiled(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                    std::int64_t radius, const Stream& stream);

}  // namespace weft::kernels::cuda

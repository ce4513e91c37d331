// SPDX-License-Identifier: MIT
// The functions behind image.h on a GPU: the launcher of a rung, which its file in rungs/ defines.
// Extents are positive.
#pragma once

#include "kernels/image/image.h"

namespace weft::kernels::cuda {

using GreyLauncher = void(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                          const Stream& stream);
using BlurLauncher = void(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                          std::int64_t radius, const Stream& stream);

}  // namespace weft::kernels::cuda

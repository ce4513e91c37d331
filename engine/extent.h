// SPDX-License-Identifier: MIT
// Extents that are cut into pieces of one size, on the host and on the device.
#pragma once

#if defined(__CUDACC__)
#define WEFT_HOST_DEVICE __host__ __device__
#else
#define WEFT_HOST_DEVICE
#endif

namespace weft {

// Pieces of `piece` that cover `extent` >= 0.
template <class Extent, class Piece>
WEFT_HOST_DEVICE constexpr auto divide_up(Extent extent, Piece piece) {
  return (extent + piece - 1) / piece;
}

// The smallest multiple of `piece` that is no less than `extent`.
template <class Extent, class Piece>
WEFT_HOST_DEVICE constexpr auto round_up(Extent extent, Piece piece) {
  return divide_up(extent, piece) * piece;
}

}  // namespace weft

// SPDX-License-Identifier: MIT
// Shapes and radii of the image kernels.
#pragma once

#include "kernels/image/problem.h"

namespace weft::cases {

// Around vectors of 16 pixels and blocks of 4096.
inline constexpr std::int64_t kGreyPixels[] = {1,  2,  3,  4,    5,    15,   16,   17,
                                               31, 32, 33, 4095, 4096, 4097, 9973, 100003};
inline constexpr std::int64_t kFewGreyPixels[] = {1, 17, 4097};

// Tiles are 16 x 32, patches 64 x 64, strips 64 rows. Radii from none to beyond the image.
inline constexpr problems::Blur kBlurCases[] = {
    {{1, 1, 1}, 0},     {{1, 1, 1}, 5},      {{1, 100, 1}, 3},    {{100, 1, 1}, 3},
    {{15, 31, 1}, 1},   {{16, 32, 1}, 1},    {{17, 33, 1}, 2},    {{16, 32, 3}, 1},
    {{33, 47, 3}, 3},   {{64, 64, 1}, 15},   {{65, 63, 1}, 16},   {{65, 129, 1}, 17},
    {{129, 65, 2}, 7},  {{130, 200, 1}, 40}, {{200, 70, 1}, 100}, {{37, 41, 4}, 1000},
    {{300, 301, 3}, 2},
};

inline constexpr problems::Blur kFewBlurCases[] = {
    {{1, 1, 1}, 5},
    {{17, 33, 1}, 2},
    {{33, 47, 3}, 3},
    {{65, 129, 1}, 7},
};

}  // namespace weft::cases

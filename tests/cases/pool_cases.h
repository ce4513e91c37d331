// SPDX-License-Identifier: MIT
// Shapes of the pooling kernels.
#pragma once

#include "kernels/pool/problem.h"

namespace weft::cases {

inline constexpr problems::Pool kPoolCases[] = {
    {{1, 1, 1, 1, 1, 1, 1, 1, 0, 0}},
    {{1, 1, 2, 2, 2, 2, 2, 2, 0, 0}},
    {{3, 2, 7, 9, 2, 2, 2, 2, 0, 0}},  // odd: a row and a column belong to no window
    {{2, 3, 66, 67, 2, 2, 2, 2, 0, 0}},
    {{64, 6, 28, 28, 2, 2, 2, 2, 0, 0}},   // lenet5 pool1
    {{32, 16, 10, 10, 2, 2, 2, 2, 0, 0}},  // lenet5 pool2
    {{4, 64, 24, 24, 2, 2, 2, 2, 0, 0}},   // convnet
    {{1, 2, 5, 6, 3, 2, 1, 1, 0, 0}},      // overlapping
    {{2, 1, 11, 13, 3, 3, 2, 2, 1, 1}},    // overlapping and padded
    {{1, 3, 10, 11, 2, 2, 3, 3, 0, 0}},    // gaps between windows
    {{1, 1, 9, 5, 9, 5, 1, 1, 0, 0}},      // the window is the image
    {{1, 1, 3, 3, 2, 2, 1, 1, 1, 1}},
    {{1, 2, 5, 6, 3, 3, std::int64_t{1} << 32, std::int64_t{1} << 40, 1, 1}},  // one window
    {{2, 2, 4, 31, 1, 7, 1, 5, 0, 3}},
    {{2, 3, 4, 4, 4, 4, 4, 4, 2, 2}},
    {{1, 1, 5, 5, 3, 3, 3, 1, 0, 1}},
    {{5, 1, 2, 2, 2, 2, 2, 2, 1, 0}},
    {{2, 2, 31, 52, 2, 2, 2, 2, 0, 0}},  // rows of whole vectors, an odd number of them
    {{1, 2, 56, 112, 3, 3, 2, 2, 1, 1}},
    {{2, 2, 41, 36, 3, 3, 2, 2, 1, 1}},
    {{1, 3, 112, 112, 3, 3, 2, 2, 0, 0}},
    {{3, 5, 14, 14, 3, 3, 2, 2, 0, 0}},
};

inline constexpr problems::Pool kFewPoolCases[] = {
    {{3, 2, 7, 9, 2, 2, 2, 2, 0, 0}},   {{2, 3, 66, 67, 2, 2, 2, 2, 0, 0}},
    {{2, 1, 11, 13, 3, 3, 2, 2, 1, 1}}, {{1, 3, 10, 11, 2, 2, 3, 3, 0, 0}},
    {{1, 1, 3, 3, 2, 2, 1, 1, 1, 1}},   {{2, 2, 4, 31, 1, 7, 1, 5, 0, 3}},
    {{2, 2, 31, 52, 2, 2, 2, 2, 0, 0}}, {{2, 2, 41, 36, 3, 3, 2, 2, 1, 1}},
    {{2, 2, 42, 36, 3, 3, 2, 2, 0, 0}},
};

// Padding of one side, as of a ceil_mode, and means over other counts.
inline constexpr problems::Pool kOneSidedPoolCases[] = {
    {{2, 3, 7, 8, 3, 3, 2, 2, 1, 1, 1, 1, kernels::PoolCount::padded}},
    {{1, 2, 6, 6, 3, 3, 2, 2, 0, 0, 1, 1, kernels::PoolCount::plane}},
    {{2, 2, 9, 8, 2, 3, 1, 2, 1, 1, -1, 0, kernels::PoolCount::plane}},
    {{1, 1, 5, 5, 3, 3, 1, 1, 1, 1, 0, 0, kernels::PoolCount::plane}},
    {{3, 1, 5, 7, 2, 2, 2, 2, 0, 0, 1, 1}},
    {{2, 5, 1, 1, 3, 3, 2, 2, 1, 1, 0, 0, kernels::PoolCount::padded}},
};

}  // namespace weft::cases

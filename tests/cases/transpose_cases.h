// SPDX-License-Identifier: MIT
// Shapes of matrices to transpose.
#pragma once

#include "kernels/transpose/problem.h"

namespace weft::cases {

// Around vectors of 4, tiles of 32 and 64, and blocks of 256 threads.
inline constexpr kernels::TransposeDims kTransposes[] = {
    {1, 1},   {1, 2},   {2, 1},    {3, 5},     {4, 4},   {1, 1000}, {1000, 1},
    {31, 33}, {32, 32}, {33, 31},  {32, 64},   {63, 65}, {64, 64},  {65, 63},
    {128, 4}, {4, 128}, {100, 36}, {129, 257}, {7, 999}, {997, 6},  {192, 320},
};
inline constexpr kernels::TransposeDims kFewTransposes[] = {{1, 1}, {33, 31}, {64, 64}, {68, 132}};

}  // namespace weft::cases

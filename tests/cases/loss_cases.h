// SPDX-License-Identifier: MIT
// Shapes of the mean squared error.
#pragma once

#include "kernels/loss/problem.h"

namespace weft::cases {

inline constexpr problems::MeanSquaredError kLossCases[] = {
    {1, 1}, {2, 3}, {7, 31}, {8, 32}, {9, 33}, {64, 10}, {1, 1009}, {257, 10}, {100, 784},
};

inline constexpr problems::MeanSquaredError kFewLossCases[] = {
    {2, 3}, {9, 33}, {1, 1009}, {100, 10}};

}  // namespace weft::cases

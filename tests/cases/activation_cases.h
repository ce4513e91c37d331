// SPDX-License-Identifier: MIT
// Shapes of the bias kernels; the activations themselves are one-dimensional.
#pragma once

#include "kernels/activation/problem.h"

namespace weft::cases {

inline constexpr problems::Bias kBiasCases[] = {
    {1, 1, 1},    {1, 1, 7},     {3, 5, 1},    {2, 3, 4},     {31, 33, 1}, {33, 31, 1},
    {17, 64, 1},  {16, 65, 1},   {129, 7, 3},  {5, 2, 9},     {4, 3, 31},  {4, 3, 32},
    {4, 3, 33},   {7, 1, 1009},  {64, 10, 1},  {256, 512, 1}, {64, 84, 1}, {1024, 10, 1},
    {64, 6, 784}, {32, 16, 100}, {8, 32, 676}, {1000, 1, 1},
};

inline constexpr problems::Bias kFewBiasCases[] = {
    {3, 5, 1}, {33, 31, 1}, {4, 3, 33}, {1, 2, 1009}, {256, 40, 1}, {16, 6, 100}, {300, 1, 1},
};

}  // namespace weft::cases

// SPDX-License-Identifier: MIT
// Shapes of batch normalisation.
#pragma once

#include "kernels/batch_norm/problem.h"

namespace weft::cases {

inline constexpr problems::BatchNorm kBatchNormCases[] = {
    {{2, 1, 1}},     {{1, 1, 2}},      {{3, 2, 5}},    {{5, 3, 9}},    {{33, 2, 1}},
    {{4, 3, 31}},    {{4, 3, 32}},     {{4, 3, 33}},   {{8, 16, 100}}, {{1, 3, 1009}},
    {{600, 2, 1}},   {{64, 6, 784}},   {{8, 32, 676}}, {{100, 3, 49}}, {{5000, 1, 3}},
    {{1, 2, 10007}}, {{3, 1, 300004}},
};

inline constexpr problems::BatchNorm kFewBatchNormCases[] = {
    {{2, 1, 1}}, {{5, 3, 9}}, {{4, 3, 33}}, {{600, 2, 1}}, {{8, 6, 100}}, {{100, 2, 49}},
};

}  // namespace weft::cases

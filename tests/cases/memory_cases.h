// SPDX-License-Identifier: MIT
// Offsets, strides and rows of the memory kernels; the courses plot bandwidth over the first two.
#pragma once

#include <ostream>

#include "kernels/memory/problem.h"

namespace weft::kernels {

inline std::ostream& operator<<(std::ostream& out, const Access& a) {
  return out << "offset " << a.offset << ", stride " << a.stride;
}

}  // namespace weft::kernels

namespace weft::cases {

inline constexpr kernels::Access kAccesses[] = {
    {0, 1}, {1, 1}, {2, 1}, {3, 1}, {7, 1}, {8, 1},  {16, 1}, {31, 1}, {32, 1},
    {0, 2}, {0, 3}, {0, 4}, {0, 7}, {0, 8}, {0, 16}, {0, 31}, {0, 32}, {5, 33},
};

inline constexpr kernels::Access kFewAccesses[] = {{0, 1}, {3, 1}, {0, 2}, {5, 33}};

inline constexpr int kSharedStrides[] = {1, 2, 3, 4, 5, 8, 16, 17, 31, 32, 33, 64, 1000003};
inline constexpr int kFewSharedStrides[] = {1, 32, 1000003};

inline constexpr problems::CopyRows kRowsCopyCases[] = {{1, 1},   {3, 31},  {8, 32},    {9, 33},
                                                        {7, 100}, {33, 65}, {100, 129}, {5, 4097}};

}  // namespace weft::cases

// SPDX-License-Identifier: MIT
// Shapes of the bias kernels; the activations themselves are one-dimensional.
#pragma once

#include <cstdint>
#include <ostream>

namespace weft::cases {

struct BiasCase {
  std::int64_t outer, channels, inner;

  std::int64_t elements() const { return outer * channels * inner; }
  double flops() const { return static_cast<double>(elements()); }
  double forward_bytes() const { return 8.0 * static_cast<double>(elements()); }
  double backward_bytes() const { return 4.0 * static_cast<double>(elements()); }
};

inline std::ostream& operator<<(std::ostream& out, const BiasCase& c) {
  return out << "(" << c.outer << ", " << c.channels << ", " << c.inner << ")";
}

inline constexpr BiasCase kBiasCases[] = {
    {1, 1, 1},    {1, 1, 7},     {3, 5, 1},    {2, 3, 4},     {31, 33, 1}, {33, 31, 1},
    {17, 64, 1},  {16, 65, 1},   {129, 7, 3},  {5, 2, 9},     {4, 3, 31},  {4, 3, 32},
    {4, 3, 33},   {7, 1, 1009},  {64, 10, 1},  {256, 512, 1}, {64, 84, 1}, {1024, 10, 1},
    {64, 6, 784}, {32, 16, 100}, {8, 32, 676}, {1000, 1, 1},
};

inline constexpr BiasCase kFewBiasCases[] = {
    {3, 5, 1}, {33, 31, 1}, {4, 3, 33}, {1, 2, 1009}, {256, 40, 1}, {16, 6, 100}, {300, 1, 1},
};

}  // namespace weft::cases

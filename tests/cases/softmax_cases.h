// SPDX-License-Identifier: MIT
// Shapes of the softmax kernels.
#pragma once

#include <cstdint>
#include <ostream>

namespace weft::cases {

struct RowsCase {
  std::int64_t rows, cols;

  std::int64_t elements() const { return rows * cols; }
  double flops() const { return 5.0 * static_cast<double>(elements()); }
  double bytes() const { return 8.0 * static_cast<double>(elements()); }
};

inline std::ostream& operator<<(std::ostream& out, const RowsCase& c) {
  return out << "(" << c.rows << ", " << c.cols << ")";
}

// Around every number of registers per lane of the warp kernel, and beyond it.
inline constexpr RowsCase kSoftmaxCases[] = {
    {1, 1},   {2, 2},   {7, 10},   {64, 10},  {257, 10}, {4000, 10}, {3, 31},   {3, 32},
    {9, 33},  {5, 64},  {5, 65},   {2, 127},  {2, 128},  {2, 129},   {3, 256},  {2, 257},
    {2, 512}, {2, 513}, {2, 1000}, {2, 1023}, {2, 1024}, {2, 1025},  {3, 4099}, {1, 50000},
};

}  // namespace weft::cases

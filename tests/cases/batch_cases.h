// SPDX-License-Identifier: MIT
// Data sets and batches for gather_batch.
#pragma once

#include <ostream>

#include "kernels/batch/batch.h"

namespace weft::cases {

struct BatchCase {
  std::int64_t count, height, width, batch;
  std::int64_t channels = 1;

  kernels::BatchDims dims() const { return {channels, height, width}; }
  std::int64_t pixels() const { return channels * height * width; }
  std::int64_t steps() const { return (count + batch - 1) / batch; }
  std::int64_t rows(std::int64_t step) const {
    const std::int64_t left = count - step % steps() * batch;
    return left < batch ? left : batch;
  }
};

inline std::ostream& operator<<(std::ostream& out, const BatchCase& c) {
  return out << c.count << " images of " << c.channels << "x" << c.height << "x" << c.width
             << ", batch " << c.batch;
}

inline constexpr BatchCase kBatchCases[] = {
    {1, 1, 1, 1},        {5, 3, 5, 2},    {17, 4, 4, 17},   {103, 28, 28, 16},
    {64, 28, 28, 64},    {33, 31, 33, 8}, {7, 1, 9, 3},     {300, 5, 7, 32},
    {40, 32, 32, 16, 3}, {9, 7, 5, 4, 3}, {11, 6, 9, 5, 2}, {6, 1, 3, 6, 4},
};

inline constexpr BatchCase kFewBatchCases[] = {
    {5, 3, 5, 2}, {17, 4, 4, 17}, {33, 31, 33, 8}, {9, 7, 5, 4, 3}, {6, 1, 3, 6, 4}};

}  // namespace weft::cases

// SPDX-License-Identifier: MIT
// Lengths of the reductions: around vector, block and chunk boundaries, and several chunks.
#pragma once

#include <cstdint>

#include "kernels/reduce/reduce.h"

namespace weft::cases {

struct ReduceCase {
  std::int64_t n;

  double flops() const { return kernels::reduce_flops(n); }
  double bytes(std::size_t element_bytes = 4) const {
    return kernels::reduce_bytes(n, element_bytes);
  }
};

inline constexpr ReduceCase kReduceCases[] = {
    {1},     {2},     {3},     {4},     {5},      {31},      {32},   {33},
    {127},   {1023},  {1024},  {1025},  {2047},   {2048},    {2049}, {32767},
    {32768}, {32769}, {65536}, {99991}, {300007}, {2200013},
};

inline constexpr ReduceCase kFewReduceCases[] = {{1}, {33}, {2049}, {99991}};

}  // namespace weft::cases

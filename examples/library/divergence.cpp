// SPDX-License-Identifier: MIT
// Squares the even elements of an array and cubes the odd ones.
#include <cstdio>
#include <numeric>
#include <vector>

#include "engine/tensor.h"
#include "kernels/divergence/divergence.h"

bool example(const weft::Stream& stream) {
  constexpr int kCount = 8;
  std::vector<std::int32_t> values(kCount);
  std::iota(values.begin(), values.end(), 0);
  weft::Tensor x = weft::tensor_from_host<std::int32_t>({kCount}, values, stream);

  std::int32_t* const words = x.data<std::int32_t>();
  weft::kernels::sq_or_cube(words, words, kCount, 1, weft::kernels::kAutomatic, stream);

  const std::vector<std::int32_t> powers = weft::to_host(x.view<std::int32_t>(), stream);
  bool right = true;
  for (int i = 0; i < kCount; ++i) {
    const std::int32_t power = powers[static_cast<std::size_t>(i)];
    std::printf(i + 1 < kCount ? "%d " : "%d\n", power);
    right = right && power == (i % 2 == 0 ? i * i : i * i * i);
  }
  return right;
}

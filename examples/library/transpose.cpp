// SPDX-License-Identifier: MIT
// Transposes a small matrix.
#include <cstdio>
#include <numeric>
#include <vector>

#include "engine/tensor.h"
#include "kernels/transpose/transpose.h"

bool example(const weft::Stream& stream) {
  constexpr std::int64_t kRows = 3, kCols = 5;
  std::vector<float> values(kRows * kCols);
  std::iota(values.begin(), values.end(), 0.0f);
  const weft::Tensor x = weft::tensor_from_host<float>({kRows, kCols}, values, stream);
  weft::Tensor y({kCols, kRows}, weft::DType::f32, stream);

  weft::kernels::transpose(y.data<float>(), x.data<float>(), {.rows = kRows, .cols = kCols},
                           weft::kernels::kAutomatic, stream);

  const std::vector<float> turned = weft::to_host(y.view<float>(), stream);
  bool right = true;
  for (std::size_t j = 0; j < kCols; ++j) {
    for (std::size_t i = 0; i < kRows; ++i) {
      std::printf(i + 1 < kRows ? "%3g" : "%3g\n", static_cast<double>(turned[j * kRows + i]));
      right = right && turned[j * kRows + i] == values[i * kCols + j];
    }
  }
  return right;
}

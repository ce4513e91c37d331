// SPDX-License-Identifier: MIT
// Normalises two channels over a batch, and learns the averages that inference uses.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/batch_norm/batch_norm.h"

bool example(const weft::Stream& stream) {
  constexpr weft::kernels::BatchNormDims kDims{.n = 4, .c = 2};
  const std::vector<float> values = {1, 100, 2, 200, 3, 300, 4, 400};  // (4, 2)
  const std::vector<float> ones = {1, 1}, zeros = {0, 0};
  const auto pair = [&](const std::vector<float>& both) {
    return weft::tensor_from_host<float>({2}, both, stream);
  };
  const weft::Tensor x = weft::tensor_from_host<float>({4, 2}, values, stream);
  const weft::Tensor gamma = pair(ones), beta = pair(zeros);
  weft::Tensor mean = pair(zeros), inv_std = pair(zeros), running_mean = pair(zeros);
  weft::Tensor running_var = pair(ones), y({4, 2}, weft::DType::f32, stream);

  weft::kernels::batch_norm_forward(y.data<float>(), mean.data<float>(), inv_std.data<float>(),
                                    running_mean.data<float>(), running_var.data<float>(),
                                    x.data<float>(), gamma.data<float>(), beta.data<float>(), 1e-5f,
                                    0.1f, kDims, stream);

  const std::vector<float> means = weft::to_host(mean.view<float>(), stream);
  const std::vector<float> result = weft::to_host(y.view<float>(), stream);
  std::printf("means %g and %g\n", means[0], means[1]);
  for (std::size_t i = 0; i < 4; ++i)
    std::printf("%7.4f %7.4f\n", result[2 * i], result[2 * i + 1]);
  // Both channels end up the same, whatever their scale was.
  bool same = means == std::vector<float>{2.5f, 250};
  for (std::size_t i = 0; i < 4; ++i) {
    same = same && std::abs(result[2 * i] - result[2 * i + 1]) < 1e-4f;
  }
  return same;
}

// SPDX-License-Identifier: MIT
// Max pooling, and how its gradient finds the way back to the elements that were largest.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/pool/pool.h"

bool example(const weft::Stream& stream) {
  constexpr weft::kernels::PoolDims kDims{.n = 1, .c = 1, .h = 4, .w = 4};  // windows of 2 x 2
  const std::vector<float> values = {1, 2, 0, 0, 3, 4, 0, 9, 5, 0, 1, 1, 0, 0, 1, 1};
  const weft::Tensor x = weft::tensor_from_host<float>({1, 1, 4, 4}, values, stream);
  weft::Tensor y({1, 1, 2, 2}, weft::DType::f32, stream);
  weft::Tensor argmax({1, 1, 2, 2}, weft::DType::i32, stream);
  weft::kernels::max_pool2d_forward(y.data<float>(), argmax.data<std::int32_t>(), x.data<float>(),
                                    kDims, stream);

  const std::vector<float> ones(4, 1.0f);
  const weft::Tensor dy = weft::tensor_from_host<float>({1, 1, 2, 2}, ones, stream);
  weft::Tensor dx({1, 1, 4, 4}, weft::DType::f32, stream);
  weft::kernels::max_pool2d_backward(dx.data<float>(), dy.data<float>(),
                                     argmax.data<std::int32_t>(), kDims,
                                     weft::kernels::GradientMode::overwrite, stream);

  const std::vector<float> largest = weft::to_host(y.view<float>(), stream);
  const std::vector<float> gradient = weft::to_host(dx.view<float>(), stream);
  std::printf("largest: %g %g %g %g\n", largest[0], largest[1], largest[2], largest[3]);
  for (std::size_t i = 0; i < 16; ++i) std::printf(i % 4 == 3 ? "%2g\n" : "%2g", gradient[i]);
  // The first of equal elements gets the gradient.
  const std::vector<float> expected = {0, 0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0};
  return largest == std::vector<float>{4, 9, 5, 1} && gradient == expected;
}

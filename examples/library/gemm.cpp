// SPDX-License-Identifier: MIT
// A matrix product with a bias and ReLU, all in one kernel: C = relu(A B^T + bias).
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/gemm/gemm.h"

bool example(const weft::Stream& stream) {
  // Two images of three pixels, and a layer of two neurons: one row of B for each.
  const std::vector<float> images = {1, 2, 3, 4, 5, 6}, weights = {1, 0, -1, 1, 1, 1};
  const std::vector<float> biases = {1, 0.5f};
  const weft::Tensor a = weft::tensor_from_host<float>({2, 3}, images, stream);
  const weft::Tensor b = weft::tensor_from_host<float>({2, 3}, weights, stream);
  const weft::Tensor bias = weft::tensor_from_host<float>({2}, biases, stream);
  weft::Tensor c({2, 2}, weft::DType::f32, stream);

  weft::kernels::gemm(c.data<float>(), a.data<float>(), b.data<float>(), bias.data<float>(),
                      {.m = 2, .n = 2, .k = 3, .transpose_b = true},
                      {.epilogue = weft::kernels::Epilogue::relu}, stream);

  const std::vector<float> result = weft::to_host(c.view<float>(), stream);
  std::printf("%g %g\n%g %g\n", result[0], result[1], result[2], result[3]);
  return result == std::vector<float>{0, 6.5f, 0, 15.5f};
}

// SPDX-License-Identifier: MIT
// The activation functions and their derivatives, which need only the result y.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/activation/activation.h"

bool example(const weft::Stream& stream) {
  using weft::kernels::Activation;
  const std::vector<float> inputs = {-2, -0.5f, 0, 0.5f, 2}, ones(5, 1.0f);
  const weft::Tensor x = weft::tensor_from_host<float>({5}, inputs, stream);
  const weft::Tensor dy = weft::tensor_from_host<float>({5}, ones, stream);
  weft::Tensor y({5}, weft::DType::f32, stream), dx({5}, weft::DType::f32, stream);
  bool right = true;
  for (const Activation kind : {Activation::relu, Activation::sigmoid, Activation::tanh}) {
    weft::kernels::activation_forward(y.data<float>(), x.data<float>(), 5, kind, stream);
    weft::kernels::activation_backward(dx.data<float>(), dy.data<float>(), y.data<float>(), 5, kind,
                                       weft::kernels::GradientMode::overwrite, stream);
    const std::vector<float> values = weft::to_host(y.view<float>(), stream);
    const std::vector<float> slopes = weft::to_host(dx.view<float>(), stream);
    for (std::size_t i = 0; i < 5; ++i) std::printf("%8.4f (slope %.4f)", values[i], slopes[i]);
    std::printf("\n");
    const float largest = kind == Activation::sigmoid ? 0.25f : 1.0f;  // slope, at 0 or above
    right = right && std::abs(slopes[kind == Activation::relu ? 4 : 2] - largest) < 1e-6f;
  }
  return right;
}

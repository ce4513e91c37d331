// SPDX-License-Identifier: MIT
// Probabilities from scores, then the loss, the gradient and the prediction in one kernel.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/softmax/softmax.h"

bool example(const weft::Stream& stream) {
  const std::vector<float> scores = {2, 1, 0, 1000, 1001, 1002};  // large ones do not overflow
  const std::vector<std::int32_t> truth = {0, 1};
  const weft::Tensor x = weft::tensor_from_host<float>({2, 3}, scores, stream);
  const weft::Tensor labels = weft::tensor_from_host<std::int32_t>({2}, truth, stream);
  weft::Tensor y({2, 3}, weft::DType::f32, stream), dx({2, 3}, weft::DType::f32, stream);
  weft::Tensor loss({2}, weft::DType::f32, stream), best({2}, weft::DType::i32, stream);

  weft::kernels::softmax_forward(y.data<float>(), x.data<float>(), 2, 3, stream);
  weft::kernels::softmax_cross_entropy(loss.data<float>(), dx.data<float>(),
                                       best.data<std::int32_t>(), x.data<float>(),
                                       labels.data<std::int32_t>(), 1, 2, 3, stream);

  const std::vector<float> p = weft::to_host(y.view<float>(), stream);
  const std::vector<float> losses = weft::to_host(loss.view<float>(), stream);
  const std::vector<float> gradient = weft::to_host(dx.view<float>(), stream);
  const std::vector<std::int32_t> answers = weft::to_host(best.view<std::int32_t>(), stream);
  bool right = answers == std::vector<std::int32_t>{0, 2};
  for (std::size_t row = 0; row < 2; ++row) {
    const float* q = p.data() + 3 * row;
    std::printf("%.4f %.4f %.4f  answer %d, loss %.4f\n", q[0], q[1], q[2], answers[row],
                losses[row]);
    // The gradient is the probability, less 1 at the true class.
    const std::size_t true_class = static_cast<std::size_t>(truth[row]);
    right = right && std::abs(q[0] + q[1] + q[2] - 1) < 1e-6f &&
            std::abs(gradient[3 * row + true_class] - (q[true_class] - 1)) < 1e-6f &&
            std::abs(losses[row] + std::log(q[true_class])) < 1e-5f;
  }
  return right;
}

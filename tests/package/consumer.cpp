// SPDX-License-Identifier: MIT
// Runs LeNet-5 forward through an installed Weft; exits 0 when the probabilities sum to one.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/softmax/softmax.h"
#include "layers/network/sequential.h"
#include "models/networks/networks.h"

int main() {
  const weft::Stream stream(weft::Device::cpu());
  const auto net = weft::models::make_network({});
  weft::layers::Weights weights(*net, stream);
  const std::vector<float> initial = net->initial_parameters(1);
  weft::copy_from_host(weights.parameters.view<float>(), std::span<const float>(initial), stream);

  weft::layers::Plan plan(*net, weights, 2, weft::layers::Phase::inference, {}, 1, nullptr, stream);
  const std::vector<float> image(2 * 28 * 28, 0.5f);
  weft::copy_from_host(plan.input(), std::span<const float>(image), stream);
  plan.forward(stream);

  std::vector<float> y(20);
  weft::kernels::softmax_forward(y.data(), plan.output().data, 2, 10, stream);
  double sum = 0;
  for (const float value : y) sum += value;
  std::printf("two rows of probabilities sum to %.6f\n", sum);
  return std::fabs(sum - 2) < 1e-5 ? 0 : 1;
}

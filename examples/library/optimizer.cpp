// SPDX-License-Identifier: MIT
// Finds the minimum of (w - 3)^2 by SGD with momentum. One graph replays the step, rate included.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/memory/memory.h"
#include "kernels/optimizer/optimizer.h"

bool example(const weft::Stream& stream) {
  constexpr std::int64_t kSteps = 200;
  const std::vector<float> rates(kSteps + 1, 0.05f), start = {0};
  const std::vector<float> target = {-3};
  const weft::Tensor lr = weft::tensor_from_host<float>({kSteps + 1}, rates, stream);
  const weft::Tensor minus_target = weft::tensor_from_host<float>({1}, target, stream);
  weft::Tensor w = weft::tensor_from_host<float>({1}, start, stream);
  weft::Tensor velocity = weft::tensor_from_host<float>({1}, start, stream);
  weft::Tensor gradient({1}, weft::DType::f32, stream), step({1}, weft::DType::i64, stream);
  weft::zero_bytes(step.raw(), step.bytes(), stream);

  const weft::Graph one_step(stream, [&] {
    // Half the gradient: w - 3. The rate is read from a table on the device, by the step.
    weft::kernels::vector_add(gradient.data<float>(), w.data<float>(), minus_target.data<float>(),
                              1, weft::kernels::kAutomatic, stream);
    weft::kernels::sgd_update(w.data<float>(), velocity.data<float>(), gradient.data<float>(), 1,
                              lr.data<float>(), step.data<std::int64_t>(), {.momentum = 0.9f},
                              stream);
    weft::kernels::advance_step(step.data<std::int64_t>(), stream);
  });
  for (std::int64_t i = 0; i < kSteps; ++i) one_step.launch();

  const float found = weft::to_host(w.view<float>(), stream)[0];
  std::printf("minimum at %.4f\n", found);
  return std::abs(found - 3) < 1e-2f;
}

// SPDX-License-Identifier: MIT
// Dropout: the mask is a function of seed and step, so forward and backward agree without
// storing it.
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/dropout/dropout.h"

bool example(const weft::Stream& stream) {
  constexpr std::int64_t kCount = 100'000;
  const std::vector<float> ones(kCount, 1.0f);
  const std::vector<std::int64_t> first_step = {0};
  const weft::Tensor x = weft::tensor_from_host<float>({kCount}, ones, stream);
  const weft::Tensor step = weft::tensor_from_host<std::int64_t>({1}, first_step, stream);
  weft::Tensor y({kCount}, weft::DType::f32, stream), dx({kCount}, weft::DType::f32, stream);
  const weft::kernels::DropoutKey key{.seed = 42, .step = step.data<std::int64_t>()};
  const weft::kernels::GradientMode overwrite = weft::kernels::GradientMode::overwrite;

  weft::kernels::dropout(y.data<float>(), x.data<float>(), kCount, 0.25f, key, overwrite, stream);
  weft::kernels::dropout(dx.data<float>(), x.data<float>(), kCount, 0.25f, key, overwrite, stream);

  const std::vector<float> kept = weft::to_host(y.view<float>(), stream);
  std::int64_t dropped = 0;
  double sum = 0;
  for (const float value : kept) {
    dropped += value == 0 ? 1 : 0;
    sum += static_cast<double>(value);
  }
  std::printf("%lld of %lld dropped, mean %.4f\n", static_cast<long long>(dropped),
              static_cast<long long>(kCount), sum / kCount);
  // What is left is scaled up, so that the mean stays; both masks are the same.
  return std::abs(sum / kCount - 1) < 0.01 && kept == weft::to_host(dx.view<float>(), stream);
}

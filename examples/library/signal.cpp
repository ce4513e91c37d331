// SPDX-License-Identifier: MIT
// Takes the noise out of a signal with a moving average over five samples.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/signal/signal.h"

bool example(const weft::Stream& stream) {
  constexpr std::int64_t kCount = 1000;
  std::vector<float> clean, noisy;
  for (int i = 0; i < kCount; ++i) {
    clean.push_back(std::sin(0.02f * static_cast<float>(i)));
    noisy.push_back(clean.back() + (i % 5 < 2 ? 0.3f : -0.2f));  // averages to 0 over 5 samples
  }
  const std::vector<float> filter(5, 0.2f);
  const weft::Tensor x = weft::tensor_from_host<float>({kCount}, noisy, stream);
  const weft::Tensor f = weft::tensor_from_host<float>({5}, filter, stream);
  weft::Tensor y({kCount}, weft::DType::f32, stream);

  weft::kernels::signal_convolve(y.data<float>(), x.data<float>(), f.data<float>(),
                                 {.width = kCount, .filter_width = 5}, {}, stream);

  const std::vector<float> smooth = weft::to_host(y.view<float>(), stream);
  float before = 0, after = 0;  // largest distance from the clean signal, away from the ends
  for (std::size_t i = 2; i + 2 < kCount; ++i) {
    before = std::max(before, std::abs(noisy[i] - clean[i]));
    after = std::max(after, std::abs(smooth[i] - clean[i]));
  }
  std::printf("noise %.4f before, %.4f after\n", before, after);
  return before > 0.29f && after < 0.002f;
}

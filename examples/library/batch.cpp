// SPDX-License-Identifier: MIT
// Draws a shuffled batch of images that live on the device as bytes, normalised on the way.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/batch/batch.h"

bool example(const weft::Stream& stream) {
  // Ten images of one pixel; image i has the grey value 20 i and the label i.
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> truth;
  for (int i = 0; i < 10; ++i) {
    pixels.push_back(static_cast<std::uint8_t>(20 * i));
    truth.push_back(i);
  }
  const weft::Tensor images = weft::tensor_from_host<std::uint8_t>({10, 1, 1}, pixels, stream);
  const weft::Tensor classes = weft::tensor_from_host<std::int32_t>({10}, truth, stream);
  weft::Tensor x({10, 1}, weft::DType::f32, stream), labels({10}, weft::DType::i32, stream);
  weft::Tensor step({1}, weft::DType::i64, stream);
  weft::zero_bytes(step.raw(), step.bytes(), stream);

  const weft::kernels::Normalization plain[] = {{.mean = 0, .stddev = 1}};
  weft::kernels::gather_batch(
      x.data<float>(), labels.data<std::int32_t>(), nullptr, images.data<std::uint8_t>(),
      classes.data<std::int32_t>(), 10, {1, 1, 1}, step.data<std::int64_t>(),
      {.count = 10, .steps = 1, .batch = 10, .shuffle = true, .seed = 7}, {}, plain, stream);

  const std::vector<float> values = weft::to_host(x.view<float>(), stream);
  std::vector<std::int32_t> order = weft::to_host(labels.view<std::int32_t>(), stream);
  bool right = !std::is_sorted(order.begin(), order.end());
  for (std::size_t i = 0; i < 10; ++i) {
    std::printf("%d:%.3f ", order[i], values[i]);
    const float pixel = 20 * static_cast<float>(order[i]) / 255;
    right = right && std::abs(values[i] - pixel) < 1e-6f;
  }
  std::printf("\n");
  std::sort(order.begin(), order.end());  // each image once
  for (int i = 0; i < 10; ++i) right = right && order[static_cast<std::size_t>(i)] == i;
  return right;
}

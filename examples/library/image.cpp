// SPDX-License-Identifier: MIT
// A picture in colour made grey and blurred, on bytes.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/image/image.h"

bool example(const weft::Stream& stream) {
  constexpr std::int64_t kSide = 9;
  std::vector<std::uint8_t> colours(3 * kSide * kSide);  // black, with one white pixel
  for (std::size_t c = 0; c < 3; ++c) colours[3 * (4 * kSide + 4) + c] = 255;
  const weft::Tensor rgb = weft::tensor_from_host<std::uint8_t>({kSide, kSide, 3}, colours, stream);
  weft::Tensor grey({kSide, kSide}, weft::DType::u8, stream);
  weft::Tensor blurred({kSide, kSide}, weft::DType::u8, stream);

  weft::kernels::rgb_to_grey(grey.data<std::uint8_t>(), rgb.data<std::uint8_t>(), kSide * kSide,
                             weft::kernels::kAutomatic, stream);
  weft::kernels::box_blur(blurred.data<std::uint8_t>(), grey.data<std::uint8_t>(),
                          {.height = kSide, .width = kSide}, 1, weft::kernels::kAutomatic, stream);

  const std::vector<std::uint8_t> pixels = weft::to_host(blurred.view<std::uint8_t>(), stream);
  int lit = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    std::printf((i + 1) % kSide == 0 ? "%3d\n" : "%3d", pixels[i]);
    lit += pixels[i] == 28 ? 1 : 0;  // a ninth of 255, in 3 x 3 pixels
  }
  return lit == 9 && pixels[0] == 0;
}

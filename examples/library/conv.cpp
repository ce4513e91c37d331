// SPDX-License-Identifier: MIT
// Finds the edges of a square with a convolution: a filter of Sobel, as in a CNN's first layer.
#include <cstdio>
#include <vector>

#include "engine/tensor.h"
#include "kernels/conv/conv.h"

bool example(const weft::Stream& stream) {
  constexpr weft::kernels::ConvDims kDims{
      .n = 1, .c = 1, .h = 8, .w = 8, .oc = 1, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1};
  std::vector<float> picture(64);
  for (std::size_t y = 2; y < 6; ++y) {
    for (std::size_t x = 2; x < 6; ++x) picture[8 * y + x] = 1;
  }
  const std::vector<float> sobel = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
  const weft::Tensor x = weft::tensor_from_host<float>({1, 1, 8, 8}, picture, stream);
  const weft::Tensor w = weft::tensor_from_host<float>({1, 1, 3, 3}, sobel, stream);
  weft::Tensor y({1, 1, kDims.oh(), kDims.ow()}, weft::DType::f32, stream);

  // Some variants need scratch memory, which the caller lends.
  const std::size_t bytes = weft::kernels::conv2d_workspace_bytes(weft::kernels::ConvPass::forward,
                                                                  kDims, {}, stream.device());
  const weft::Buffer scratch(bytes, stream);
  weft::kernels::conv2d_forward(y.data<float>(), x.data<float>(), w.data<float>(), nullptr, kDims,
                                weft::kernels::Epilogue::none, {}, {scratch.data(), bytes}, stream);

  const std::vector<float> edges = weft::to_host(y.view<float>(), stream);
  for (std::size_t i = 0; i < 64; ++i) std::printf(i % 8 == 7 ? "%3g\n" : "%3g", edges[i]);
  // Left edge positive, right edge negative, nothing inside.
  return edges[8 * 3 + 2] == 4 && edges[8 * 3 + 5] == -4 && edges[0] == 0;
}

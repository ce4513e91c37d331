// SPDX-License-Identifier: MIT
// Box blur, rung "naive": one thread per output adds up its window, byte by byte from memory.
//
// Neighbouring windows overlap almost wholly, and only the caches know: (2 radius + 1)^2 loads for
// each output.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/image/launchers.h"
#include "kernels/image/parts/grey.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    blur_naive_kernel(std::uint8_t* __restrict__ y, const std::uint8_t* __restrict__ x,
                      std::int64_t height, std::int64_t width, std::int64_t channels,
                      std::int64_t radius) {
  const std::int64_t row_bytes = width * channels;
  for (std::int64_t at = device::global_thread(); at < height * row_bytes;
       at += device::grid_threads()) {
    const std::int64_t row = at / row_bytes, in_row = at % row_bytes;
    const std::int64_t column = in_row / channels, channel = in_row % channels;
    const std::int64_t top = max(row - radius, std::int64_t{0});
    const std::int64_t bottom = min(row + radius, height - 1);
    const std::int64_t left = max(column - radius, std::int64_t{0});
    const std::int64_t right = min(column + radius, width - 1);
    std::uint64_t sum = 0;
    for (std::int64_t i = top; i <= bottom; ++i) {
      const std::uint8_t* in = x + i * row_bytes + channel;
      std::uint32_t row_sum = 0;  // rows are shorter than 2^24 pixels
      for (std::int64_t j = left; j <= right; ++j) row_sum += in[j * channels];
      sum += row_sum;
    }
    const std::int64_t count = (bottom - top + 1) * (right - left + 1);
    y[at] = image::mean_of(sum, static_cast<std::uint64_t>(count));
  }
}

}  // namespace

void box_blur_naive(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                    std::int64_t radius, const Stream& stream) {
  launch(blur_naive_kernel, Launch{blocks_for(dims.elements(), kThreads), kThreads, 0, stream}, y,
         x, dims.height, dims.width, dims.channels, radius);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// RGB to grey, rung "naive": one thread per pixel, three loads of a byte 3 bytes apart.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/image/launchers.h"
#include "kernels/image/parts/grey.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    grey_naive_kernel(std::uint8_t* __restrict__ grey, const std::uint8_t* __restrict__ rgb,
                      std::int64_t pixels) {
  for (std::int64_t i = device::global_thread(); i < pixels; i += device::grid_threads()) {
    grey[i] = image::grey_of(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
  }
}

}  // namespace

void rgb_to_grey_naive(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                       const Stream& stream) {
  launch(grey_naive_kernel, Launch{blocks_for(pixels, kThreads), kThreads, 0, stream}, grey, rgb,
         pixels);
}

}  // namespace weft::kernels::cuda

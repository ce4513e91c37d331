// SPDX-License-Identifier: MIT
// RGB to grey, rung "vectorized": 16 pixels per thread, three loads and one store of 16 bytes.
//
//   bytes    RGBR GBRG BRGB | RGBR GBRG BRGB | ...    12 bytes are 3 words and 4 pixels
//
// The vectors need both pointers aligned to 16 bytes; without that, and for the last pixels, a
// thread takes its pixels one by one.
#include "engine/launch.h"
#include "kernels/device/vector.cuh"
#include "kernels/image/launchers.h"
#include "kernels/image/parts/grey.h"

namespace weft::kernels::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kPixels = 16;

// Four pixels of three words, as one word.
__device__ __forceinline__ std::uint32_t grey4(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t p0 = image::grey_of(a & 255, a >> 8 & 255, a >> 16 & 255);
  const std::uint32_t p1 = image::grey_of(a >> 24, b & 255, b >> 8 & 255);
  const std::uint32_t p2 = image::grey_of(b >> 16 & 255, b >> 24, c & 255);
  const std::uint32_t p3 = image::grey_of(c >> 8 & 255, c >> 16 & 255, c >> 24);
  return p0 | p1 << 8 | p2 << 16 | p3 << 24;
}

__global__ void __launch_bounds__(kThreads)
    grey_vectorized_kernel(std::uint8_t* __restrict__ grey, const std::uint8_t* __restrict__ rgb,
                           std::int64_t pixels) {
  const bool aligned = device::is_aligned(grey, 16) && device::is_aligned(rgb, 16);
  const std::int64_t step = kPixels * device::grid_threads();
  for (std::int64_t i = kPixels * device::global_thread(); i < pixels; i += step) {
    if (aligned && i + kPixels <= pixels) {
      const uint4* in = reinterpret_cast<const uint4*>(rgb + 3 * i);
      const uint4 a = in[0], b = in[1], c = in[2];
      *reinterpret_cast<uint4*>(grey + i) = {grey4(a.x, a.y, a.z), grey4(a.w, b.x, b.y),
                                             grey4(b.z, b.w, c.x), grey4(c.y, c.z, c.w)};
      continue;
    }
    const std::int64_t end = min(i + kPixels, pixels);
    for (std::int64_t p = i; p < end; ++p) {
      grey[p] = image::grey_of(rgb[3 * p], rgb[3 * p + 1], rgb[3 * p + 2]);
    }
  }
}

}  // namespace

void rgb_to_grey_vectorized(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels,
                            const Stream& stream) {
  launch(grey_vectorized_kernel,
         Launch{blocks_for(pixels, kPixels * kThreads), kThreads, 0, stream}, grey, rgb, pixels);
}

}  // namespace weft::kernels::cuda

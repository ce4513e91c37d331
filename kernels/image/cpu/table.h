// SPDX-License-Identifier: MIT
// The CPU kernels of this family, one table per instruction set.
#pragma once

#include "kernels/image/image.h"
#include "kernels/isa.h"

namespace weft::kernels {

// Output rows that share one sweep of running sums on the CPU.
constexpr std::int64_t kBlurStrip = 64;

struct ImageCpu {
  void (*rgb_to_grey)(std::uint8_t* grey, const std::uint8_t* rgb, std::int64_t pixels);
  void (*box_blur_naive)(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                         std::int64_t radius);
  // `sums` has width * channels values for each strip of kBlurStrip rows.
  void (*box_blur_running_sums)(std::uint8_t* y, const std::uint8_t* x, const ImageDims& dims,
                                std::int64_t radius, std::uint32_t* sums);
};

WEFT_DECLARE_CPU_TABLE(ImageCpu, image_cpu)

}  // namespace weft::kernels

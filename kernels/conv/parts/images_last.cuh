// SPDX-License-Identifier: MIT
// Images as implicit_gemm_wgmma reads them for backward weights, where the sum runs over pixels and
// images: at each pixel the images of a batch are contiguous, 128 bytes of them.
//
//   (groups, copies, channels, height, width, 32)    fp32; in bf16, for that mode, 64
//
// Images that the last group lacks are 0. Numbers are not rounded to tf32 here: the copy engine
// does that. For fp32 accuracy they are halves (device/halves.cuh) of 32 images, scaled together,
// as channels_last.cuh tells: dy as images are there, in one copy, and x as filters are, in two.
#pragma once

#include "kernels/conv/parts/channel_blocks.cuh"
#include "kernels/conv/parts/largest.cuh"

namespace weft::kernels::cuda {

struct BatchImages {
  std::int64_t channels = 0, height = 0, width = 0;
  ComputeMode mode = ComputeMode::fp32;
  bool second = false;  // x, not dy

  std::int64_t copies() const { return mode == ComputeMode::fp32 && second ? 2 : 1; }
  std::int64_t group() const { return mode == ComputeMode::bf16 ? 64 : 32; }  // images
  std::int64_t pixels() const { return channels * height * width; }  // of an image, in all channels
  std::int64_t group_bytes() const { return copies() * pixels() * 128; }
};

struct BatchPacking {
  void* to = nullptr;
  const float* x = nullptr;  // (images, channels, height, width)
  std::int64_t images = 0;
  BatchImages layout = {};
  const std::uint32_t* largest = nullptr;  // of halves, which find_largest() has found
};

// One launch for dy and x, which have the same mode; a kernel that is launched with overlap may
// follow.
void pack_batch(const BatchPacking& dy, const BatchPacking& x, const Stream& stream);

}  // namespace weft::kernels::cuda

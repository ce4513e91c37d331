// SPDX-License-Identifier: MIT
// Images as implicit_gemm_wgmma reads them for backward weights, where the sum runs over pixels and
// images: at each pixel the images of a batch are contiguous, 128 bytes of them.
//
//   (groups, parts, channels, height, width, 32)    fp32; in bf16, for that mode, 64
//
// Images that the last group lacks are 0. Numbers are not rounded to tf32 here: the copy engine
// does that. For fp32 accuracy there are two parts: what tf32 keeps, and what it leaves.
#pragma once

#include "kernels/conv/parts/channel_blocks.cuh"

namespace weft::kernels::cuda {

struct BatchImages {
  std::int64_t channels = 0, height = 0, width = 0;
  ComputeMode mode = ComputeMode::fp32;

  std::int64_t parts() const { return mode == ComputeMode::fp32 ? 2 : 1; }
  std::int64_t group() const { return mode == ComputeMode::bf16 ? 64 : 32; }  // images
  std::int64_t pixels() const { return channels * height * width; }  // of an image, in all channels
  std::int64_t group_bytes() const { return parts() * pixels() * 128; }
};

struct BatchPacking {
  void* to = nullptr;
  const float* x = nullptr;  // (images, channels, height, width)
  std::int64_t images = 0;
  BatchImages layout = {};
};

// One launch for both, which have the same mode; a kernel that is launched with overlap may follow.
void pack_batch(const BatchPacking& first, const BatchPacking& second, const Stream& stream);

}  // namespace weft::kernels::cuda

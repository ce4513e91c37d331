// SPDX-License-Identifier: MIT
// The stem: a convolution of images of one channel, 3 x 3 without padding, under ReLU. Its output x
// is 32 times its image in a layer of 32 channels, so the passes of conv_relu_pool on wgmma compute
// what they need of x and read the image alone. sm_90a.
#pragma once

#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/conv_relu_pool/parts/wgmma.h"

namespace weft::kernels::cuda {

constexpr int kStemFloats = kPoolTaps + 1;  // of a channel: its taps, and its bias

// In place of ImageSource: x = max(0, the stem of images).
struct StemSource {
  static constexpr bool kStaged = true;  // load_cells() reads weights that stage() has written

  ReluPoolStem stem;
  int channels, height, width;  // of x

  __device__ int image_width() const { return width + kPoolKernel - 1; }
  __device__ int image_floats() const { return (height + kPoolKernel - 1) * image_width(); }
  __device__ void prefetch(std::int64_t image) const {
    device::prefetch(stem.image + image * image_floats(), image_floats());
  }
  // Tap `tap` of a channel, or behind the taps its bias; 0 where there is no such channel.
  __device__ float weight(int channel, int tap) const {
    if (channel >= channels) return 0;
    if (tap < kPoolTaps) return __ldg(stem.w + channel * kPoolTaps + tap);
    return stem.bias != nullptr ? __ldg(stem.bias + channel) : 0.0f;
  }
  // Writes the weights of `count` channels from channel0 on, (quad, tap, channel). All threads of
  // a block call it, and a barrier must follow.
  template <CellType kType>
  __device__ void stage(float* to, int channel0, int count) const {
    constexpr int kChannels = kQuadChannels<kType>;
    for (int i = threadIdx.x; i < count * kStemFloats; i += blockDim.x) {
      const int channel = i / (kStemFloats * kChannels) * kChannels + i % kChannels;
      to[i] = weight(channel0 + channel, i / kChannels % kStemFloats);
    }
  }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// As load_cells() of an ImageSource. `staged`: the weights of channel0 and those behind it.
template <CellType kType, int kRows, int kPitch, int kProducers, int, int kParts, int kPlanes>
__device__ __forceinline__ void load_cells(uint4* slot, const StemSource& source,
                                           const float* staged, std::int64_t image, int, int row0,
                                           int column0, int shift) {
  constexpr int kPixels = kRows * kPitch, kChannels = kQuadChannels<kType>;
  constexpr int kUnits = 3;                     // pixels of a thread at a time
  constexpr int kLanes = kProducers / kPlanes;  // whole warps own a plane
  static_assert(kLanes % 32 == 0);
  const int plane_index = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  staged += plane_index * kStemFloats * kChannels;
  slot += plane_index * kPixels;
  const float* pixels = device::opaque(source.stem.image + image * source.image_floats());
  for (int first = lane; first < kPixels; first += kLanes * kUnits) {
    float window[kUnits][kPoolTaps];
    bool inside[kUnits];
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      const int pixel = first + kLanes * k;
      const int row = row0 + pixel / kPitch, column = column0 + pixel % kPitch;
      inside[k] = pixel < kPixels &&
                  static_cast<unsigned>(row) < static_cast<unsigned>(source.height) &&
                  static_cast<unsigned>(column) < static_cast<unsigned>(source.width);
      const float* from = pixels + (inside[k] ? row * source.image_width() + column : 0);
#pragma unroll
      for (int r = 0; r < kPoolKernel; ++r, from += source.image_width()) {
#pragma unroll
        for (int s = 0; s < kPoolKernel; ++s) window[k][r * kPoolKernel + s] = __ldg(from + s);
      }
    }
    float value[kUnits][kChannels];
    // Sums in the order of the convolution "direct", so that x has the same bits.
#pragma unroll
    for (int t = 0; t < kStemFloats; ++t) {
      const int tap = t == 0 ? kPoolTaps : t - 1;
#pragma unroll
      for (int c = 0; c < kChannels; c += 4) {
        const auto w = *reinterpret_cast<const float4*>(staged + tap * kChannels + c);
        const float weight[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
        for (int k = 0; k < kUnits; ++k) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            float& sum = value[k][c + i];
            sum = t == 0 ? weight[i] : fmaf(window[k][tap], weight[i], sum);
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < kUnits; ++k) {
      const int pixel = first + kLanes * k;
      if (pixel >= kPixels) break;
#pragma unroll
      for (float& v : value[k]) {
        if (v < 0 || !inside[k]) v = 0;  // keeps NaN
      }
      store_quad<kType, kParts == 2>(slot + pixel, kPlanes * kPixels, value[k], shift);
    }
  }
}

#endif

}  // namespace weft::kernels::cuda

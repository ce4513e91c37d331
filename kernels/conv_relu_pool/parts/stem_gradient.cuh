// SPDX-License-Identifier: MIT
// The gradient of the stem (stem.cuh), from the sums of the data gradient of conv_relu_pool, which
// are dx before the mask of ReLU. dx is not stored: a thread has two channels of some pixels in
// registers, computes x of these pixels for the mask, and adds dx times their windows of the image.
// sm_90a.
#pragma once

#include "kernels/conv_relu_pool/parts/stem.cuh"
#include "kernels/conv_relu_pool/parts/wgmma_data.cuh"
#include "kernels/device/warp.cuh"

namespace weft::kernels::cuda::pool_data {

constexpr int kWarpChannels = 16;  // of the product, whose fragments give a thread two of them
// Shared memory for the sums of a warp and of all, behind which lie the images.
constexpr int kStemWarpFloats = kWarpChannels * kStemFloats;
constexpr int kStemStagedFloats = kStemWarpFloats * kConsumers * kWarpgroup / 32;
static_assert(4 * kStemStagedFloats + kStemImages * kMostStemBytes <= kStagedBytes);

struct StemPlan {
  StemSource source;
  float* partials;  // (blocks, channels taps, then channels biases)
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Registers of the threads: 128 on average.
constexpr int kStemConsumer = 144, kStemProducer = 80;

template <bool kPaired>
struct StemSums {
  float weight[2][kStemFloats];    // of this thread's channels: taps, bias
  float sum[2][kStemFloats] = {};  // their gradients

  __device__ __forceinline__ static int parity() {
    return kPaired ? static_cast<int>(threadIdx.x % kWarpgroup) / 64 : 0;
  }
  // The first channel of this warp in its block's.
  __device__ __forceinline__ static int warp_channel(int warp) {
    return kWarpChannels * (kPaired ? warp % 2 : warp % 4);
  }

  __device__ __forceinline__ StemSums(const StemSource& source, int channel0) {
    const int warp = static_cast<int>(threadIdx.x) / 32, group = threadIdx.x % 32 / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int t = 0; t < kStemFloats; ++t) {
        weight[half][t] = source.weight(channel0 + warp_channel(warp) + group + 8 * half, t);
      }
    }
  }

  // Adds what a tile of `image` gives, of which `of_product` are this thread's sums. `places` are
  // those of its warpgroup's pixels in the image.
  __device__ __forceinline__ void add(const float (&of_product)[kN / 2], const DataPlan& p,
                                      const StemSource& source, const float* image,
                                      const int* places, int row0) {
    const int width = source.image_width(), rows = min(p.tile_rows, p.height - row0) - parity();
    const auto limit = static_cast<unsigned>(max(rows, 0) * width);
    const float* pixels = image + (row0 + parity()) * width;
    places += 2 * (threadIdx.x % 4);
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      const int2 at = *reinterpret_cast<const int2*>(places + 8 * j);
      const bool there[2] = {static_cast<unsigned>(at.x) < limit,
                             static_cast<unsigned>(at.y) < limit};
      float window[kPoolKernel][kPoolKernel + 1];  // of both pixels
      const float* from = pixels + (there[0] ? at.x : 0);
#pragma unroll
      for (int r = 0; r < kPoolKernel; ++r, from += width) {
        const auto left = *reinterpret_cast<const float2*>(from);
        const auto right = *reinterpret_cast<const float2*>(from + 2);
        window[r][0] = left.x, window[r][1] = left.y, window[r][2] = right.x;
        window[r][3] = there[1] ? right.y : 0.0f;  // nothing behind the last row, maybe
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float x = weight[half][kPoolTaps];
#pragma unroll
          for (int t = 0; t < kPoolTaps; ++t) {
            x = fmaf(window[t / kPoolKernel][t % kPoolKernel + e], weight[half][t], x);
          }
          const float dx = there[e] && x > 0 ? of_product[4 * j + 2 * half + e] : 0.0f;
#pragma unroll
          for (int t = 0; t < kPoolTaps; ++t) {
            sum[half][t] = fmaf(dx, window[t / kPoolKernel][t % kPoolKernel + e], sum[half][t]);
          }
          sum[half][kPoolTaps] += dx;
        }
      }
    }
  }

  // Stores the sums of this warp, (kWarpChannels, kStemFloats).
  __device__ __forceinline__ void store(float* to) const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int t = 0; t < kStemFloats; ++t) {
        float total = sum[half][t];
        total += __shfl_xor_sync(0xffffffff, total, 1);
        total += __shfl_xor_sync(0xffffffff, total, 2);
        if (lane % 4 == 0) to[(lane / 4 + 8 * half) * kStemFloats + t] = total;
      }
    }
  }

  // Adds the sums of the block's warps, which `staged` has, and stores them as a row of partial
  // sums. All threads of the block call it.
  __device__ __forceinline__ static void store_partials(const float* staged, const StemPlan& stem,
                                                        std::int64_t block, int channel0) {
    const int channels = min(stem.source.channels - channel0, kPaired ? 32 : kTensorRows);
    float* partial = stem.partials + block * stem.source.channels * kStemFloats;
    for (int i = threadIdx.x; i < channels * kStemFloats; i += kThreads) {
      const int channel = i / kStemFloats, t = i % kStemFloats;
      float total = 0;
      for (int warp = 0; warp < kConsumers * kWarpgroup / 32; ++warp) {
        const int row = channel - warp_channel(warp);
        if (row < 0 || row >= kWarpChannels) continue;
        total += staged[warp * kStemWarpFloats + row * kStemFloats + t];
      }
      const int to = channel0 + channel;
      partial[t < kPoolTaps ? to * kPoolTaps + t : stem.source.channels * kPoolTaps + to] = total;
    }
  }
};

#endif

}  // namespace weft::kernels::cuda::pool_data

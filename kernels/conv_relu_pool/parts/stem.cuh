// SPDX-License-Identifier: MIT
// The stem: a convolution of images of one channel, 3 x 3 without padding, under ReLU. Its output x
// is 32 times its image in a layer of 32 channels, so the passes of conv_relu_pool on wgmma compute
// what they need of x and read the image alone. The copy engine brings it one tile ahead. sm_90a.
#pragma once

#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/conv_relu_pool/parts/wgmma.h"
#include "kernels/conv_relu_pool/parts/window_max.cuh"
#include "kernels/device/tma.cuh"

namespace weft::kernels::cuda {

constexpr int kStemFloats = kPoolTaps + 1;  // of a channel: its taps, and its bias
constexpr int kStemImages = 2;              // of a block in shared memory at a time

struct StemSource {
  ReluPoolStem stem;
  int channels, height, width;  // of x

  __device__ int image_width() const { return width + kPoolKernel - 1; }
  __device__ int image_floats() const { return (height + kPoolKernel - 1) * image_width(); }
  // One thread asks for an image that is copied later.
  __device__ void prefetch(std::int64_t image) const {
    device::prefetch(stem.image + image * image_floats(), image_floats());
  }
  // Tap `tap` of a channel, or behind the taps its bias; 0 where there is no such channel.
  __device__ float weight(int channel, int tap) const {
    if (channel >= channels) return 0;
    if (tap < kPoolTaps) return __ldg(stem.w + channel * kPoolTaps + tap);
    return stem.bias != nullptr ? __ldg(stem.bias + channel) : 0.0f;
  }
};

// Shared memory of a block for the images, and for the weights of so many channels. Behind the last
// image one float may be read: of a pair of pixels whose second one is outside. It is not used.
constexpr std::int64_t kStemSlack = 16;
constexpr std::int64_t stem_bytes(const ReluPoolDims& dims, std::int64_t channels) {
  const std::int64_t width = dims.conv.w + kPoolKernel - 1;
  const std::int64_t floats = (dims.conv.h + kPoolKernel - 1) * width;
  return 4 * (channels * kStemFloats + kStemImages * floats) + kStemSlack;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The images of a block's tiles. The thread that copies has one of these, and so has each thread
// that reads.
class StemImages {
 public:
  __device__ StemImages(const StemSource& source, float* images, SlotBarriers* barriers)
      : source_(source), images_(images), barriers_(barriers) {}

  // One thread calls it; a barrier of the block must follow.
  __device__ static void prepare(SlotBarriers* barriers, int readers) {
    SlotRing::prepare(barriers, kStemImages, 1, readers, 1);
  }
  // One thread calls it, once for each tile.
  __device__ void copy(std::int64_t image) {
    device::barrier_wait(barriers_->empty + slot(), parity() ^ 1);
    const int floats = source_.image_floats(), bytes = 4 * floats;
    std::uint64_t* full = barriers_->full + slot();
    device::barrier_expect(full, bytes);
    device::bulk_load(images_ + slot() * floats, source_.stem.image + image * floats, bytes, full);
    ++turn_;
  }
  // Readers: the image of the next tile, until done().
  __device__ const float* next() const {
    device::barrier_wait(barriers_->full + slot(), parity());
    return images_ + slot() * source_.image_floats();
  }
  __device__ void done() {
    device::barrier_arrive(barriers_->empty + slot());
    ++turn_;
  }

 private:
  __device__ int slot() const { return static_cast<int>(turn_ % kStemImages); }
  __device__ std::uint32_t parity() const { return turn_ / kStemImages % 2; }

  const StemSource& source_;
  float* images_;
  SlotBarriers* barriers_;
  unsigned turn_ = 0;
};

// As load_cells(), of a tile's image; `weights` begin at the first channel of the cells.
template <CellType kType, int kRows, int kPitch, int kProducers, int kParts, int kPlanes>
__device__ __forceinline__ void load_stem_cells(uint4* slot, const StemSource& source,
                                                const float* image, const float* weights, int row0,
                                                int column0, int shift) {
  constexpr int kPixels = kRows * kPitch, kChannels = kQuadChannels<kType>;
  constexpr int kPairs = 2;                     // of neighbouring pixels, of a thread at a time
  constexpr int kLanes = kProducers / kPlanes;  // whole warps own a plane
  static_assert(kLanes % 32 == 0 && kPitch % 2 == 0);
  const int plane_index = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  weights += plane_index * kStemFloats * kChannels;
  slot += plane_index * kPixels;
  for (int first = lane; first < kPixels / 2; first += kLanes * kPairs) {
    bool inside[kPairs][2];
    int from[kPairs];  // where in the image the windows of a pair begin, which have 4 columns
#pragma unroll
    for (int k = 0; k < kPairs; ++k) {
      const int pair = first + kLanes * k;
      const int row = row0 + pair / (kPitch / 2), column = column0 + pair % (kPitch / 2) * 2;
      const bool in_row =
          pair < kPixels / 2 && static_cast<unsigned>(row) < static_cast<unsigned>(source.height);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        inside[k][i] =
            in_row && static_cast<unsigned>(column + i) < static_cast<unsigned>(source.width);
      }
      // Where one pixel of a pair is outside, the other one may read what is not its own.
      const int at = row * source.image_width() + column;
      from[k] = inside[k][0] || inside[k][1] ? at : 0;
    }
    float value[kPairs][2][kChannels];
    // Sums in the order of the convolution "direct", so that x has the same bits.
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
#pragma unroll
      for (int k = 0; k < 2 * kPairs; ++k) {
        value[k / 2][k % 2][c] = weights[kPoolTaps * kChannels + c];
      }
    }
#pragma unroll
    for (int r = 0; r < kPoolKernel; ++r) {
      float window[kPairs][kPoolKernel + 1];
#pragma unroll
      for (int k = 0; k < kPairs; ++k, from[k - 1] += source.image_width()) {
#pragma unroll
        for (int s = 0; s <= kPoolKernel; ++s) window[k][s] = image[from[k] + s];
      }
#pragma unroll
      for (int s = 0; s < kPoolKernel; ++s) {
#pragma unroll
        for (int c = 0; c < kChannels; c += 4) {
          const int at = (r * kPoolKernel + s) * kChannels + c;
          const auto w = *reinterpret_cast<const float4*>(weights + at);
          const float weight[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
          for (int k = 0; k < 2 * kPairs; ++k) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              float& sum = value[k / 2][k % 2][c + i];
              sum = fmaf(window[k / 2][s + k % 2], weight[i], sum);
            }
          }
        }
      }
    }
#pragma unroll
    for (int k = 0; k < 2 * kPairs; ++k) {
      const int pair = first + kLanes * (k / 2);
      if (pair >= kPixels / 2) break;
      float(&of_pixel)[kChannels] = value[k / 2][k % 2];
#pragma unroll
      for (float& v : of_pixel) v = inside[k / 2][k % 2] ? max_or_nan(v, 0) : 0;
      store_quad<kType, kParts == 2>(slot + 2 * pair + k % 2, kPlanes * kPixels, of_pixel, shift);
    }
  }
}

// As ImageCells.
class StemCells {
 public:
  using Source = StemSource;

  // `shared`: stem_bytes(), for the weights of `channels` channels from channel0 on.
  __device__ StemCells(const StemSource& source, float* shared, SlotBarriers* barriers,
                       int channel0, int channels)
      : source_(source),
        weights_(shared),
        channel0_(channel0),
        channels_(channels),
        barriers_(barriers),
        copies_(source, shared + channels * kStemFloats, barriers),
        images_(copies_) {}

  // Weights are (quad, tap, channel).
  template <CellType kType, int kProducers>
  __device__ void prepare() const {
    if (threadIdx.x == 0) StemImages::prepare(barriers_, kProducers);
    constexpr int kChannels = kQuadChannels<kType>;
    for (int i = threadIdx.x; i < channels_ * kStemFloats; i += blockDim.x) {
      const int channel = i / (kStemFloats * kChannels) * kChannels + i % kChannels;
      weights_[i] = source_.weight(channel0_ + channel, i / kChannels % kStemFloats);
    }
  }
  __device__ void start(int image) {
    if (threadIdx.x == 0) copies_.copy(image);
    __syncwarp();
  }
  __device__ void begin(const TilePlace&, const TilePlace& next, bool more) {
    if (threadIdx.x == 0 && more) copies_.copy(next.image);
    __syncwarp();  // or its loop would keep the first thread apart from its warp
    image_ = images_.next();
  }
  template <CellType kType, int kRows, int kPitch, int kProducers, int, int kParts, int kPlanes>
  __device__ __forceinline__ void load(uint4* slot, int channel0, int row0, int column0,
                                       int shift) const {
    load_stem_cells<kType, kRows, kPitch, kProducers, kParts, kPlanes>(
        slot, source_, image_, weights_ + (channel0 - channel0_) * kStemFloats, row0, column0,
        shift);
  }
  __device__ void end() { images_.done(); }

 private:
  const StemSource& source_;
  float* weights_;
  int channel0_, channels_;
  SlotBarriers* barriers_;
  StemImages copies_, images_;
  const float* image_ = nullptr;
};

#else

struct StemCells {
  using Source = StemSource;
};

#endif

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// What the convolutions on wgmma share: tiles of images in a ring of slots in shared memory.
// sm_90a.
//
// A slot has cells (channel_blocks.cuh) of a tile's pixels, with the border that its windows read,
// as four planes of quads. A plane is an operand of wgmma from any pixel on: the window's tap (r,
// s) is the same operand r rows and s pixels further, so no window is ever copied.
//
//     quads of plane 0    p0 p1 p2 ...       8 neighbours are a core matrix (128 bytes); the next
//     quads of plane 1    p0 p1 p2 ...       one along the tile may be at any stride
//
// For fp32 accuracy a cell has 16 channels in halves (device/halves.cuh): two planes of big quads,
// and behind them two of small ones.
//
// One or two warpgroups produce: they read NCHW, 32 neighbouring pixels at a time, round, and store
// quads. The others consume. A barrier of each slot says that it is full, another that it is empty.
#pragma once

#include <type_traits>

#include "kernels/conv/parts/channel_quads.cuh"
#include "kernels/conv/parts/largest.cuh"
#include "kernels/device/opaque.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/wgmma.cuh"

namespace weft::kernels::cuda {

constexpr int kWarpgroup = 128;  // threads
constexpr int kTensorRows = 64;  // of wgmma: filters, or channels
constexpr int kMostSlots = 8;
// Planes of quads that have values, and of those that have what these leave.
template <CellType kType>
constexpr int kCellPlanes = kType == CellType::halves ? 2 : kCellQuads;
template <CellType kType>
constexpr int kGroupChannels = kCellPlanes<kType>* kQuadChannels<kType>;
constexpr std::int64_t group_channels(CellType type) {
  return type == CellType::halves ? kGroupChannels<CellType::halves> : cell_channels(type);
}
constexpr std::int64_t kBlockSharedBytes = 227 * 1024 - 2048;  // dynamic, of a block of sm_90

struct SlotBarriers {
  std::uint64_t full[kMostSlots], empty[kMostSlots];
  std::uint64_t consumers;  // of all threads that consume; used once
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The warpgroup of this thread, which the compiler then knows to be that of all lanes of its warp:
// addresses of operands are in uniform registers.
__device__ __forceinline__ int warpgroup() {
  return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / kWarpgroup, 0);
}

// A walk through the slots, the same for producers and consumers.
struct SlotRing {
  SlotBarriers* barriers;
  int slots, slot = 0;
  std::uint32_t parity = 0;

  // Called by one thread; a barrier of the block must follow. Producers are threads 0 and up.
  // `releases`: of a slot by consumers.
  __device__ static void prepare(SlotBarriers* barriers, int slots, int producers, int releases,
                                 int consumers) {
    for (int i = 0; i < slots; ++i) {
      device::barrier_init(barriers->full + i, producers);
      device::barrier_init(barriers->empty + i, releases);
    }
    device::barrier_init(&barriers->consumers, consumers);
    device::fence_barrier_init();
  }
  __device__ void advance() {
    if (++slot == slots) slot = 0, parity ^= 1;
  }
  __device__ void wait_empty() const { device::barrier_wait(barriers->empty + slot, parity ^ 1); }
  __device__ void wait_full() const { device::barrier_wait(barriers->full + slot, parity); }
  // All producers call it after their stores.
  __device__ void fill() const {
    device::wgmma_fence_shared();
    device::barrier_arrive(barriers->full + slot);
  }
  // A barrier of the consumers alone, once: after they have loaded weights, or drained all slots.
  __device__ void meet_consumers() const {
    device::barrier_arrive(&barriers->consumers);
    device::barrier_wait(&barriers->consumers, 0);
  }
  // Called when products are done, by as many threads as prepare() was told: one of each consuming
  // warpgroup, or all where threads read the slot themselves.
  __device__ void release(int which) const { device::barrier_arrive(barriers->empty + which); }
};

#endif

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Stores a quad, and at to[rest] what it leaves of the values, in a cell that has both.
template <CellType kType, bool kRest>
__device__ __forceinline__ void store_quad(uint4* to, int rest,
                                           const float (&value)[kQuadChannels<kType>], int shift) {
  if constexpr (kType == CellType::halves) {
    const HalfQuads quads(value, shift, 1);
    to[0] = quads.big;
    to[rest] = quads.small;
  } else {
    const uint4 quad = make_quad<kType>(value);
    to[0] = quad;
    if constexpr (kRest) to[rest] = remainder_quad(value, quad);
  }
}

// The largest of `count` values in each of kRows rows; a block of kThreads calls it, and a barrier
// must follow.
template <int kThreads, int kRows, class Value>
__device__ __forceinline__ void find_largest_rows(std::uint32_t* largest, int count,
                                                  const Value& value) {
  for (int row = threadIdx.x / 32; row < kRows; row += kThreads / 32) {
    std::uint32_t found = 0;
    for (int i = threadIdx.x % 32; i < count; i += 32) found = device::larger(found, value(row, i));
    found = device::warp_reduce(found, device::Larger());
    if (threadIdx.x % 32 == 0) largest[row] = found;
  }
}

#endif

// Where the cells of a tile come from: images (n, channels, height, width) of floats.
struct ImageSource {
  const float* x;
  int channels, height, width;

  // One thread asks for an image that the producers will load later.
  __device__ void prefetch(std::int64_t image) const {
    const std::int64_t floats = std::int64_t{channels} * height * width;
    device::prefetch(x + image * floats, floats);
  }
};

// A tile of an image.
struct TilePlace {
  int image, row, column;

  __device__ TilePlace(int item, const device::FastDivide& by_rows,
                       const device::FastDivide& by_columns) {
    image = by_rows.divide(by_columns.divide(item, column), row);
  }
  __device__ bool is_first() const { return row == 0 && column == 0; }
};

// Fills the planes of a slot with kRows x kPitch pixels from (row0, column0) on, which may lie
// outside of the image, and channels from channel0 on; zeros where there are none. Producers call
// it. A thread has up to kFloatsInFlight loads of x in flight: 88 are 44 KiB in all. With kParts 2
// as many planes follow, of what the first ones leave. `shift`: of halves.
template <CellType kType, int kRows, int kPitch, int kProducers, int kFloatsInFlight, int kParts,
          int kPlanes>
__device__ __forceinline__ void load_cells(uint4* slot, const ImageSource& source,
                                           std::int64_t image, int channel0, int row0, int column0,
                                           int shift) {
  constexpr int kPixels = kRows * kPitch, kChannels = kQuadChannels<kType>;
  constexpr int kUnits = kFloatsInFlight / kChannels;
  constexpr int kLanes = kProducers / kPlanes;  // whole warps own a plane
  static_assert(kLanes % 32 == 0);
  const int plane_index = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  channel0 += plane_index * kChannels;
  slot += plane_index * kPixels;
  // Offsets in an image fit in 32 bits; unsigned, so that each costs one addition.
  const unsigned plane = static_cast<unsigned>(source.height * source.width);
  const int channels = source.channels - channel0;
  const float* x = device::opaque(source.x + (image * source.channels + channel0) * plane);
  // kWhole: the image has all channels of the quad.
  const auto load = [&]<bool kWhole>(std::bool_constant<kWhole>) {
    for (int first = lane; first < kPixels; first += kLanes * kUnits) {
      float value[kUnits][kChannels];
#pragma unroll
      for (int k = 0; k < kUnits; ++k) {
        const int pixel = first + kLanes * k;
        const int row = row0 + pixel / kPitch, column = column0 + pixel % kPitch;
        const bool inside = pixel < kPixels &&
                            static_cast<unsigned>(row) < static_cast<unsigned>(source.height) &&
                            static_cast<unsigned>(column) < static_cast<unsigned>(source.width);
        const unsigned from = static_cast<unsigned>(row * source.width + column);
#pragma unroll
        for (int c = 0; c < kChannels; ++c) {
          const bool there = inside && (kWhole || c < channels);
          value[k][c] = there ? __ldg(x + (from + c * plane)) : 0.0f;
        }
      }
#pragma unroll
      for (int k = 0; k < kUnits; ++k) {
        const int pixel = first + kLanes * k;
        if (pixel >= kPixels) break;
        store_quad<kType, kParts == 2>(slot + pixel, kPlanes * kPixels, value[k], shift);
      }
    }
  };
  if (channels >= kChannels) {
    load(std::true_type());
  } else {
    load(std::false_type());
  }
}

// What producers make cells from, in the loop of a kernel over tiles: images in memory. StemCells
// (stem.cuh) has the same members.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

class ImageCells {
 public:
  using Source = ImageSource;

  __device__ ImageCells(const ImageSource& source, float*, SlotBarriers*, int, int)
      : source_(source) {}
  // All threads of the block call it, and a barrier must follow.
  template <CellType kType, int kProducers>
  __device__ void prepare() const {}
  // Producers: before the first tile, which is of this image.
  __device__ void start(int) const {}
  // A tile begins; behind it comes `next`, if there are more.
  __device__ void begin(const TilePlace& tile, const TilePlace& next, bool more) {
    image_ = tile.image;
    if (threadIdx.x == 0 && more && next.is_first()) source_.prefetch(next.image);
  }
  template <CellType kType, int kRows, int kPitch, int kProducers, int kFloatsInFlight, int kParts,
            int kPlanes>
  __device__ __forceinline__ void load(uint4* slot, int channel0, int row0, int column0,
                                       int shift) const {
    load_cells<kType, kRows, kPitch, kProducers, kFloatsInFlight, kParts, kPlanes>(
        slot, source_, image_, channel0, row0, column0, shift);
  }
  __device__ void end() const {}

 private:
  const ImageSource& source_;
  int image_ = 0;
};

#else

struct ImageCells {
  using Source = ImageSource;
};

#endif

}  // namespace weft::kernels::cuda

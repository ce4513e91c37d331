// SPDX-License-Identifier: MIT
// The weight gradient of conv_relu_pool on wgmma: its tiles, its plan, how windows become words in
// shared memory, and how words become fragments of a product. sm_90a.
#pragma once

#include "engine/launch.h"
#include "kernels/conv_relu_pool/parts/image_ring.cuh"
#include "kernels/conv_relu_pool/parts/pick_bytes.cuh"
#include "kernels/conv_relu_pool/parts/wgmma.h"
#include "kernels/device/dynamic_shared.cuh"

namespace weft::kernels::cuda::pool_weights {

using device::FastDivide;

constexpr int kConsumers = kPoolKernel;         // warpgroups
constexpr int kChannels = 32;                   // of a block: a cell in bf16
constexpr int kColumns = 12, kQuadWindows = 4;  // windows of a tile in a row; at a time
constexpr int kPitch = 2 * kColumns + kPoolKernel - 1;
constexpr int kRowFloats = kChannels * kPoolTaps;  // of a filter
constexpr int kRowPitch = kRowFloats + 1;          // in other banks

// kParts: how many operands in bf16, or in fp16 for fp32 accuracy, add up to one operand.
template <ComputeMode kMode>
struct WeightsTile {
  static constexpr bool kHalves = kMode == ComputeMode::fp32;
  static constexpr CellType kType = kHalves ? CellType::halves : CellType::bf16;
  static constexpr int kParts = kMode == ComputeMode::bf16 ? 1 : 2;
  // Warpgroups. In fp32 consumers have sums twice, and no registers are left for a second one.
  static constexpr int kProducers = (kHalves ? 1 : 2) * kWarpgroup;
  static constexpr int kThreads = kProducers + kConsumers * kWarpgroup;
  static constexpr int kRows = kParts == 1 ? 12 : 6;  // of windows
  static constexpr int kPixelRows = 2 * kRows + kPoolKernel - 1;
  static constexpr int kPlane = kPixelRows * kPitch;  // quads
  static constexpr int kCellsQuads = kParts * kCellQuads * kPlane;
  static constexpr int kFilterWords = kRows * kColumns + 4;  // 8 filters in other banks
  static constexpr int kWordQuads = kTensorRows * kFilterWords / 4;
  // The pixels of windows have bytes of their own where words have no bits left for them.
  static constexpr int kIndexPitch = kRows * kColumns + 4;
  static constexpr int kIndexQuads = kHalves ? kTensorRows * kIndexPitch / 16 : 0;
  static constexpr int kSlotQuads = kCellsQuads + kWordQuads + kIndexQuads;
  // Fragments of a thread at a time: all of a row, or one where sums leave no registers for more.
  static constexpr int kFragments = kParts == 1 ? kColumns / kQuadWindows : 1;
  static constexpr int kLoads = kTensorRows * kRows * kColumns / kQuadWindows;  // quads of windows
  static_assert(kFilterWords % 32 == 20 || kFilterWords % 32 == 12, "rows of words spread out");
};

struct WeightsPlan {
  int channels, pad_h, pad_w;
  const float* dy;             // (n, filters, rows, columns)
  const std::uint8_t* argmax;  // of dy
  // The largest of dy and of x, in parts (largest.cuh). Only halves need them.
  const std::uint32_t *largest_dy, *largest_x;
  float* partials;  // (chunks, partial_row)
  int filters, rows, columns;
  int filter_blocks, channel_blocks, slots;
  FastDivide by_tile_columns, by_tile_rows;
  int items;  // tiles of all images
  std::int64_t partial_row;
  bool vector;  // four windows of dy lie in 16 aligned bytes, and their argmax in 4
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kSums = kTensorRows * kChannels / kWarpgroup;  // of a tap, in a thread

// Registers of the threads, and what producers have in flight with them.
template <class Tile>
struct Registers {
  static constexpr int kConsumer = Tile::kHalves ? 136 : 96;
  static constexpr int kProducer = Tile::kHalves ? 104 : 96;
  static constexpr int kFloatsInFlight = Tile::kHalves ? 64 : 56;
};

__device__ __forceinline__ TilePlace place_of(int item, const WeightsPlan& p) {
  return {item, p.by_tile_rows, p.by_tile_columns};
}

// A window as one word of 32 bits.
// - One part in bf16: dy in the upper half, and a selector for expand_window() in the lower half.
// - Two parts in bf16: the lower half is what the upper half leaves of dy. Its last two bits are
//   the index of the pixel, one of four, that has dy.
// - Halves: the big half above the small one.
template <class Tile>
__device__ __forceinline__ std::uint32_t window_word(float dy, int index,
                                                     const device::HalfScale& scale) {
  if constexpr (Tile::kHalves) {
    const float value = scale(dy);
    return device::half_pair(value - device::floats_of(device::half_pair(value, 0)).x, value);
  }
  const std::uint32_t high = device::to_bf16(dy);
  if constexpr (Tile::kParts == 1) {
    return high | (index & 2 ? 0x76u : 0x32u) << (index & 1) * 8;
  }
  const std::uint32_t rest = device::to_bf16(dy - __uint_as_float(high)) >> 16 & 0xfffcu;
  return high | rest | static_cast<std::uint32_t>(index & 3);
}

// Fills the words of a slot, (64, kFilterWords), from the windows of a tile, and adds four dy at a
// time to `bias`; a thread always has the same places of it. Zeros where there are no windows.
template <class Tile>
__device__ __forceinline__ void load_windows(uint4* to, float* bias, const WeightsPlan& p,
                                             std::int64_t image, int filter0, int u0, int v0,
                                             const device::HalfScale& scale) {
  constexpr int kRowQuads = kColumns / kQuadWindows;
  // Loads that are in flight together: all that a thread has, if registers suffice.
  constexpr int kBatch = Tile::kHalves ? 3 : divide_up(Tile::kLoads, 2 * Tile::kProducers);
  const unsigned plane = static_cast<unsigned>(p.rows * p.columns);
  const std::int64_t offset = (image * p.filters + filter0) * plane;
  const float* dy = device::opaque(p.dy + offset);
  const std::uint8_t* argmax = device::opaque(p.argmax + offset);
#pragma unroll 1
  for (int first = threadIdx.x; first < Tile::kLoads; first += kBatch * Tile::kProducers) {
    float4 value[kBatch];
    uchar4 index[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int at = first + k * Tile::kProducers;
      const int filter = at / (Tile::kRows * kRowQuads);
      const int u = u0 + at / kRowQuads % Tile::kRows, v = v0 + at % kRowQuads * kQuadWindows;
      const bool there = at < Tile::kLoads && filter0 + filter < p.filters && u < p.rows;
      const unsigned from = filter * plane + static_cast<unsigned>(u * p.columns + v);
      if (p.vector) {
        const bool inside = there && v < p.columns;
        value[k] = inside ? __ldg(reinterpret_cast<const float4*>(dy + from)) : float4{};
        index[k] = inside ? __ldg(reinterpret_cast<const uchar4*>(argmax + from)) : uchar4{};
      } else {
        const auto one = [&](int i) {
          return there && v + i < p.columns ? __ldg(dy + (from + i)) : 0.0f;
        };
        const auto which = [&](int i) -> unsigned char {
          return there && v + i < p.columns ? __ldg(argmax + (from + i)) : kReluPoolCut;
        };
        value[k] = {one(0), one(1), one(2), one(3)};
        index[k] = {which(0), which(1), which(2), which(3)};
      }
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      const int at = first + k * Tile::kProducers;
      if (at >= Tile::kLoads) break;
      const int filter = at / (Tile::kRows * kRowQuads), quad = at % (Tile::kRows * kRowQuads);
      if (index[k].x == kReluPoolCut) value[k].x = 0;
      if (index[k].y == kReluPoolCut) value[k].y = 0;
      if (index[k].z == kReluPoolCut) value[k].z = 0;
      if (index[k].w == kReluPoolCut) value[k].w = 0;
      bias[at] += value[k].x + value[k].y + (value[k].z + value[k].w);
      to[filter * (Tile::kFilterWords / 4) + quad] = {
          window_word<Tile>(value[k].x, index[k].x, scale),
          window_word<Tile>(value[k].y, index[k].y, scale),
          window_word<Tile>(value[k].z, index[k].z, scale),
          window_word<Tile>(value[k].w, index[k].w, scale)};
      if constexpr (Tile::kHalves) {
        auto* bytes = reinterpret_cast<unsigned char*>(to + Tile::kWordQuads);
        *reinterpret_cast<uchar4*>(bytes + filter * Tile::kIndexPitch + quad * 4) = index[k];
      }
    }
  }
}

// Makes the words of a fragment with the upper and with the lower two pixels of a window. `value`
// has 16 bits in its upper half.
__device__ __forceinline__ void expand_window(std::uint32_t value, int index, std::uint32_t& upper,
                                              std::uint32_t& lower) {
  const std::uint32_t pair = index % 2 == 0 ? value >> 16 : value & 0xffff0000u;
  upper = index < 2 ? pair : 0;
  lower = index < 2 ? 0 : pair;
}
// The same from a word whose lower half selects bytes: nibbles 2 and 3, where the pixel is, are
// those of the value in the upper row, and with 4 more in the lower row; nibbles of 0 are zero.
__device__ __forceinline__ void expand_window(std::uint32_t word, std::uint32_t& upper,
                                              std::uint32_t& lower) {
  const std::uint32_t value = word & 0xffff0000u;
  upper = pick_bytes(value, 0, word);
  lower = pick_bytes(0, value, word);
}

// Operands in registers: dz of four windows in a row, its first part and what that leaves.
struct Fragment {
  std::uint32_t high[4], low[4];
};

// `words` and `indices` are of this thread's window.
template <class Tile>
__device__ __forceinline__ void load_fragment(Fragment& to, const std::uint32_t* words,
                                              const unsigned char* indices) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t word = words[8 * i * Tile::kFilterWords];
    if constexpr (Tile::kParts == 1) {
      expand_window(word, to.high[i], to.high[i + 2]);
    } else {
      const int index = (Tile::kHalves ? indices[8 * i * Tile::kIndexPitch] : word) & 3;
      expand_window(word, index, to.high[i], to.high[i + 2]);
      const std::uint32_t rest = word << 16 & (Tile::kHalves ? 0xffff0000u : 0xfffc0000u);
      expand_window(rest, index, to.low[i], to.low[i + 2]);
    }
  }
}

// Multiplies a fragment of four windows. `cells` is the address of their upper left pixel at the
// first of the taps.
template <class Tile>
__device__ __forceinline__ void multiply_fragment(float (&sum)[kPoolKernel][kSums],
                                                  const Fragment& dz, std::uint32_t cells,
                                                  bool accumulate) {
  const std::uint64_t b = device::wgmma_quads_descriptor(cells, 16 * Tile::kPlane, 16 * kPitch);
  const auto multiply = [&](int s, const std::uint32_t(&a)[4], std::uint64_t at, bool add) {
    if constexpr (Tile::kHalves) {
      device::wgmma_fp16_registers(sum[s], a, at, add);
    } else {
      device::wgmma_bf16_registers(sum[s], a, at, add);
    }
  };
#pragma unroll
  for (int s = 0; s < kPoolKernel; ++s) {
    if constexpr (Tile::kParts == 2) {
      multiply(s, dz.low, b + s, accumulate);
      multiply(s, dz.high, b + s + kCellQuads * Tile::kPlane, true);
    }
    multiply(s, dz.high, b + s, Tile::kParts == 2 || accumulate);
  }
}

// sum += the products of a batch of fragments, at the words, indices and cells of the first one.
template <class Tile>
__device__ __forceinline__ void multiply_windows(float (&sum)[kPoolKernel][kSums],
                                                 const std::uint32_t* words,
                                                 const unsigned char* indices, std::uint32_t cells,
                                                 bool accumulate) {
  Fragment dz[Tile::kFragments];
#pragma unroll
  for (int k = 0; k < Tile::kFragments; ++k) {
    load_fragment<Tile>(dz[k], words + k * kQuadWindows, indices + k * kQuadWindows);
  }
  device::wgmma_fence();
#pragma unroll
  for (int k = 0; k < Tile::kFragments; ++k) {
    multiply_fragment<Tile>(sum, dz[k], cells + 16 * 2 * kQuadWindows * k, accumulate || k > 0);
  }
  device::wgmma_commit();
  device::wgmma_wait<0>();
#pragma unroll
  for (Fragment& used : dz) {
    device::wgmma_used(used.high);
    if constexpr (Tile::kParts == 2) device::wgmma_used(used.low);
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_weights

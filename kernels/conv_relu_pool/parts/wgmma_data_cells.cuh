// SPDX-License-Identifier: MIT
// How the producers of the data gradient of conv_relu_pool on wgmma make the cells of dz from dy
// and the bytes of argmax. sm_90a.
#pragma once

#include "kernels/conv_relu_pool/parts/pick_bytes.cuh"
#include "kernels/conv_relu_pool/parts/wgmma_data.cuh"

namespace weft::kernels::cuda::pool_data {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The pixel of a window that has its dz, for the channels of a quad, as masks of the channels'
// bits: is it in the right column, is it in the lower row, and did ReLU cut the window?
template <CellType kType>
struct WindowMasks {
  std::uint32_t right[4], lower[4], cut[4];

  static constexpr int kWordChannels = kQuadChannels<kType> / 4;

  // `bytes`: argmax of the channels.
  __device__ __forceinline__ WindowMasks(const std::uint32_t (&bytes)[kWordChannels]) {
    static_assert(kReluPoolCut >= 0x80);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      // A selector for each byte of the word: the sign of a byte, eight times.
      const unsigned first = 8 + kWordChannels * i % 4, last = first + kWordChannels - 1;
      const unsigned selector = first * 0x11 + last * 0x1100;
      const std::uint32_t from = bytes[kWordChannels * i / 4];
      right[i] = pick_bytes(from << 7, 0, selector);
      lower[i] = pick_bytes(from << 6, 0, selector);
      cut[i] = pick_bytes(from, 0, selector);
    }
  }
  // dz at pixel k of the window, whose dy is `quad`.
  __device__ __forceinline__ uint4 dz(const uint4& quad, int k) const {
    const std::uint32_t from[4] = {quad.x, quad.y, quad.z, quad.w};
    std::uint32_t word[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t column = k % 2 == 0 ? ~right[i] : right[i];
      const std::uint32_t row = k / 2 == 0 ? ~lower[i] : lower[i];
      word[i] = from[i] & column & row;
    }
    return {word[0], word[1], word[2], word[3]};
  }
  __device__ __forceinline__ void cut_from(uint4& quad) const {
    quad.x &= ~cut[0], quad.y &= ~cut[1], quad.z &= ~cut[2], quad.w &= ~cut[3];
  }
};

// Fills a slot with the cells of dz from row z0 on, which may lie outside, and filters from filter0
// on. Each window that the slot touches is read once and makes up to four pixels. Whole warps own a
// plane. `shift`: of halves.
template <CellType kType, bool kPaired>
__device__ __forceinline__ void load_gradient(uint4* slot, const DataPlan& p, std::int64_t image,
                                              int filter0, int z0, int shift) {
  constexpr int kFilters = kQuadChannels<kType>;
  constexpr int kUnits = 16 / kFilters;
  constexpr int kPlanes = kCellPlanes<kType>, kLanes = kProducers / kPlanes;
  const int plane_index = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  filter0 += plane_index * kFilters;
  slot += plane_index * p.plane;
  const int u0 = z0 >> 1, v0 = -p.left >> 1;  // the first window, rounded down
  const unsigned plane = static_cast<unsigned>(p.rows * p.columns);
  const std::int64_t offset = (image * p.filters + filter0) * plane;
  const float* dy = device::opaque(p.dy + offset);
  const std::uint8_t* argmax = device::opaque(p.argmax + offset);
  for (int first = lane; first < p.by_windows.divisor(); first += kLanes * kUnits) {
    float value[kUnits][kFilters];
    int index[kUnits][kFilters], u[kUnits], v[kUnits];
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      u[i] = u0 + p.by_window_columns.divide(first + kLanes * i, v[i]);
      v[i] += v0;
      const bool inside = static_cast<unsigned>(u[i]) < static_cast<unsigned>(p.rows) &&
                          static_cast<unsigned>(v[i]) < static_cast<unsigned>(p.columns);
      const unsigned at = static_cast<unsigned>(u[i] * p.columns + v[i]);
#pragma unroll
      for (int f = 0; f < kFilters; ++f) {
        const bool there = inside && filter0 + f < p.filters;
        value[i][f] = there ? __ldg(dy + (at + f * plane)) : 0.0f;
        index[i][f] = there ? __ldg(argmax + (at + f * plane)) : 0;
      }
    }
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      if (first + kLanes * i >= p.by_windows.divisor()) break;
      uint4 parts[2];  // the second one of halves alone
      store_quad<kType, false>(parts, 1, value[i], shift);
      std::uint32_t bytes[kFilters / 4];
#pragma unroll
      for (int f = 0; f < kFilters; f += 4) {
        const int* of = index[i] + f;
        bytes[f / 4] = static_cast<std::uint32_t>(of[0] | of[1] << 8 | of[2] << 16 | of[3] << 24);
      }
      const WindowMasks<kType> masks(bytes);
      masks.cut_from(parts[0]);
      if constexpr (kType == CellType::halves) masks.cut_from(parts[1]);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int row = 2 * u[i] + k / 2 - z0, column = 2 * v[i] + k % 2 + p.left;
        if (static_cast<unsigned>(row) >= static_cast<unsigned>(p.slot_rows) ||
            static_cast<unsigned>(column) >= static_cast<unsigned>(p.pitch)) {
          continue;
        }
        const int line = kPaired ? row / 2 * p.pitch + row % 2 * p.parity : row * p.pitch;
        slot[line + column] = masks.dz(parts[0], k);
        if constexpr (kType == CellType::halves) {
          slot[kPlanes * p.plane + line + column] = masks.dz(parts[1], k);
        }
      }
    }
  }
}

// The same where p.whole: two windows at a time, and all pixels without a window are 0 already.
template <CellType kType, bool kPaired>
__device__ __forceinline__ void load_whole_gradient(uint4* slot, const DataPlan& p,
                                                    std::int64_t image, int filter0, int shift) {
  constexpr int kFilters = kQuadChannels<kType>;
  constexpr int kPlanes = kCellPlanes<kType>, kLanes = kProducers / kPlanes;
  const int plane_index = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  slot += plane_index * p.plane;
  const unsigned plane = static_cast<unsigned>(p.rows * p.columns);
  const std::int64_t offset = (image * p.filters + filter0 + plane_index * kFilters) * plane;
  const float* dy = device::opaque(p.dy + offset);
  const std::uint8_t* argmax = device::opaque(p.argmax + offset);
  for (int pair = lane; pair < p.rows * p.columns / 2; pair += kLanes) {
    float value[2][kFilters];
    std::uint32_t index[kFilters];
#pragma unroll
    for (int f = 0; f < kFilters; ++f) {
      const unsigned at = 2 * pair + f * plane;
      const float2 two = __ldg(reinterpret_cast<const float2*>(dy + at));
      value[0][f] = two.x, value[1][f] = two.y;
      index[f] = __ldg(reinterpret_cast<const std::uint16_t*>(argmax + at));
    }
    int column = 0;
    const int row = 2 * p.by_pairs.divide(pair, column) + p.top;
    uint4* to[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int at = row + r, line = kPaired ? at / 2 * p.pitch + at % 2 * p.parity : at * p.pitch;
      to[r] = slot + line + 4 * column + p.left;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      std::uint32_t bytes[kFilters / 4];
#pragma unroll
      for (int f = 0; f < kFilters; f += 4) {
        const unsigned take = i == 0 ? 0x0040 : 0x0051;  // byte i of each of two words
        const std::uint32_t low = pick_bytes(index[f], index[f + 1], take);
        bytes[f / 4] = pick_bytes(low, pick_bytes(index[f + 2], index[f + 3], take), 0x5410);
      }
      const WindowMasks<kType> masks(bytes);
      uint4 parts[2];  // the second one of halves alone
      store_quad<kType, false>(parts, 1, value[i], shift);
#pragma unroll
      for (int part = 0; part < (kType == CellType::halves ? 2 : 1); ++part) {
        masks.cut_from(parts[part]);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          to[k / 2][part * kPlanes * p.plane + 2 * i + k % 2] = masks.dz(parts[part], k);
        }
      }
    }
  }
}

#endif

}  // namespace weft::kernels::cuda::pool_data

// SPDX-License-Identifier: MIT
// Images as rows of bfloat16, drawn as gather_batch() draws them. The step before gathers what a
// step reads, on SMs that its update leaves idle. So there are two buffers of x and of labels.
#pragma once

#include "kernels/batch/parts/pixels.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/networks/mlp/parts/arguments.h"

namespace weft::kernels::fused_mlp {

// Eight pixels.
__device__ __forceinline__ uint4 normalized(const uint2& bytes, const draw::Line& line) {
  float value[8];
#pragma unroll
  for (int p = 0; p < 8; ++p) {
    const std::uint32_t word = p < 4 ? bytes.x : bytes.y;
    value[p] = cuda::normalized(static_cast<float>(word >> (p % 4 * 8) & 0xff), line);
  }
  return {device::bf16_pair(value[0], value[1]), device::bf16_pair(value[2], value[3]),
          device::bf16_pair(value[4], value[5]), device::bf16_pair(value[6], value[7])};
}

// A warp gathers rows `first`, `first` + `stride`, ... of step `step`. Each lane makes a draw, and
// the images of up to 32 draws are prefetched together, so a row is in the L2 cache when its turn
// comes.
__device__ __forceinline__ void gather_rows(const Training& t, std::int64_t step, int first,
                                            int stride) {
  constexpr int kPieces = 4;  // of 8 pixels, that a lane loads before it stores
  const int lane = static_cast<int>(threadIdx.x) % 32, slot = static_cast<int>(step % 2);
  Bfloat16* const x = t.exchange.x[slot];
  for (int begin = first; begin < t.rows; begin += 32 * stride) {
    const int mine = begin + lane * stride;
    draw::Place place{};
    if (mine < t.rows) {
      place = draw::place_of(mine, step, t.order);
      device::prefetch(t.state.images + place.index * t.inputs, t.inputs);
      t.exchange.labels[slot][mine] = t.state.labels[place.index];
      x[mine * t.exchange.pitch_x + t.inputs] = {0x3f80};  // 1
    }
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
      const int row = begin + k * stride;
      if (row >= t.rows) break;
      const draw::Place drawn{__shfl_sync(0xffffffff, place.epoch, k),
                              __shfl_sync(0xffffffff, place.index, k)};
      const std::uint8_t* image = t.state.images + drawn.index * t.inputs;
      Bfloat16* to = x + row * t.exchange.pitch_x;
      if (t.distort) {
        const draw::Affine map =
            draw::affine_of(drawn, t.order.seed, t.augmentation, t.height, t.width);
#pragma unroll 1
        for (int i = 2 * lane; i < t.inputs; i += 2 * 32) {
          const int down = i / t.width, right = i % t.width;
          *reinterpret_cast<std::uint32_t*>(to + i) = device::bf16_pair(
              cuda::distorted(image, map, down, right, t.height, t.width, t.line),
              cuda::distorted(image, map, down, right + 1, t.height, t.width, t.line));
        }
        continue;
      }
#pragma unroll 1
      for (int i = 8 * lane; i < t.inputs; i += kPieces * 8 * 32) {
        uint2 bytes[kPieces];
#pragma unroll
        for (int p = 0; p < kPieces; ++p) {
          const int at = i + p * 8 * 32;
          if (at < t.inputs) bytes[p] = __ldg(reinterpret_cast<const uint2*>(image + at));
        }
#pragma unroll
        for (int p = 0; p < kPieces; ++p) {
          const int at = i + p * 8 * 32;
          if (at < t.inputs) *reinterpret_cast<uint4*>(to + at) = normalized(bytes[p], t.line);
        }
      }
    }
  }
}

}  // namespace weft::kernels::fused_mlp

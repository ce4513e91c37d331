// SPDX-License-Identifier: MIT
// Images as rows of bfloat16, drawn as gather_batch() draws them. What a step reads was gathered by
// the one before, on multiprocessors that its update left idle; so there are two of x and of
// labels.
#pragma once

#include "kernels/batch/pixels.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/fused_mlp/arguments.h"

namespace weft::kernels::fused_mlp {

// A warp gathers rows `first`, `first` + `stride`, ... of step `step`. Up to 32 draws are made at
// once, one by each lane.
__device__ __forceinline__ void gather_rows(const Training& t, std::int64_t step, int first,
                                            int stride) {
  const int lane = static_cast<int>(threadIdx.x) % 32, slot = static_cast<int>(step % 2);
  Bfloat16* const x = t.exchange.x[slot];
  for (int begin = first; begin < t.rows; begin += 32 * stride) {
    const int mine = begin + lane * stride;
    draw::Place place{};
    if (mine < t.rows) {
      place = draw::place_of(mine, step, t.order);
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
#pragma unroll 4
      for (int i = 8 * lane; i < t.inputs; i += 8 * 32) {
        const uint2 bytes = *reinterpret_cast<const uint2*>(image + i);
        float value[8];
#pragma unroll
        for (int p = 0; p < 8; ++p) {
          const std::uint32_t word = p < 4 ? bytes.x : bytes.y;
          value[p] = cuda::normalized(static_cast<float>(word >> (p % 4 * 8) & 0xff), t.line);
        }
        *reinterpret_cast<uint4*>(to + i) = {
            device::bf16_pair(value[0], value[1]), device::bf16_pair(value[2], value[3]),
            device::bf16_pair(value[4], value[5]), device::bf16_pair(value[6], value[7])};
      }
    }
  }
}

}  // namespace weft::kernels::fused_mlp

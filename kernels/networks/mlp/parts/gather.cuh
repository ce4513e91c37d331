// SPDX-License-Identifier: MIT
// Images as rows of x, drawn as gather_batch() draws them. The step before gathers what a
// step reads, on SMs that its update leaves idle. So there are two buffers of x and of labels.
#pragma once

#include "kernels/batch/parts/pixels.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/networks/mlp/parts/scale.cuh"

namespace weft::kernels::fused_mlp {

// How pixels are stored in a row of x. eight() wants a column that is a multiple of 8, two() an
// even one; one() stores the 1 behind the pixels.
template <class Element>
struct Pixels;

template <>
struct Pixels<Bfloat16> {
  __device__ __forceinline__ explicit Pixels(const draw::Line&) {}

  __device__ __forceinline__ void eight(Bfloat16* row, int column, const float (&v)[8]) const {
    *reinterpret_cast<uint4*>(row + column) = {
        device::bf16_pair(v[0], v[1]), device::bf16_pair(v[2], v[3]), device::bf16_pair(v[4], v[5]),
        device::bf16_pair(v[6], v[7])};
  }
  __device__ __forceinline__ void two(Bfloat16* row, int column, float low, float high) const {
    *reinterpret_cast<std::uint32_t*>(row + column) = device::bf16_pair(low, high);
  }
  __device__ __forceinline__ void one(Bfloat16* row, int column) const { row[column] = {0x3f80}; }
};

template <>
struct Pixels<Half> {
  device::HalfScale scale;

  __device__ __forceinline__ explicit Pixels(const draw::Line& line) : scale(image_shift(line)) {}

  __device__ __forceinline__ void eight(Half* row, int column, const float (&v)[8]) const {
    std::uint32_t big[4], small[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) split(big[i], small[i], v[2 * i], v[2 * i + 1]);
    row += big_column(column);
    *reinterpret_cast<uint4*>(row) = {big[0], big[1], big[2], big[3]};
    *reinterpret_cast<uint4*>(row + kSide) = {small[0], small[1], small[2], small[3]};
  }
  __device__ __forceinline__ void two(Half* row, int column, float low, float high) const {
    row += big_column(column);
    split(*reinterpret_cast<std::uint32_t*>(row), *reinterpret_cast<std::uint32_t*>(row + kSide),
          low, high);
  }
  __device__ __forceinline__ void one(Half* row, int column) const {
    row[big_column(column)].bits = __half_as_ushort(__float2half_rn(scale(1.0f)));
  }

 private:
  __device__ __forceinline__ void split(std::uint32_t& big, std::uint32_t& small, float low,
                                        float high) const {
    device::split_halves(big, small, scale(low), scale(high), device::kSmallScale);
  }
};

// Normalises eight bytes.
__device__ __forceinline__ void normalize(float (&value)[8], const uint2& bytes,
                                          const draw::Line& line) {
#pragma unroll
  for (int p = 0; p < 8; ++p) {
    const std::uint32_t word = p < 4 ? bytes.x : bytes.y;
    value[p] = draw::normalized(static_cast<float>(word >> (p % 4 * 8) & 0xff), line);
  }
}

// A warp gathers rows `first`, `first` + `stride`, ... of step `step`. Each lane makes a draw, and
// the images of up to 32 draws are prefetched together, so a row is in the L2 cache when its turn
// comes.
template <class Element>
__device__ __forceinline__ void gather_rows(const Training& t, const Exchange<Element>& e,
                                            std::int64_t step, int first, int stride) {
  constexpr int kPieces = 4;  // of 8 pixels, that a lane loads before it stores
  const int lane = static_cast<int>(threadIdx.x) % 32, slot = static_cast<int>(step % 2);
  Element* const x = e.x[slot];
  const Pixels<Element> pixels(t.line);
  for (int begin = first; begin < t.rows; begin += 32 * stride) {
    const int mine = begin + lane * stride;
    draw::Place place{};
    if (mine < t.rows) {
      place = draw::place_of(mine, step, t.order);
      device::prefetch(t.state.images + place.index * t.inputs, t.inputs);
      e.labels[slot][mine] = t.state.labels[place.index];
      pixels.one(x + mine * e.pitch_x, t.inputs);
    }
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
      const int row = begin + k * stride;
      if (row >= t.rows) break;
      const draw::Place drawn{__shfl_sync(0xffffffff, place.epoch, k),
                              __shfl_sync(0xffffffff, place.index, k)};
      const std::uint8_t* image = t.state.images + drawn.index * t.inputs;
      Element* to = x + row * e.pitch_x;
      if (t.distort) {
        const draw::Affine map =
            draw::affine_of(drawn, t.order.seed, t.augmentation, t.height, t.width);
#pragma unroll 1
        for (int i = 2 * lane; i < t.inputs; i += 2 * 32) {
          const int down = i / t.width, right = i % t.width;
          pixels.two(to, i, cuda::distorted(image, map, down, right, t.height, t.width, t.line),
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
          if (at >= t.inputs) continue;
          float value[8];
          normalize(value, bytes[p], t.line);
          pixels.eight(to, at, value);
        }
      }
    }
  }
}

}  // namespace weft::kernels::fused_mlp

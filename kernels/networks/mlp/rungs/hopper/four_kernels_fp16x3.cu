// SPDX-License-Identifier: MIT
// A step in four launches as accurate as fp32: values lie in memory as two parts of fp16, with a
// scale for each tile of 64 x 64, and a product is three products of parts (parts/hopper/fp16x3).
// What must be there before the first step is made here: the weights in two parts, the columns of
// ones that make a bias a weight, and the images of the first batch.
#include "engine/launch.h"
#include "kernels/device/block.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/gather.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

constexpr int kBlock = 256;

// A block splits tiles of weights (out, in); columns behind the last, up to whole tiles, are 0.
// `in` is a multiple of 4.
__device__ __forceinline__ void split_all(Half* to, std::int64_t pitch, std::int32_t* shifts,
                                          const float* from, int out, int in) {
  __shared__ std::uint32_t largest[kBlock / 32];
  constexpr int kQuads = kSide / 4, kEach = kSide * kQuads / kBlock;  // 4 floats, for a thread
  const int in_tiles = divide_up(in, kSide), thread = static_cast<int>(threadIdx.x);
  const int tiles = in_tiles * divide_up(out, kSide);
  for (int tile = static_cast<int>(blockIdx.x); tile < tiles; tile += static_cast<int>(gridDim.x)) {
    const int row0 = tile / in_tiles * kSide + thread / kQuads;
    const int column = tile % in_tiles * kSide + thread % kQuads * 4;
    float4 value[kEach];
    std::uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const std::int64_t row = row0 + i * (kBlock / kQuads);
      value[i] = row < out && column < in
                     ? *reinterpret_cast<const float4*>(from + row * in + column)
                     : float4{0, 0, 0, 0};
      mine = device::larger(device::larger(mine, value[i].x), value[i].y);
      mine = device::larger(device::larger(mine, value[i].z), value[i].w);
    }
    mine = device::warp_reduce(mine, device::Larger());
    if (thread % 32 == 0) largest[thread / 32] = mine;
    __syncthreads();
    for (const std::uint32_t other : largest) mine = max(mine, other);
    __syncthreads();  // before the next tile
    const int shift = device::half_shift(mine);
    if (thread == 0) shifts[tile] = shift;
    const device::HalfScale scale(shift);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const std::int64_t row = row0 + i * (kBlock / kQuads);
      if (row >= out) continue;
      uint2 big, small;
      const float4& v = value[i];
      device::split_halves(big.x, small.x, scale(v.x), scale(v.y), device::kSmallScale);
      device::split_halves(big.y, small.y, scale(v.z), scale(v.w), device::kSmallScale);
      Half* const at = to + row * pitch + big_column(column);
      *reinterpret_cast<uint2*>(at) = big;
      *reinterpret_cast<uint2*>(at + kSide) = small;
    }
  }
}

// Zeros in row `row` from the big part of `column` on, a multiple of 8, to the end of its tile, in
// both parts.
__device__ __forceinline__ void clear_tile(Half* row, int column) {
  for (int i = column; i < round_up(column + 1, kSide); i += 8) {
    *reinterpret_cast<uint4*>(row + big_column(i)) = {0, 0, 0, 0};
    *reinterpret_cast<uint4*>(row + big_column(i) + kSide) = {0, 0, 0, 0};
  }
}

// h1 and h2 end with a tile that holds a 1 and zeros, x with a 1 that gather_rows() stores and
// zeros.
__global__ void __launch_bounds__(kBlock) mlp_prepare_parts_kernel(Exchange<Half> e, Training t) {
  const float* p = t.state.parameters;
  split_all(e.w1, e.pitch_w1, e.shifts.w1, p, t.hidden1, t.inputs);
  split_all(e.w2, 2 * t.hidden1, e.shifts.w2, p + t.weight2(), t.hidden2, t.hidden1);
  split_all(e.w3, 2 * t.hidden2, e.shifts.w3, p + t.weight3(), t.classes, t.hidden2);
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t padded = round_up(t.rows, kSide);
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int tiles1 = t.hidden1 / kSide, tiles2 = t.hidden2 / kSide;
  constexpr Half kOne = {0x3c00};
  for (std::int64_t row = first; row < padded; row += step) {
    for (Half* x : e.x) clear_tile(x + row * e.pitch_x, t.inputs);
    clear_tile(e.h1 + row * e.pitch1, t.hidden1);
    clear_tile(e.h2 + row * e.pitch2, t.hidden2);
    clear_tile(e.g3 + row * 2 * kSide, 0);
    e.h1[row * e.pitch1 + big_column(t.hidden1)] = kOne;
    e.h2[row * e.pitch2 + big_column(t.hidden2)] = kOne;
    if (row % kSide != 0) continue;
    e.shifts.h1[row / kSide * (tiles1 + 1) + tiles1] = 0;
    e.shifts.h2[row / kSide * (tiles2 + 1) + tiles2] = 0;
  }
}

// Behind the zeros of x.
__global__ void mlp_first_images_kernel(Exchange<Half> e, Training t) {
  const auto warp = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  gather_rows(t, e, *t.state.step, warp, static_cast<int>(gridDim.x * blockDim.x / 32));
}

}  // namespace

void fused_mlp_prepare_four_kernels_fp16x3(const Training& t, const Stream& stream) {
  const Exchange<Half> e(t.workspace, t);
  launch(mlp_prepare_parts_kernel, Launch{264, kBlock, 0, stream}, e, t);
  launch(mlp_first_images_kernel, Launch{264, kBlock, 0, stream}, e, t);
}

void fused_mlp_train_four_kernels_fp16x3(Training t, std::int64_t steps, const Stream& stream) {
  for (t.ahead = 0; t.ahead < steps; ++t.ahead) {
    fused_mlp_forward_four_kernels_fp16x3(t, stream);
    fused_mlp_backward_four_kernels_fp16x3(t, stream);
    fused_mlp_update_four_kernels_fp16x3(t, stream);
  }
  fused_mlp_advance(t.state.step, steps, stream);
}

}  // namespace weft::kernels::cuda

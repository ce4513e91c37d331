// SPDX-License-Identifier: MIT
// A step in four launches, with values in bf16 in memory: the forward pass twice, the backward pass
// and the update (parts/hopper/bf16). Each overlaps with the one before it. What must be there
// before the first step is made here: copies of the weights in bf16, the columns of ones that make
// a bias a weight, and the images of the first batch.
#include "engine/launch.h"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/gather.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

// to (rows, pitch), from (rows, columns). columns: a multiple of 4, as addresses are of 16 bytes.
__device__ __forceinline__ void round_all(Bfloat16* to, std::int64_t pitch, const float* from,
                                          std::int64_t rows, std::int64_t columns) {
  const std::int64_t step = 4 * std::int64_t{gridDim.x} * blockDim.x, count = rows * columns;
  for (std::int64_t i = 4 * (blockIdx.x * blockDim.x + threadIdx.x); i < count; i += step) {
    const float4 value = *reinterpret_cast<const float4*>(from + i);
    *reinterpret_cast<uint2*>(to + i / columns * pitch + i % columns) = {
        device::bf16_pair(value.x, value.y), device::bf16_pair(value.z, value.w)};
  }
}

__global__ void mlp_prepare_kernel(Exchange<Bfloat16> e, Training t) {
  const float* p = t.state.parameters;
  round_all(e.w1, e.pitch_w1, p, t.hidden1, t.inputs);
  round_all(e.w2, t.hidden1, p + t.weight2(), t.hidden2, t.hidden1);
  round_all(e.w3, t.hidden2, p + t.weight3(), t.classes, t.hidden2);
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int64_t padded = round_up(t.rows, kSide);
  for (std::int64_t row = blockIdx.x * blockDim.x + threadIdx.x; row < padded; row += step) {
    e.h1[row * e.pitch1 + t.hidden1] = {0x3f80};  // 1
    e.h2[row * e.pitch2 + t.hidden2] = {0x3f80};
    for (int i = 0; i < kSide; i += 8) {
      *reinterpret_cast<uint4*>(e.g3 + row * kSide + i) = {0, 0, 0, 0};
    }
  }
  const int warps = static_cast<int>(step / 32);
  const int warp = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32);
  gather_rows(t, e, *t.state.step, warp, warps);
}

__global__ void mlp_advance_kernel(std::int64_t* step, std::int64_t steps) {
  *step += steps;
}

}  // namespace

void fused_mlp_prepare_four_kernels_bf16(const Training& t, const Stream& stream) {
  launch(mlp_prepare_kernel, Launch{660, 256, 0, stream}, Exchange<Bfloat16>(t.workspace, t), t);
}

void fused_mlp_advance(std::int64_t* step, std::int64_t steps, const Stream& stream) {
  launch(mlp_advance_kernel, Launch{1, 1, 0, stream}, step, steps);
}

void fused_mlp_train_four_kernels_bf16(Training t, std::int64_t steps, const Stream& stream) {
  for (t.ahead = 0; t.ahead < steps; ++t.ahead) {
    fused_mlp_forward_four_kernels_bf16(t, stream);
    fused_mlp_backward_four_kernels_bf16(t, stream);
    fused_mlp_update_four_kernels_bf16(t, stream);
  }
  fused_mlp_advance(t.state.step, steps, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// A hidden layer: h = max(x W^T + b, 0), a block for 64 x 64 of it.
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/product.cuh"
#include "kernels/networks/mlp/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

using Forward = Product<false, false, kSide, 13>;
constexpr int kBlock = kConsumers + kCopyThreads;

// The images of even and of odd steps, and the number of the step.
struct Inputs {
  CUtensorMap map[2];
  const std::int64_t* step;
  std::int64_t ahead;
};

__global__ void __launch_bounds__(kBlock, 1)
    mlp_forward_kernel(const __grid_constant__ Inputs inputs,
                       const __grid_constant__ CUtensorMap map_w, Bfloat16* h, std::int64_t pitch,
                       const float* bias, int chunks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ Barriers<Forward> barriers;
  char* ring = device::aligned_shared();
  const int row = static_cast<int>(blockIdx.x) * kSide,
            column = static_cast<int>(blockIdx.y) * kSide;
  device::overlap_allow();
  if (threadIdx.x == kConsumers) device::tma_prefetch(map_w);
  barriers.init(chunks);
  // No kernel that starts early is in flight while this is written: the first kernel of a call does
  // not start early.
  const auto odd = (*inputs.step + inputs.ahead) % 2;
  if (threadIdx.x == kConsumers) device::tma_prefetch(inputs.map[odd]);
  if (threadIdx.x >= kConsumers) {
    return produce<Forward>(ring, barriers, inputs.map[odd], map_w, row, column, chunks, [] {});
  }
  device::overlap_wait();
  const int member = static_cast<int>(threadIdx.x) % 4;
  float2 offset[kSide / 8];
#pragma unroll
  for (int j = 0; j < kSide / 8; ++j) {
    const float* from = bias + column + 8 * j + 2 * member;
    offset[j] = {from[0], from[1]};
  }
  float sum[kSide / 2];
  consume<Forward>(sum, ring, barriers, chunks);
#pragma unroll
  for (int i = 0; i < kSide / 2; ++i) {
    const float value = sum[i] + (i % 2 == 0 ? offset[i / 4].x : offset[i / 4].y);
    sum[i] = value < 0 ? 0 : value;  // keeps NaN
  }
  store_tile(h + row * pitch + column, pitch, sum);
#else
  (void)inputs, (void)map_w, (void)h, (void)pitch, (void)bias, (void)chunks;
  __trap();
#endif
}

void layer(const Training& t, const Bfloat16* const (&x)[2], std::int64_t pitch_x, int in,
           const Bfloat16* w, std::int64_t pitch_w, const float* bias, Bfloat16* h,
           std::int64_t pitch, int out, bool overlap, const Stream& stream) {
  const Inputs inputs{
      {operand_map(x[0], t.rows, in, pitch_x), operand_map(x[1], t.rows, in, pitch_x)},
      t.state.step,
      t.ahead};
  const dim3 grid(static_cast<unsigned>(divide_up(t.rows, kSide)),
                  static_cast<unsigned>(out / kSide));
  const Launch config{grid, kBlock, Forward::kSharedBytes, stream};
  launch(mlp_forward_kernel, config.overlapped(overlap), inputs, operand_map(w, out, in, pitch_w),
         h, pitch, bias, divide_up(in, kSide));
}

}  // namespace

void fused_mlp_forward_four_kernels_bf16(const Training& t, const Stream& stream) {
  const Exchange<Bfloat16> e(t.workspace, t);
  const float* p = t.state.parameters;
  layer(t, {e.x[0], e.x[1]}, e.pitch_x, t.inputs, e.w1, e.pitch_w1,
        p + std::int64_t{t.hidden1} * t.inputs, e.h1, e.pitch1, t.hidden1, t.ahead > 0, stream);
  layer(t, {e.h1, e.h1}, e.pitch1, t.hidden1, e.w2, t.hidden1,
        p + t.weight2() + std::int64_t{t.hidden2} * t.hidden1, e.h2, e.pitch2, t.hidden2, true,
        stream);
}

}  // namespace weft::kernels::cuda

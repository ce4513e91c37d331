// SPDX-License-Identifier: MIT
// A hidden layer with the accuracy of fp32: h = max(x W^T + b, 0), a block for 64 x 64 of it. Two
// teams of four warps take turns along k, so that one adds sums while the other multiplies.
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/halves.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

using Forward = Product<false, false, kSide, 6, false, 2>;
constexpr std::size_t kSharedBytes = Forward::kSharedBytes + kSide * kSide * sizeof(float);

// A layer's two operands, and its result.
struct Layer {
  CUtensorMap x[2], w;  // x of even steps and of odd ones
  const std::int32_t *shifts_x, *shifts_w;
  int shift_pitch_x;  // 0: the images, with one shift
  const float* bias;
  Half* h;
  std::int64_t pitch;
  std::int32_t* shifts;
  int chunks, tiles;
};

__global__ void __launch_bounds__(kTeamThreads + kCopyThreads, 1)
    mlp_forward_parts_kernel(const __grid_constant__ Layer layer, Training t) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ Barriers<Forward> barriers;
  __shared__ std::uint32_t largest[4];
  char* const ring = device::aligned_shared();
  const int row_tile = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y);
  const int row = row_tile * kSide, column = tile * kSide;
  device::overlap_allow();
  barriers.init(layer.chunks);
  const auto odd = (*t.state.step + t.ahead) % 2;  // see bf16/forward.cu
  if (threadIdx.x == kTeamThreads) {
    device::tma_prefetch(layer.x[odd]);
    device::tma_prefetch(layer.w);
  }
  const int team = static_cast<int>(threadIdx.x) / kConsumers;
  if (team == kTeams) {
    return produce<Forward>(ring, barriers, layer.x[odd], layer.w, row, column, layer.chunks,
                            [] {});
  }
  device::overlap_wait();
  const int member = static_cast<int>(threadIdx.x) % 4;
  float2 offset[kSide / 8];
#pragma unroll
  for (int j = 0; j < kSide / 8; ++j) {
    const float* from = layer.bias + column + 8 * j + 2 * member;
    offset[j] = {from[0], from[1]};
  }
  const int shift_x = image_shift(t.line);
  float sum[kSide / 2];
  consume_parts(sum, ring, barriers, team, kTeams, layer.chunks, 0, [&](int chunk) {
    const int x =
        layer.shift_pitch_x == 0 ? shift_x : layer.shifts_x[row_tile * layer.shift_pitch_x + chunk];
    return x + layer.shifts_w[tile * layer.chunks + chunk];
  });
  add_teams(sum, reinterpret_cast<float*>(ring + Forward::kStages * Forward::kStageBytes), team);
  if (team != 0) return;
#pragma unroll
  for (int i = 0; i < kSide / 2; ++i) {
    const float value = sum[i] + (i % 2 == 0 ? offset[i / 4].x : offset[i / 4].y);
    sum[i] = value < 0 ? 0 : value;  // keeps NaN
  }
  const int shift = tile_shift(sum, largest);
  if (threadIdx.x == 0) layer.shifts[row_tile * (layer.tiles + 1) + tile] = shift;
  store_parts(layer.h + row * layer.pitch + big_column(column), layer.pitch, sum, shift);
#else
  (void)layer, (void)t;
  __trap();
#endif
}

CUtensorMap map_of(const Half* data, std::int64_t rows, int in, std::int64_t pitch) {
  return operand_map(data, rows, 2 * round_up(in, kSide), pitch);
}

void launch_layer(const Layer& layer, const Training& t, bool overlap, const Stream& stream) {
  const dim3 grid(static_cast<unsigned>(divide_up(t.rows, kSide)),
                  static_cast<unsigned>(layer.tiles));
  const Launch config{grid, kTeamThreads + kCopyThreads, kSharedBytes, stream};
  launch(mlp_forward_parts_kernel, config.overlapped(overlap), layer, t);
}

}  // namespace

void fused_mlp_forward_four_kernels_fp16x3(const Training& t, const Stream& stream) {
  const Exchange<Half> e(t.workspace, t);
  const float* p = t.state.parameters;
  Layer layer{};
  for (int slot = 0; slot < 2; ++slot) {
    layer.x[slot] = map_of(e.x[slot], t.rows, t.inputs, e.pitch_x);
  }
  layer.w = map_of(e.w1, t.hidden1, t.inputs, e.pitch_w1);
  layer.shifts_w = e.shifts.w1;
  layer.bias = p + std::int64_t{t.hidden1} * t.inputs;
  layer.h = e.h1, layer.pitch = e.pitch1, layer.shifts = e.shifts.h1;
  layer.chunks = divide_up(t.inputs, kSide), layer.tiles = t.hidden1 / kSide;
  launch_layer(layer, t, t.ahead > 0, stream);

  layer.x[0] = layer.x[1] = map_of(e.h1, t.rows, t.hidden1, e.pitch1);
  layer.shifts_x = e.shifts.h1, layer.shift_pitch_x = layer.tiles + 1;
  layer.w = map_of(e.w2, t.hidden2, t.hidden1, 2 * t.hidden1);
  layer.shifts_w = e.shifts.w2;
  layer.bias = p + t.weight2() + std::int64_t{t.hidden2} * t.hidden1;
  layer.h = e.h2, layer.pitch = e.pitch2, layer.shifts = e.shifts.h2;
  layer.chunks = t.hidden1 / kSide, layer.tiles = t.hidden2 / kSide;
  launch_layer(layer, t, true, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The gradients of all parameters, and the update, with the accuracy of fp32. A block sums g^T h
// over the batch for 64 x 128 weights of a layer, a team for half of the columns. It updates them
// in place, and then their copies in parts, whose scale is that of the new weights. The rest is as
// in bf16/update.cu.
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/halves.cuh"
#include "kernels/networks/mlp/parts/update.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

using Update = Product<true, true, kUpdateColumns, 3, true, 2, kTeams>;
constexpr std::size_t kSharedBytes = Update::kSharedBytes + 2 * kTileBytes;
constexpr int kBlock = kTeamThreads + kCopyThreads;
static_assert(kSide * kSumPitch * sizeof(float) <= Update::kStages * Update::kStageBytes);

struct Maps {
  CUtensorMap g[kLayers];      // (rows, 2 out)
  CUtensorMap x[2];            // (rows, pitch_x), of even steps and of odd ones
  CUtensorMap h[kLayers - 1];  // (rows, pitch of each)
  ParameterMaps weights;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kWarps = kTeamThreads / 32;

// Where a layer's copy lies, (out, pitch), and the shifts of its tiles, (out tiles, in tiles).
struct WeightCopy {
  Half* to;
  std::int64_t pitch;
  std::int32_t* shifts;
  int in_tiles;
};

__device__ __forceinline__ WeightCopy copy_of(const Exchange<Half>& e, const Training& t,
                                              int layer) {
  if (layer == 0) return {e.w1, e.pitch_w1, e.shifts.w1, divide_up(t.inputs, kSide)};
  if (layer == 1) return {e.w2, 2 * t.hidden1, e.shifts.w2, t.hidden1 / kSide};
  return {e.w3, 2 * t.hidden2, e.shifts.w3, t.hidden2 / kSide};
}

// The shift of a product of 64 rows of the batch: of g's tile in column tile `out`, and of h's in
// column tile `in`, if there are such tiles.
__device__ __forceinline__ int product_shift(const Exchange<Half>& e, const Training& t, int layer,
                                             int row_tile, int out, int in) {
  const int tiles1 = t.hidden1 / kSide, tiles2 = t.hidden2 / kSide;
  if (layer == 0)
    return e.shifts.g1[row_tile * tiles1 + min(out, tiles1 - 1)] + image_shift(t.line);
  if (layer == 1) {
    return e.shifts.g2[min(out, tiles2 - 1)] +
           e.shifts.h1[row_tile * (tiles1 + 1) + min(in, tiles1)];
  }
  return logit_shift(t.rows) + e.shifts.h2[row_tile * (tiles2 + 1) + min(in, tiles2)];
}

#endif

__global__ void __launch_bounds__(kBlock, 1)
    mlp_update_parts_kernel(const __grid_constant__ Maps maps, Exchange<Half> e, Training t,
                            int chunks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ Barriers<Update> barriers;
  __shared__ std::uint64_t weights_there;
  __shared__ std::uint32_t largest[kTeams][kWarps];  // by column tile
  char* ring = aligned_shared();
  device::overlap_allow();
  if (threadIdx.x == 0) device::barrier_init(&weights_there, 1);
  barriers.init(chunks);
  const UpdateTile tile(t, static_cast<int>(blockIdx.x));
  const std::int64_t step = *t.state.step + t.ahead;  // see bf16/forward.cu
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps, tile, step, t.state.velocity != nullptr);
  if (tile.layer == kLayers) {
    device::overlap_wait();
    return serve<kBlock>(t, e, tile.row0, step);
  }
  char* const weights = ring + Update::kStages * Update::kStageBytes;
  const int team = static_cast<int>(threadIdx.x) / kConsumers;
  if (team == kTeams) {
    return produce_tile(ring, barriers, maps, tile, step, chunks, weights,
                        t.state.velocity != nullptr, &weights_there);
  }
  device::overlap_wait();
  const optimizer::SgdStep<float> rule(t.sgd, t.state.lr[step]);
  const int out_tile = tile.row0 / kSide, in_tile = tile.column0 / kSide;
  float sum[kSide / 2];
  consume_parts(sum, ring, barriers, 0, 1, chunks, team, [&](int chunk) {
    return product_shift(e, t, tile.layer, chunk, out_tile, in_tile + team);
  });
  teams_sync<kTeams>();  // all products are made: the ring is free
  auto* const sums = reinterpret_cast<float*>(ring);
  put_sums(sums, sum, team * kSide);
  teams_sync<kTeams>();  // the sums are written
  device::barrier_wait(&weights_there, 0);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  std::uint32_t mine = 0;
  update_tile<kWarps>(t, tile, rule, sums, weights, [&](int row, const float4& p) {
    *reinterpret_cast<float4*>(weights + quad_place(row, lane)) = p;
    mine = device::larger(device::larger(mine, p.x), p.y);
    mine = device::larger(device::larger(mine, p.z), p.w);
  });
  // Half a warp has the columns of a tile.
  const int side = lane / 16, column = tile.column0 + 4 * lane;
#pragma unroll
  for (int apart = 8; apart > 0; apart /= 2) {
    mine = max(mine, __shfl_xor_sync(0xffffffff, mine, apart));
  }
  if (lane % 16 == 0) largest[side][warp] = mine;
  teams_sync<kTeams>();
  const LayerPlace place = place_of(t, tile.layer);
  const WeightCopy copy = copy_of(e, t, tile.layer);
  if (column >= place.in || tile.row0 >= place.out) return;
  for (int other = 0; other < kWarps; ++other) mine = max(mine, largest[side][other]);
  const int shift = device::half_shift(mine);
  if (warp == 0 && lane % 16 == 0) copy.shifts[out_tile * copy.in_tiles + in_tile + side] = shift;
  const device::HalfScale scale(shift);
  const int rows = min(kSide, place.out - tile.row0);
#pragma unroll 2
  for (int row = warp; row < rows; row += kWarps) {
    const float4 p = *reinterpret_cast<const float4*>(weights + quad_place(row, lane));
    uint2 big, small;
    device::split_halves(big.x, small.x, scale(p.x), scale(p.y), device::kSmallScale);
    device::split_halves(big.y, small.y, scale(p.z), scale(p.w), device::kSmallScale);
    Half* const to = copy.to + (tile.row0 + row) * copy.pitch + big_column(column);
    *reinterpret_cast<uint2*>(to) = big;
    *reinterpret_cast<uint2*>(to + kSide) = small;
  }
#else
  (void)maps, (void)e, (void)t, (void)chunks;
  __trap();
#endif
}

}  // namespace

void fused_mlp_update_four_kernels_fp16x3(const Training& t, const Stream& stream) {
  const Exchange<Half> e(t.workspace, t);
  const auto map = [&](const Half* data, std::int64_t pitch) {
    return matrix_map(data, TensorMapType::fp16, {t.rows, pitch, pitch}, kSide);
  };
  const Maps maps{{map(e.g1, 2 * t.hidden1), map(e.g2, 2 * t.hidden2), map(e.g3, 2 * kSide)},
                  {map(e.x[0], e.pitch_x), map(e.x[1], e.pitch_x)},
                  {map(e.h1, e.pitch1), map(e.h2, e.pitch2)},
                  ParameterMaps(t)};
  const unsigned blocks = update_blocks(t, device_properties(stream.device()).multiprocessors);
  const Launch config{blocks, kBlock, kSharedBytes, stream};
  launch(mlp_update_parts_kernel, config.clusters_of(Update::kCluster).overlapped(), maps, e, t,
         divide_up(t.rows, kSide));
}

}  // namespace weft::kernels::cuda

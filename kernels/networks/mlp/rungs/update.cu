// SPDX-License-Identifier: MIT
// The gradients of all parameters, and the update. A block sums g^T h over the batch for 64 x 128
// weights of a layer. It updates them in place, and their copies in bfloat16. Rows of h end with a
// 1, which makes a bias the last column of its layer. Two blocks below each other share h, so a
// layer of one row of tiles has a block without weights. The other blocks gather the images of the
// next step, and one warp of them adds up the losses.
#include <algorithm>

#include "engine/launch.h"
#include "engine/tensor_map.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/gather.cuh"
#include "kernels/networks/mlp/parts/product.cuh"
#include "kernels/optimizer/parts/sgd.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

using Update = Product<true, true, 2 * kSide, 6, true>;
// A tile of parameters, or of their velocity, as the copy engine lays it out: boxes of 32 columns.
constexpr int kColumnsOfBox = 32, kBoxes = Update::kN / kColumnsOfBox;
constexpr int kTileBytes = kBoxes * kBoxBytes;
constexpr std::size_t kSharedBytes = Update::kSharedBytes + 2 * kTileBytes;
constexpr int kLayers = 3;

struct Maps {
  CUtensorMap g[kLayers];      // (rows, out)
  CUtensorMap x[2];            // (rows, inputs + 1), of even steps and of odd ones
  CUtensorMap h[kLayers - 1];  // (rows, hidden + 1)
  CUtensorMap parameters[kLayers], velocity[kLayers];  // weights (out, in)
};

struct LayerPlace {
  std::int64_t weight;  // in the flat parameters
  int out, in;
  Bfloat16* copy;  // of the weights, (out, pitch)
  std::int64_t pitch;
  __host__ __device__ int column_tiles() const { return divide_up(in + 1, Update::kN); }
  __host__ __device__ int tiles() const {
    return (out + 2 * kSide - 1) / (2 * kSide) * 2 * column_tiles();
  }
};

__host__ __device__ inline LayerPlace place_of(const Training& t, int layer) {
  if (layer == 0) return {0, t.hidden1, t.inputs, t.exchange.w1, t.exchange.pitch_w1};
  if (layer == 1) return {t.weight2(), t.hidden2, t.hidden1, t.exchange.w2, t.hidden1};
  return {t.weight3(), t.classes, t.hidden2, t.exchange.w3, t.hidden2};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Sums in shared memory, so that a thread finds neighbours of a row: rows in other banks.
constexpr int kSumPitch = Update::kN + 4;
static_assert(kSide * kSumPitch * sizeof(float) <= Update::kStages * Update::kStageBytes);

// For one warp.
__device__ __forceinline__ void add_totals(const Training& t) {
  if (t.state.totals == nullptr) return;
  double loss = 0.0;
  long long hits = 0;
  for (int i = static_cast<int>(threadIdx.x); i < t.rows; i += 32) {
    loss += static_cast<double>(t.exchange.loss[i]);
    hits += t.exchange.hit[i];
  }
  loss = device::warp_reduce(loss, device::Add());
  hits = device::warp_reduce(hits, device::Add());
  if (threadIdx.x != 0) return;
  t.state.totals->loss_sum += loss;
  t.state.totals->hits += hits;
  t.state.totals->rows += t.rows;
}

#endif

__global__ void __launch_bounds__(kThreads, 1)
    mlp_update_kernel(const __grid_constant__ Maps maps, Training t, int chunks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ Barriers<Update> barriers;
  __shared__ std::uint64_t tile_there;
  char* ring = aligned_shared();
  device::overlap_allow();
  if (threadIdx.x == 0) device::barrier_init(&tile_there, 1);
  barriers.init();
  int tile = static_cast<int>(blockIdx.x), layer = 0;
  while (layer < kLayers && tile >= place_of(t, layer).tiles())
    tile -= place_of(t, layer++).tiles();
  const std::int64_t step = *t.state.step + t.ahead;  // see forward.cu
  device::overlap_wait();
  if (layer == kLayers) {  // `tile` counts the blocks behind the tiles
    const int blocks = static_cast<int>(gridDim.x) - (static_cast<int>(blockIdx.x) - tile);
    const int warp = tile * (kThreads / 32) + static_cast<int>(threadIdx.x) / 32;
    if (warp == 0) return add_totals(t);
    return gather_rows(t, step + 1, warp - 1, blocks * (kThreads / 32) - 1);
  }
  const LayerPlace place = place_of(t, layer);
  const int row0 = (tile / 2 / place.column_tiles() * 2 + tile % 2) * kSide;
  const int column0 = tile / 2 % place.column_tiles() * Update::kN;
  char* const parameters = ring + Update::kStages * Update::kStageBytes;
  const bool moves = t.state.velocity != nullptr;
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x != kConsumers) return;
    device::barrier_expect(&tile_there, moves ? 2 * kTileBytes : kTileBytes);
    for (int box = 0; box < kBoxes; ++box) {
      const int column = column0 + box * kColumnsOfBox;
      char* const to = parameters + box * kBoxBytes;
      device::tma_load(to, maps.parameters[layer], column, row0, &tile_there);
      if (moves) device::tma_load(to + kTileBytes, maps.velocity[layer], column, row0, &tile_there);
    }
    produce<Update>(ring, barriers, maps.g[layer],
                    layer == 0 ? maps.x[step % 2] : maps.h[layer - 1], row0, column0, chunks);
    return;
  }
  const SgdRule rule{t.state.lr[step], t.sgd.momentum, t.sgd.weight_decay, t.sgd.nesterov};
  float sum[Update::kN / 2];
  consume<Update>(sum, ring, barriers, chunks);
  consumers_sync();  // all products are made: the ring is free
  auto* const sums = reinterpret_cast<float*>(ring);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  float* to = sums + (warp * 16 + lane / 4) * kSumPitch + 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < Update::kN / 4; ++i) {
    *reinterpret_cast<float2*>(to + i % 2 * 8 * kSumPitch + i / 2 * 8) = {sum[2 * i],
                                                                          sum[2 * i + 1]};
  }
  consumers_sync();  // the sums are written
  device::barrier_wait(&tile_there, 0);
  // A lane has four neighbours of a row, which are weights, or the bias and nothing: `in` is a
  // multiple of four. These are loops, since code that runs once is fetched like data.
  const int column = column0 + 4 * lane, rows = min(kSide, place.out - row0);
  if (column < place.in) {
    const char* const box = parameters + lane / 8 * kBoxBytes;
#pragma unroll 2
    for (int row = warp; row < rows; row += kConsumers / 32) {
      const int from = row * 128 + (lane % 8 ^ row % 8) * 16;
      const float4 g = *reinterpret_cast<const float4*>(sums + row * kSumPitch + 4 * lane);
      float4 p = *reinterpret_cast<const float4*>(box + from), v = {0, 0, 0, 0};
      if (moves) v = *reinterpret_cast<const float4*>(box + kTileBytes + from);
      rule.apply(p.x, v.x, g.x);
      rule.apply(p.y, v.y, g.y);
      rule.apply(p.z, v.z, g.z);
      rule.apply(p.w, v.w, g.w);
      const std::int64_t out = row0 + row, at = out * place.in + column;
      *reinterpret_cast<float4*>(t.state.parameters + place.weight + at) = p;
      if (moves) *reinterpret_cast<float4*>(t.state.velocity + place.weight + at) = v;
      *reinterpret_cast<uint2*>(place.copy + out * place.pitch + column) = {
          device::bf16_pair(p.x, p.y), device::bf16_pair(p.z, p.w)};
    }
  } else if (column == place.in) {
#pragma unroll 1
    for (int row = warp; row < rows; row += kConsumers / 32) {
      const std::int64_t at = place.weight + std::int64_t{place.out} * place.in + row0 + row;
      float p = t.state.parameters[at], v = moves ? t.state.velocity[at] : 0.0f;
      rule.apply(p, v, sums[row * kSumPitch + 4 * lane]);
      t.state.parameters[at] = p;
      if (moves) t.state.velocity[at] = v;
    }
  }
#else
  (void)maps, (void)t, (void)chunks;
  __trap();
#endif
}

}  // namespace

void fused_mlp_update_four_kernels_bf16(const Training& t, const Stream& stream) {
  const Exchange& e = t.exchange;
  const auto map = [&](const Bfloat16* data, std::int64_t columns, std::int64_t pitch) {
    return matrix_map(data, TensorMapType::bf16, {t.rows, columns, pitch}, kSide);
  };
  Maps maps{
      {map(e.g1, t.hidden1, t.hidden1), map(e.g2, t.hidden2, t.hidden2), map(e.g3, kSide, kSide)},
      {map(e.x[0], t.inputs + 1, e.pitch_x), map(e.x[1], t.inputs + 1, e.pitch_x)},
      {map(e.h1, t.hidden1 + 1, e.pitch1), map(e.h2, t.hidden2 + 1, e.pitch2)},
      {},
      {}};
  for (int layer = 0; layer < kLayers; ++layer) {
    const LayerPlace place = place_of(t, layer);
    const auto weights = [&](const float* data) {
      return matrix_map(data + place.weight, TensorMapType::fp32, {place.out, place.in, place.in},
                        kSide);
    };
    maps.parameters[layer] = weights(t.state.parameters);
    if (t.state.velocity != nullptr) maps.velocity[layer] = weights(t.state.velocity);
  }
  int tiles = 0;
  for (int layer = 0; layer < kLayers; ++layer) tiles += place_of(t, layer).tiles();
  constexpr int kFewest = 8;  // blocks that gather
  const int others = std::max(kFewest, device_properties(stream.device()).multiprocessors - tiles);
  const int blocks = tiles + others / 2 * 2;  // whole clusters
  const Launch config{static_cast<unsigned>(blocks), kThreads, kSharedBytes, stream};
  launch(mlp_update_kernel, config.clusters_of(Update::kCluster).overlapped(), maps, t,
         divide_up(t.rows, kSide));
}

}  // namespace weft::kernels::cuda

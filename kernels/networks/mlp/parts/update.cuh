// SPDX-License-Identifier: MIT
// The update of a tile of weights whose gradients a block has summed, and the totals of a step.
#pragma once

#include <algorithm>

#include "engine/tensor_map.h"
#include "kernels/device/tma.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/parts/gather.cuh"
#include "kernels/networks/mlp/parts/layers.h"
#include "kernels/networks/mlp/parts/product.cuh"
#include "kernels/optimizer/parts/sgd.h"

namespace weft::kernels::fused_mlp {

// A tile of parameters, or of their velocity, as the copy engine lays it out: boxes of 32 columns.
constexpr int kColumnsOfBox = 32, kBoxes = kUpdateColumns / kColumnsOfBox;
constexpr int kTileBytes = kBoxes * kBoxBytes;

// Sums in shared memory, so that a thread finds neighbours of a row: rows in other banks.
constexpr int kSumPitch = kUpdateColumns + 4;

struct ParameterMaps {
  CUtensorMap parameters[kLayers], velocity[kLayers];  // weights (out, in)

  explicit ParameterMaps(const Training& t) {
    for (int layer = 0; layer < kLayers; ++layer) {
      const LayerPlace place = place_of(t, layer);
      const auto weights = [&](const float* data) {
        return matrix_map(data + place.weight, TensorMapType::fp32, {place.out, place.in, place.in},
                          kSide);
      };
      parameters[layer] = weights(t.state.parameters);
      velocity[layer] = t.state.velocity == nullptr ? CUtensorMap{} : weights(t.state.velocity);
    }
  }
};

// Whole clusters: those that have weights, and those that gather.
inline unsigned update_blocks(const Training& t, int multiprocessors) {
  int tiles = 0;
  for (int layer = 0; layer < kLayers; ++layer) tiles += place_of(t, layer).tiles();
  constexpr int kFewest = 8;  // blocks that gather
  return static_cast<unsigned>(tiles + std::max(kFewest, multiprocessors - tiles) / 2 * 2);
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// What the gradient g of a tile's layer is multiplied with.
template <class Maps>
__device__ __forceinline__ const CUtensorMap& input_of(const Maps& maps, const UpdateTile& tile,
                                                       std::int64_t step) {
  return tile.layer == 0 ? maps.x[step % 2] : maps.h[tile.layer - 1];
}

// For one thread: fetches the maps of a tile before its copies need them.
template <class Maps>
__device__ __forceinline__ void prefetch_maps(const Maps& maps, const UpdateTile& tile,
                                              std::int64_t step, bool moves) {
  if (tile.layer == kLayers) return;
  device::tma_prefetch(maps.weights.parameters[tile.layer]);
  if (moves) device::tma_prefetch(maps.weights.velocity[tile.layer]);
  device::tma_prefetch(maps.g[tile.layer]);
  device::tma_prefetch(input_of(maps, tile, step));
}

// For one thread: the block's weights and, when they move, their velocity.
__device__ __forceinline__ void load_weights(char* to, const ParameterMaps& maps,
                                             const UpdateTile& tile, bool moves,
                                             std::uint64_t* there) {
  device::barrier_expect(there, moves ? 2 * kTileBytes : kTileBytes);
  for (int box = 0; box < kBoxes; ++box, to += kBoxBytes) {
    const int column = tile.column0 + box * kColumnsOfBox;
    device::tma_load(to, maps.parameters[tile.layer], column, tile.row0, there);
    if (!moves) continue;
    device::tma_load(to + kTileBytes, maps.velocity[tile.layer], column, tile.row0, there);
  }
}

// For the two warps that start copies: the operands of a tile's product. The weights come last,
// since they are needed when the product is made.
template <class Update, class Maps>
__device__ __forceinline__ void produce_tile(char* ring, Barriers<Update>& barriers,
                                             const Maps& maps, const UpdateTile& tile,
                                             std::int64_t step, int chunks, char* weights,
                                             bool moves, std::uint64_t* weights_there) {
  produce<Update>(ring, barriers, maps.g[tile.layer], input_of(maps, tile, step), tile.row0,
                  tile.column0, chunks,
                  [&] { load_weights(weights, maps.weights, tile, moves, weights_there); });
}

// Sums of a team as wgmma leaves them, which start at column `first` of the tile.
template <int kCount>
__device__ __forceinline__ void put_sums(float* sums, const float (&sum)[kCount], int first) {
  const int warp = static_cast<int>(threadIdx.x) % kConsumers / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* to = sums + (warp * 16 + lane / 4) * kSumPitch + first + 2 * (lane % 4);
#pragma unroll
  for (int i = 0; i < kCount / 2; ++i) {
    *reinterpret_cast<float2*>(to + i % 2 * 8 * kSumPitch + i / 2 * 8) = {sum[2 * i],
                                                                          sum[2 * i + 1]};
  }
}

// Where the float4 of a lane lies in a row of the weights that load_weights() brought.
__device__ __forceinline__ int quad_place(int row, int lane) {
  return lane / 8 * kBoxBytes + row * 128 + (lane % 8 ^ row % 8) * 16;
}

// Updates the tile by kWarps warps. A lane has four neighbours of a row, which are weights, or the
// bias and nothing: `in` is a multiple of four. put(row, p) gets new weights of a row of the tile.
// These are loops, since code that runs once is fetched like data.
template <int kWarps, class Put>
__device__ __forceinline__ void update_tile(const Training& t, const UpdateTile& tile,
                                            const optimizer::SgdStep<float>& rule,
                                            const float* sums, const char* weights,
                                            const Put& put) {
  const LayerPlace place = place_of(t, tile.layer);
  const bool moves = t.state.velocity != nullptr;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int column = tile.column0 + 4 * lane, rows = min(kSide, place.out - tile.row0);
  if (column < place.in) {
#pragma unroll 2
    for (int row = warp; row < rows; row += kWarps) {
      const char* const from = weights + quad_place(row, lane);
      const float4 g = *reinterpret_cast<const float4*>(sums + row * kSumPitch + 4 * lane);
      float4 p = *reinterpret_cast<const float4*>(from), v = {0, 0, 0, 0};
      if (moves) v = *reinterpret_cast<const float4*>(from + kTileBytes);
      rule.apply(p.x, v.x, g.x);
      rule.apply(p.y, v.y, g.y);
      rule.apply(p.z, v.z, g.z);
      rule.apply(p.w, v.w, g.w);
      const std::int64_t at = place.weight + std::int64_t{tile.row0 + row} * place.in + column;
      *reinterpret_cast<float4*>(t.state.parameters + at) = p;
      if (moves) *reinterpret_cast<float4*>(t.state.velocity + at) = v;
      put(row, p);
    }
  } else if (column == place.in) {
#pragma unroll 1
    for (int row = warp; row < rows; row += kWarps) {
      const std::int64_t at = place.weight + std::int64_t{place.out} * place.in + tile.row0 + row;
      float p = t.state.parameters[at], v = moves ? t.state.velocity[at] : 0.0f;
      rule.apply(p, v, sums[row * kSumPitch + 4 * lane]);
      t.state.parameters[at] = p;
      if (moves) t.state.velocity[at] = v;
    }
  }
}

// For one warp.
__device__ __forceinline__ void add_totals(const Training& t, const float* losses,
                                           const std::int32_t* hit) {
  if (t.state.totals == nullptr) return;
  double loss = 0.0;
  long long hits = 0;
  for (int i = static_cast<int>(threadIdx.x); i < t.rows; i += 32) {
    loss += static_cast<double>(losses[i]);
    hits += hit[i];
  }
  loss = device::warp_reduce(loss, device::Add());
  hits = device::warp_reduce(hits, device::Add());
  if (threadIdx.x != 0) return;
  t.state.totals->loss_sum += loss;
  t.state.totals->hits += hits;
  t.state.totals->rows += t.rows;
}

// A block of kBlock threads without weights, the `place`-th of them: gathers images of the next
// step. One warp adds up the losses.
template <int kBlock, class Element>
__device__ __forceinline__ void serve(const Training& t, const Exchange<Element>& e, int place,
                                      std::int64_t step) {
  const int blocks = static_cast<int>(gridDim.x - blockIdx.x) + place;
  const int warp = place * (kBlock / 32) + static_cast<int>(threadIdx.x) / 32;
  if (warp == 0) return add_totals(t, e.loss, e.hit);
  gather_rows(t, e, step + 1, warp - 1, blocks * (kBlock / 32) - 1);
}

#endif

}  // namespace weft::kernels::fused_mlp

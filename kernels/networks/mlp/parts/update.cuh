// SPDX-License-Identifier: MIT
// The gradients of all parameters, and the update, for both formats of the operands. A block sums
// g^T h over the batch for 64 x 128 weights of a layer, half of the columns by each of two teams.
// It updates them in place, and their copies in the format. Rows of h end with a 1, which makes a
// bias the last column of its layer. Two blocks below each other share h, so a layer of one row of
// tiles has a block without weights. The other blocks gather the images of the next step, and one
// warp of them adds up the losses.
//
// A Format has the type of an Element, kStages, as many as fit, and update(), which updates a tile
// and its copy.
#pragma once

#include <algorithm>

#include "engine/cuda/tensor_map.h"
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/parts/gather.cuh"
#include "kernels/networks/mlp/parts/halves.cuh"
#include "kernels/networks/mlp/parts/layers.h"
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

constexpr int kUpdateBlock = kTeamThreads + kCopyThreads;

// The largest weight of each warp in each column tile of a block.
using Largest = std::uint32_t[kTeams][kTeamThreads / 32];

template <class Format>
using UpdateProduct = Product<true, true, kUpdateColumns, Format::kStages, true,
                              Exchange<typename Format::Element>::kParts, kTeams>;

struct UpdateMaps {
  CUtensorMap g[kLayers];      // (rows, out)
  CUtensorMap x[2];            // (rows, inputs + 1), of even steps and of odd ones
  CUtensorMap h[kLayers - 1];  // (rows, hidden + 1)
  ParameterMaps weights;
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

template <class Format>
__global__ void __launch_bounds__(kUpdateBlock, 1)
    mlp_update_kernel(const __grid_constant__ UpdateMaps maps, Exchange<typename Format::Element> e,
                      Training t, int chunks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Update = UpdateProduct<Format>;
  __shared__ Barriers<Update> barriers;
  __shared__ std::uint64_t weights_there;
  __shared__ Largest largest;
  char* ring = device::aligned_shared();
  device::overlap_allow();
  if (threadIdx.x == 0) device::barrier_init(&weights_there, 1);
  barriers.init(chunks);
  const UpdateTile tile(t, static_cast<int>(blockIdx.x));
  const std::int64_t step = *t.state.step + t.ahead;  // see hopper/bf16/forward.cu
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps, tile, step, t.state.velocity != nullptr);
  if (tile.layer == kLayers) {
    device::overlap_wait();
    return serve<kUpdateBlock>(t, e, tile.row0, step);
  }
  char* const weights = ring + Update::kStages * Update::kStageBytes;
  const int team = static_cast<int>(threadIdx.x) / kConsumers;
  if (team == kTeams) {
    return produce_tile(ring, barriers, maps, tile, step, chunks, weights,
                        t.state.velocity != nullptr, &weights_there);
  }
  device::overlap_wait();
  const optimizer::SgdStep<float> rule(t.sgd, t.state.lr[step]);
  float sum[kSide / 2];
  if constexpr (Update::kParts == 1) {
    consume<Update>(sum, ring, barriers, chunks, team);
  } else {
    const int out_tile = tile.row0 / kSide, in_tile = tile.column0 / kSide;
    consume_parts(sum, ring, barriers, 0, 1, chunks, team, [&](int chunk) {
      return product_shift(e, t, tile.layer, chunk, out_tile, in_tile + team);
    });
  }
  teams_sync<kTeams>();  // all products are made: the ring is free
  auto* const sums = reinterpret_cast<float*>(ring);
  put_sums(sums, sum, team * kSide);
  teams_sync<kTeams>();  // the sums are written
  device::barrier_wait(&weights_there, 0);
  Format::update(t, e, tile, rule, sums, weights, largest);
#else
  (void)maps, (void)e, (void)t, (void)chunks;
  __trap();
#endif
}

template <class Format>
void launch_update(const Training& t, const Stream& stream) {
  using Update = UpdateProduct<Format>;
  using Element = typename Format::Element;
  static_assert(kSide * kSumPitch * sizeof(float) <= Update::kStages * Update::kStageBytes);
  const Exchange<Element> e(t.workspace, t);
  constexpr int kParts = Update::kParts;
  // Rows of values in parts are written to their end, so these maps take all of them.
  const auto map = [&](const Element* data, std::int64_t columns, std::int64_t pitch) {
    return operand_map(data, t.rows, kParts == 1 ? columns : pitch, pitch);
  };
  const auto gradient = [&](const Element* data, std::int64_t columns) {
    return map(data, columns, kParts * columns);
  };
  const UpdateMaps maps{
      {gradient(e.g1, t.hidden1), gradient(e.g2, t.hidden2), gradient(e.g3, kSide)},
      {map(e.x[0], t.inputs + 1, e.pitch_x), map(e.x[1], t.inputs + 1, e.pitch_x)},
      {map(e.h1, t.hidden1 + 1, e.pitch1), map(e.h2, t.hidden2 + 1, e.pitch2)},
      ParameterMaps(t)};
  const unsigned blocks = update_blocks(t, device_properties(stream.device()).multiprocessors);
  const Launch config{blocks, kUpdateBlock, Update::kSharedBytes + 2 * kTileBytes, stream};
  launch(mlp_update_kernel<Format>, config.clusters_of(Update::kCluster).overlapped(), maps, e, t,
         divide_up(t.rows, kSide));
}

}  // namespace weft::kernels::fused_mlp

// SPDX-License-Identifier: MIT
// What the blocks do for the parameters when all images are done: sums over the batch, and the
// update, each parameter by one thread.
//
//   weights of the linear layers   a block takes a tile of 24 x 20: 12 warps, each a part of the
//                                  batch, 30 lanes of 4 x 4 each, read dy and x from the L2 cache
//   everything else                is the sum of a column: of the blocks' filter gradients, or of
//                                  dy for a bias. The 4 other warps sum 32 columns meanwhile
//
// Then the warps' partial sums are added in order and the parameter is updated where it stands.
#pragma once

#include "engine/extent.h"
#include "kernels/device/vector.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/cnn/parts/arguments.h"
#include "kernels/networks/cnn/parts/thread.cuh"
#include "kernels/optimizer/parts/sgd.h"

namespace weft::kernels::fused_cnn {

// A linear layer's places: in the rows of gradients and inputs, and in the parameters.
struct LinearPlace {
  int rows, columns, gradient, input, weight, bias;
  __host__ __device__ constexpr int column_tiles() const {
    return divide_up(columns, Tile::kColumns);
  }
  __host__ __device__ constexpr int tiles() const {
    return divide_up(rows, Tile::kRows) * column_tiles();
  }
  __host__ __device__ constexpr int chunks() const { return divide_up(rows, Tile::kChunk); }
};

template <class Net>
__host__ __device__ constexpr LinearPlace linear_place(int layer, int classes) {
  using S = Shape<Net>;
  if (layer == 0) return {S::kHidden1, S::kFeatures, 0, 0, S::kFc1Weight, S::kFc1Bias};
  if (layer == 1) {
    return {S::kHidden2, S::kHidden1, S::kHidden1, S::kFeatures, S::kFc2Weight, S::kFc2Bias};
  }
  return {classes,
          S::kHidden2,
          S::kHidden1 + S::kHidden2,
          S::kFeatures + S::kHidden1,
          S::kFc3Weight,
          S::kFc3Weight + classes * S::kHidden2};
}

constexpr int kLinearLayers = 3;

// Tiles and chunks of all layers: the turns of a grid of one block.
template <class Net>
__host__ __device__ constexpr int parameter_tasks(int classes) {
  int tiles = 0, chunks = divide_up(Shape<Net>::kConvParameters, Tile::kChunk);
  for (int layer = 0; layer < kLinearLayers; ++layer) {
    tiles += linear_place<Net>(layer, classes).tiles();
    chunks += linear_place<Net>(layer, classes).chunks();
  }
  return tiles > chunks ? tiles : chunks;
}

// A tile of dy^T x over the rows of the batch.
struct WeightTile {
  LinearPlace layer;
  int row, column;  // of its first element
  bool there;

  // Index in the flat parameters, or -1.
  __device__ __forceinline__ int parameter(int element) const {
    const int r = row + element / Tile::kColumns, c = column + element % Tile::kColumns;
    return there && r < layer.rows && c < layer.columns ? layer.weight + r * layer.columns + c : -1;
  }
};

template <class Net>
__device__ __forceinline__ WeightTile find_tile(int task, int classes) {
  int layer = 0;
  while (layer < kLinearLayers - 1 && task >= linear_place<Net>(layer, classes).tiles()) {
    task -= linear_place<Net>(layer++, classes).tiles();
  }
  const LinearPlace place = linear_place<Net>(layer, classes);
  return {place, task / place.column_tiles() * Tile::kRows,
          task % place.column_tiles() * Tile::kColumns, task < place.tiles()};
}

// Columns of a matrix (rows, stride), to be summed.
struct ColumnChunk {
  const float* from;
  std::int64_t rows;
  int stride;
  int count;      // columns from the first on; the chunk takes kChunk of them
  int parameter;  // that the first column belongs to
  bool there;
};

template <class Net>
__device__ __forceinline__ ColumnChunk find_chunk(int task, const Training& t) {
  using S = Shape<Net>;
  constexpr int kFilterChunks = divide_up(S::kConvParameters, Tile::kChunk);
  if (task < kFilterChunks) {
    const int first = task * Tile::kChunk;
    return {t.exchange.filters + first, t.image_blocks, S::kFilterStride,
            S::kConvParameters - first, first,          true};
  }
  task -= kFilterChunks;
  int layer = 0;
  while (layer < kLinearLayers - 1 && task >= linear_place<Net>(layer, t.classes).chunks()) {
    task -= linear_place<Net>(layer++, t.classes).chunks();
  }
  const LinearPlace place = linear_place<Net>(layer, t.classes);
  const int first = task * Tile::kChunk;
  return {t.exchange.gradients + place.gradient + first,
          t.rows,
          S::kGradients,
          place.rows - first,
          place.bias + first,
          task < place.chunks()};
}

// This warp's part of a tile: rows warp, warp + kWarps, ... of the batch. Loads of kAhead rows from
// the L2 cache are in flight at a time.
template <class Net>
__device__ __forceinline__ void sum_tile(float* part, const WeightTile& tile, const Training& t,
                                         int warp, int lane) {
  using S = Shape<Net>;
  constexpr int kLaneColumns = Tile::kColumns / 4, kAhead = 8;
  static_assert(Tile::kRows / 4 * kLaneColumns <= 32, "a warp holds the tile, 4 x 4 to a lane");
  const int row = lane / kLaneColumns * 4, column = lane % kLaneColumns * 4;
  float sum[4][4] = {};
  if (tile.there && row < Tile::kRows && tile.row + row < tile.layer.rows &&
      tile.column + column < tile.layer.columns) {
    const float* dy = t.exchange.gradients + tile.layer.gradient + tile.row + row;
    const float* x = t.exchange.inputs + tile.layer.input + tile.column + column;
    for (std::int64_t first = warp; first < t.rows; first += kAhead * Tile::kWarps) {
      device::Float4 a[kAhead], b[kAhead];
#pragma unroll
      for (int j = 0; j < kAhead; ++j) {
        const std::int64_t i = first + j * Tile::kWarps;
        a[j] = b[j] = device::Float4{};
        if (i >= t.rows) continue;
        a[j] = *reinterpret_cast<const device::Float4*>(dy + i * S::kGradients);
        b[j] = *reinterpret_cast<const device::Float4*>(x + i * S::kInputs);
      }
#pragma unroll
      for (int j = 0; j < kAhead; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int c = 0; c < 4; ++c) sum[r][c] += a[j].lane[r] * b[j].lane[c];
        }
      }
    }
  }
  if (row >= Tile::kRows) return;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    *reinterpret_cast<float4*>(part + (row + r) * Tile::kColumns + column) = {sum[r][0], sum[r][1],
                                                                              sum[r][2], sum[r][3]};
  }
}

// Quads of columns, kChunkParts threads to each, which share the rows. `thread` counts from 0.
__device__ __forceinline__ void sum_columns(float (*parts)[Tile::kChunk], const ColumnChunk& chunk,
                                            int thread) {
  const int quad = 4 * (thread % (Tile::kChunk / 4)), part = thread / (Tile::kChunk / 4);
  device::Float4 sum{};
  if (chunk.there && quad < chunk.count) {
#pragma unroll 8
    for (std::int64_t i = part; i < chunk.rows; i += Tile::kChunkParts) {
      const auto values =
          *reinterpret_cast<const device::Float4*>(chunk.from + i * chunk.stride + quad);
#pragma unroll
      for (int k = 0; k < 4; ++k) sum.lane[k] += values.lane[k];
    }
  }
  *reinterpret_cast<device::Float4*>(&parts[part][quad]) = sum;
}

// totals += the losses and hits of `blocks` blocks, in order; for one warp.
__device__ __forceinline__ void add_totals(MetricTotals* totals, const Exchange& exchange,
                                           int blocks, std::int64_t rows) {
  const int lane = lane_id();
  double loss = 0.0;
  long long hits = 0;
  for (int i = lane; i < blocks; i += device::kWarpSize) {
    loss += exchange.losses[i];
    hits += exchange.hits[i];
  }
  loss = device::warp_reduce(loss, device::Add());
  hits = device::warp_reduce(hits, device::Add());
  if (lane != 0) return;
  totals->loss_sum += loss;
  totals->hits += hits;
  totals->rows += rows;
}

// What a block sums in one turn, and the parameter that this thread finishes, or -1.
struct Turn {
  WeightTile tile;
  ColumnChunk chunk;
  int column;  // of the chunk, when >= 0
  int index;
};
template <class Net>
__device__ __forceinline__ Turn turn_of(int task, const Training& t) {
  const WeightTile tile = find_tile<Net>(task, t.classes);
  const ColumnChunk chunk = find_chunk<Net>(task, t);
  const int column = thread_id() - Tile::kElements;
  const int index = column < 0                            ? tile.parameter(thread_id())
                    : chunk.there && column < chunk.count ? chunk.parameter + column
                                                          : -1;
  return {tile, chunk, column, index};
}

// The gradient of this thread's parameter. All threads of the block call it; a barrier follows
// before the next turn.
template <class Net>
__device__ __forceinline__ float sum_turn(ParameterMemory& memory, const Turn& turn,
                                          const Training& t) {
  const int thread = thread_id(), warp = thread / 32, lane = thread % 32;
  if (warp < Tile::kWarps) {
    sum_tile<Net>(memory.tile[warp], turn.tile, t, warp, lane);
  } else {
    sum_columns(memory.chunk, turn.chunk, thread - 32 * Tile::kWarps);
  }
  __syncthreads();  // all parts are written
  float gradient = 0.0f;
  if (turn.column < 0) {
#pragma unroll
    for (int part = 0; part < Tile::kWarps; ++part) gradient += memory.tile[part][thread];
  } else {
#pragma unroll
    for (int part = 0; part < Tile::kChunkParts; ++part)
      gradient += memory.chunk[part][turn.column];
  }
  return gradient;
}

// All threads of all blocks call it when the images' results of step `step` are visible.
template <class Net>
__device__ __forceinline__ void update_parameters(ParameterMemory& memory, const Training& t,
                                                  std::int64_t step) {
  static_assert(Tile::kElements + Tile::kChunk == kThreads, "a thread finishes one parameter");
  const float rate = t.lr[step], momentum = t.sgd.momentum;
  const int tasks = parameter_tasks<Net>(t.classes);
  for (int task = static_cast<int>(blockIdx.x); task < tasks; task += static_cast<int>(gridDim.x)) {
    const Turn turn = turn_of<Net>(task, t);
    const int index = turn.index;
    float parameter = index >= 0 ? t.parameters[index] : 0.0f;
    float velocity = index >= 0 && momentum != 0.0f ? t.velocity[index] : 0.0f;
    const float gradient = sum_turn<Net>(memory, turn, t);
    if (index >= 0) {
      optimizer::SgdStep<float>({momentum, t.sgd.weight_decay, t.sgd.nesterov}, rate)
          .apply(parameter, velocity, gradient);
      t.parameters[index] = parameter;
      if (momentum != 0.0f) t.velocity[index] = velocity;
    }
    __syncthreads();  // the parts are read before the next ones are written
  }
  if (t.totals != nullptr && blockIdx.x == gridDim.x - 1 && warp_id() == 0) {
    add_totals(t.totals, t.exchange, t.image_blocks, t.rows);
  }
}

}  // namespace weft::kernels::fused_cnn

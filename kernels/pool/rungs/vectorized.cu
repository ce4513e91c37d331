// SPDX-License-Identifier: MIT
// Pooling by tiles: a thread moves 16 bytes at a time, and memory is the only thing to wait for.
//
//   forward    a tile is two neighbouring windows of stride 2:   x   [ 16 bytes ]  kSize rows
//              one vector of each row that they cover, and for       [ 16 bytes ]
//              3 x 3 the one cell to its left or right           y     [8 bytes]
//   backward   the same tile the other way: 2 rows of 16 bytes of dx, which the 2 windows that
//              begin there touch, and for 3 x 3 those before or after; what argmax does not point
//              to gets zeros, so each dx is written once and nothing is added by atomics
//
// For windows of 2 x 2, and of 3 x 3 with padding 0 or 1; other windows are for gather. Rows whose
// width is no multiple of 4, or that begin at odd addresses, are tiles of one window with vectors
// of 8 bytes or none. Everything about a window is a constant, so loops over cells are straight
// code; finding plane, row and column of a tile takes two multiplications each (fast_divide.cuh).
//
// Budget: blocks of 256 threads with at most 32 registers each, no shared memory. A thread of 2 x 2
// has two tiles in flight: loads of 64 bytes forward and 32 backward (16 for the average), which
// make 128, 64 and 32 KiB for the 8 blocks of an SM. 4.2 TB/s at a latency of 0.9 us need 28 KiB in
// all, stores included. The rows that 3 x 3 windows share come from L1, so each byte comes from
// memory once. A warp takes about 34 instructions for 32 outputs of 2 x 2 and 67 of 3 x 3 forward,
// 12 and 20 for 32 inputs backward (sm_90a); the average takes fewer.
#include <cstdint>
#include <limits>

#include "engine/launch.h"
#include "kernels/pool/launchers.h"
#include "kernels/pool/parts/tiles.cuh"

namespace weft::kernels::cuda {

namespace {

// What a window makes of its cells; kOutside is a cell of the padding.
struct Average {
  static constexpr float kOutside = 0.0f;
  float value = 0.0f;
  int index = 0;

  __device__ __forceinline__ void take(float cell, int) { value += cell; }
  __device__ __forceinline__ float result(float weight) const { return value * weight; }
};

// The first NaN wins and stays; of equal values the first stays.
struct Maximum {
  static constexpr float kOutside = -std::numeric_limits<float>::infinity();
  float value = kOutside;
  int index = 0;  // before any cell: of the first that is not padding

  __device__ __forceinline__ void take(float cell, int at) {
    if (!(cell <= value) && value == value) {
      value = cell;
      index = at;
    }
  }
  __device__ __forceinline__ float result(float) const { return value; }
};

template <class Rule, class Tile, bool kPlaced>
__global__ void __launch_bounds__(kPoolThreads)
    forward_kernel(float* __restrict__ y, std::int32_t* __restrict__ argmax,
                   const float* __restrict__ x, PoolShape s, float weight) {
  constexpr int kSize = Tile::kSize, kPad = Tile::kPad, kOutputs = Tile::kOutputs;
  const int first = static_cast<int>(blockIdx.x) * (Tile::kInFlight * kPoolThreads) +
                    static_cast<int>(threadIdx.x);
  PoolPlace place[Tile::kInFlight];
  float cells[Tile::kInFlight][kSize][Tile::kSpan];
#pragma unroll
  for (int k = 0; k < Tile::kInFlight; ++k) {
    place[k] = s.place(min(first + k * kPoolThreads, s.tiles - 1));
    const int top = 2 * place[k].row - kPad, left = Tile::kColumns * place[k].column - kPad;
    const std::int64_t corner = pool_offset(place[k].plane, s.inputs, top * s.w + left);
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const bool there = kPad == 0 || static_cast<unsigned>(top + i) < static_cast<unsigned>(s.h);
      load_pool_row<kPad, Tile::kVector ? Tile::kColumns : 0>(cells[k][i], x, corner + i * s.w,
                                                              there, left, s.w, Rule::kOutside);
    }
  }
#pragma unroll
  for (int k = 0; k < Tile::kInFlight; ++k) {
    if (first + k * kPoolThreads >= s.tiles) return;
    const int top = 2 * place[k].row - kPad, left = Tile::kColumns * place[k].column - kPad;
    Rule windows[kOutputs];
#pragma unroll
    for (int o = 0; o < kOutputs; ++o) {
      windows[o].index = max(top, 0) * s.w + max(left + 2 * o, 0);
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
#pragma unroll
        for (int j = 2 * o; j < 2 * o + kSize; ++j) {
          windows[o].take(cells[k][i][j], (top + i) * s.w + left + j);
        }
      }
    }
    const int column = kOutputs * place[k].column;
    const std::int64_t to = pool_offset(place[k].plane, s.outputs, place[k].row * s.ow + column);
    if constexpr (Tile::kPairs) {
      const PoolVector<float, 2> results = {windows[0].result(weight), windows[1].result(weight)};
      *reinterpret_cast<PoolVector<float, 2>*>(y + to) = results;
      if constexpr (kPlaced) {
        *reinterpret_cast<PoolVector<std::int32_t, 2>*>(argmax + to) = {windows[0].index,
                                                                        windows[1].index};
      }
    } else {
#pragma unroll
      for (int o = 0; o < kOutputs; ++o) {
        if (column + o >= s.ow) break;
        y[to + o] = windows[o].result(weight);
        if constexpr (kPlaced) argmax[to + o] = windows[o].index;
      }
    }
  }
}

// Rows and columns of windows around a tile of dx, as many both ways as reach into it.
template <class Tile, class T, int kRows, int kCount>
__device__ __forceinline__ void load_windows(T (&to)[kRows][kCount], const T* __restrict__ from,
                                             const PoolPlace& at, const PoolShape& s, T outside) {
  const int top = at.row - Tile::kBefore, left = Tile::kOutputs * at.column - Tile::kBefore;
  const std::int64_t corner = pool_offset(at.plane, s.outputs, top * s.ow + left);
#pragma unroll
  for (int a = 0; a < kRows; ++a) {
    const bool there = static_cast<unsigned>(top + a) < static_cast<unsigned>(s.oh);
    load_pool_row<Tile::kBefore, Tile::kPairs ? 2 : 0>(to[a], from, corner + a * s.ow, there, left,
                                                       s.ow, outside);
  }
}

// One row of a tile. Adding to what is there would wait for memory again; no layer needs it.
template <class Tile>
__device__ __forceinline__ void store_row(float* to, const float (&values)[Tile::kColumns],
                                          int column, int columns, bool accumulate) {
  using Row = PoolVector<float, Tile::kColumns>;
  if constexpr (Tile::kVector) {
    Row row = accumulate ? *reinterpret_cast<const Row*>(to) : Row{};
#pragma unroll
    for (int j = 0; j < Tile::kColumns; ++j) {
      row.lane[j] = accumulate ? row.lane[j] + values[j] : values[j];
    }
    *reinterpret_cast<Row*>(to) = row;
  } else {
#pragma unroll
    for (int j = 0; j < Tile::kColumns; ++j) {
      if (column + j < columns) to[j] = accumulate ? to[j] + values[j] : values[j];
    }
  }
}

template <bool kMaximum, class Tile>
__global__ void __launch_bounds__(kPoolThreads)
    backward_kernel(float* dx, const float* __restrict__ dy,
                    const std::int32_t* __restrict__ argmax, PoolShape s, float weight,
                    bool accumulate) {
  constexpr int kRows = Tile::kBefore + 1 + Tile::kAfter;
  constexpr int kCount = Tile::kBefore + Tile::kOutputs + Tile::kAfter;
  const int first = static_cast<int>(blockIdx.x) * (Tile::kInFlight * kPoolThreads) +
                    static_cast<int>(threadIdx.x);
  PoolPlace place[Tile::kInFlight];
  float share[Tile::kInFlight][kRows][kCount];
  std::int32_t chosen[Tile::kInFlight][kRows][kCount];
#pragma unroll
  for (int k = 0; k < Tile::kInFlight; ++k) {
    place[k] = s.place(min(first + k * kPoolThreads, s.tiles - 1));
    load_windows<Tile>(share[k], dy, place[k], s, 0.0f);
    if constexpr (kMaximum) load_windows<Tile>(chosen[k], argmax, place[k], s, -1);
  }
#pragma unroll
  for (int k = 0; k < Tile::kInFlight; ++k) {
    if (first + k * kPoolThreads >= s.tiles) return;
    const int top = 2 * place[k].row, left = Tile::kColumns * place[k].column;
    float* to = dx + pool_offset(place[k].plane, s.inputs, top * s.w + left);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (top + i >= s.h) break;
      float values[Tile::kColumns];
#pragma unroll
      for (int j = 0; j < Tile::kColumns; ++j) {
        float sum = 0.0f;
#pragma unroll
        for (int a = 0; a < kRows; ++a) {
#pragma unroll
          for (int b = 0; b < kCount; ++b) {
            // The cell's place in the window, if it is in there.
            const int row = i - 2 * (a - Tile::kBefore) + Tile::kPad;
            const int column = j - 2 * (b - Tile::kBefore) + Tile::kPad;
            if (row < 0 || row >= Tile::kSize || column < 0 || column >= Tile::kSize) continue;
            const bool takes = !kMaximum || chosen[k][a][b] == (top + i) * s.w + left + j;
            sum += takes ? share[k][a][b] : 0.0f;
          }
        }
        values[j] = kMaximum ? sum : sum * weight;
      }
      store_row<Tile>(to + i * s.w, values, left, s.w, accumulate);
    }
  }
}

float weight_of(const PoolDims& d) {
  return 1.0f / static_cast<float>(d.kh * d.kw);
}

template <class Rule, bool kPlaced>
void forward(float* y, std::int32_t* argmax, const float* x, const PoolDims& dims,
             const Stream& stream) {
  with_pool_tile(dims, x, y, argmax, [&](auto tile) {
    using Tile = decltype(tile);
    const PoolShape s = pool_shape(dims, dims.oh(), divide_up(dims.ow(), Tile::kOutputs));
    launch(forward_kernel<Rule, Tile, kPlaced>, pool_launch<Tile>(s, stream), y, argmax, x, s,
           weight_of(dims));
  });
}

template <bool kMaximum>
void backward(float* dx, const float* dy, const std::int32_t* argmax, const PoolDims& dims,
              GradientMode mode, const Stream& stream) {
  with_pool_tile(dims, dx, dy, argmax, [&](auto tile) {
    using Tile = decltype(tile);
    const PoolShape s = pool_shape(dims, (dims.h + 1) / 2, divide_up(dims.w, Tile::kColumns));
    launch(backward_kernel<kMaximum, Tile>, pool_launch<Tile>(s, stream), dx, dy, argmax, s,
           weight_of(dims), mode == GradientMode::accumulate);
  });
}

}  // namespace

std::string pool_takes_vectorized(const PoolDims& d) {
  const bool square = d.kh == d.kw && d.stride_h == 2 && d.stride_w == 2 && d.pad_h == d.pad_w;
  const bool known = (d.kh == 2 && d.pad_h == 0) || (d.kh == 3 && d.pad_h <= 1);
  if (!square || !known) {
    return "it takes windows of 2 x 2, or of 3 x 3 padded by at most 1, with stride 2";
  }
  if (!d.is_plain()) return "it takes the same padding on both sides, which counts in means";
  // Tiles, of two by two elements at least, are numbered by 32 bits.
  const bool few = d.n * d.c * ((d.h + 1) / 2) * ((d.w + 1) / 2) <= std::int64_t{1} << 30;
  return few ? "" : "it takes at most 2^30 windows";
}

void max_pool2d_forward_vectorized(float* y, std::int32_t* argmax, const float* x,
                                   const PoolDims& dims, const Stream& stream) {
  if (argmax != nullptr) return forward<Maximum, true>(y, argmax, x, dims, stream);
  forward<Maximum, false>(y, argmax, x, dims, stream);
}

void max_pool2d_backward_vectorized(float* dx, const float* dy, const std::int32_t* argmax,
                                    const PoolDims& dims, GradientMode mode, const Stream& stream) {
  backward<true>(dx, dy, argmax, dims, mode, stream);
}

void avg_pool2d_forward_vectorized(float* y, const float* x, const PoolDims& dims,
                                   const Stream& stream) {
  forward<Average, false>(y, nullptr, x, dims, stream);
}

void avg_pool2d_backward_vectorized(float* dx, const float* dy, const PoolDims& dims,
                                    GradientMode mode, const Stream& stream) {
  backward<false>(dx, dy, nullptr, dims, mode, stream);
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// The inner loop of register-tiled products: a block holds a (kM, kN) tile of the result, each
// thread kThreadM x kThreadN elements of it in registers.
//
// Operands are staged in shared memory k-major, A as (kK, kM) and B as (kK, kN), so that a thread's
// fragment is read by 16-byte loads. The rows are kStrideA and kStrideB floats: 4 more than the
// tile, which makes the transposing stores of TileMap free of bank conflicts. kGroups groups of
// threads hold the same tile and share the kK steps of a chunk; store_tile() adds their parts.
#pragma once

#include <cstdint>

namespace weft::kernels::device {

template <int kM_, int kN_, int kK_, int kThreadM_, int kThreadN_, int kGroups_ = 1>
struct RegisterTile {
  static constexpr int kM = kM_, kN = kN_, kK = kK_;
  static constexpr int kThreadM = kThreadM_, kThreadN = kThreadN_, kGroups = kGroups_;
  static constexpr int kRowsOfThreads = kM / kThreadM, kColumnsOfThreads = kN / kThreadN;
  static constexpr int kGroupThreads = kRowsOfThreads * kColumnsOfThreads;
  static constexpr int kThreads = kGroupThreads * kGroups;
  static constexpr int kStrideA = kM + 4, kStrideB = kN + 4;
  static constexpr int kStageFloats = kK * (kStrideA + kStrideB);
  // Rows of the groups' parts are padded, so that 16-byte stores spread over the banks.
  static constexpr int kSumStride = kN + 4;
  static constexpr int kSumFloats = kGroups > 1 ? kGroups* kM* kSumStride : 0;
  // Two stages, then reused by store_tile().
  static constexpr int kSharedFloats =
      2 * kStageFloats > kSumFloats ? 2 * kStageFloats : kSumFloats;

  // Lanes of a warp lie 4 x 8 or 8 x 4, which keeps the distinct fragments of a warp few.
  static constexpr int kLaneColumns = kColumnsOfThreads < 8 ? kColumnsOfThreads : 8;
  static constexpr int kLaneRows = 32 / kLaneColumns;
  static constexpr int kVectorM = kThreadM < 4 ? kThreadM : 4;
  static constexpr int kVectorN = 4;

  static_assert(kM % kThreadM == 0 && kN % kThreadN == 0, "threads tile the block's tile");
  static_assert(kGroupThreads % 32 == 0, "a warp belongs to one group");
  static_assert(kColumnsOfThreads % kLaneColumns == 0 && kRowsOfThreads % kLaneRows == 0,
                "warps tile the group");
  static_assert(kK % kGroups == 0, "groups share a chunk evenly");
  static_assert(kThreadM % kVectorM == 0 && kThreadN % kVectorN == 0, "fragments are vectors");
  static_assert(kStageFloats % 4 == 0, "stages stay aligned to 16 bytes");
};

// The place of a thread in the tile.
template <class Tile>
struct TilePlace {
  int group, row, column;  // row, column: of the thread in its group's grid of threads

  __device__ explicit TilePlace(int thread) : group(thread / Tile::kGroupThreads) {
    constexpr int kWarpColumns = Tile::kColumnsOfThreads / Tile::kLaneColumns;
    const int lane = thread % 32, warp = thread % Tile::kGroupThreads / 32;
    row = warp / kWarpColumns * Tile::kLaneRows + lane / Tile::kLaneColumns;
    column = warp % kWarpColumns * Tile::kLaneColumns + lane % Tile::kLaneColumns;
  }
  // Row and column in the tile of element (i, j) of the thread: vectors of neighbours, spread over
  // the tile so that the lanes of a warp read consecutive vectors.
  __device__ int tile_row(int i) const {
    return (i / Tile::kVectorM * Tile::kRowsOfThreads + row) * Tile::kVectorM + i % Tile::kVectorM;
  }
  __device__ int tile_column(int j) const {
    return (j / Tile::kVectorN * Tile::kColumnsOfThreads + column) * Tile::kVectorN +
           j % Tile::kVectorN;
  }
};

// fragment[0..kCount) from kCount / kVector vectors, kStep floats apart, in shared memory.
template <int kCount, int kVector, int kStep>
__device__ __forceinline__ void load_fragment(float (&fragment)[kCount], const float* shared) {
  static_assert(kVector == 1 || kVector == 2 || kVector == 4, "vector loads of 4, 8 or 16 bytes");
#pragma unroll
  for (int i = 0; i < kCount; i += kVector) {
    const float* from = shared + i / kVector * kStep;
    if constexpr (kVector == 4) {
      const float4 v = *reinterpret_cast<const float4*>(from);
      fragment[i] = v.x, fragment[i + 1] = v.y, fragment[i + 2] = v.z, fragment[i + 3] = v.w;
    } else if constexpr (kVector == 2) {
      const float2 v = *reinterpret_cast<const float2*>(from);
      fragment[i] = v.x, fragment[i + 1] = v.y;
    } else {
      fragment[i] = *from;
    }
  }
}

// sum += A B over this group's share of one chunk. stage: A (kK, kStrideA), then B (kK, kStrideB).
template <class Tile>
__device__ __forceinline__ void multiply_chunk(float (&sum)[Tile::kThreadM][Tile::kThreadN],
                                               const float* stage, const TilePlace<Tile>& place) {
  constexpr int kSteps = Tile::kK / Tile::kGroups;
  // 64 sums leave registers for the fragments of two steps at 128 registers a thread.
  constexpr int kUnroll = Tile::kThreadM * Tile::kThreadN < 64 ? kSteps : 2;
  const float* a_rows = stage + place.group * kSteps * Tile::kStrideA + place.row * Tile::kVectorM;
  const float* b_rows = stage + Tile::kK * Tile::kStrideA + place.group * kSteps * Tile::kStrideB +
                        place.column * Tile::kVectorN;
#pragma unroll kUnroll
  for (int k = 0; k < kSteps; ++k) {
    float a[Tile::kThreadM], b[Tile::kThreadN];
    load_fragment<Tile::kThreadM, Tile::kVectorM, Tile::kRowsOfThreads * Tile::kVectorM>(
        a, a_rows + k * Tile::kStrideA);
    load_fragment<Tile::kThreadN, Tile::kVectorN, Tile::kColumnsOfThreads * Tile::kVectorN>(
        b, b_rows + k * Tile::kStrideB);
#pragma unroll
    for (int i = 0; i < Tile::kThreadM; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kThreadN; ++j) sum[i][j] += a[i] * b[j];
    }
  }
}

// Hands the tile to store(row, column, float4) in quads of neighbouring columns, each exactly once,
// in tile coordinates. With several groups their parts go through shared memory (kSumFloats, free
// when called) and are added in group order. All threads of the block call it.
template <class Tile, class Store>
__device__ __forceinline__ void store_tile(const float (&sum)[Tile::kThreadM][Tile::kThreadN],
                                           float* shared, const TilePlace<Tile>& place,
                                           const Store& store) {
  constexpr int kPart = Tile::kM * Tile::kSumStride;
#pragma unroll
  for (int i = 0; i < Tile::kThreadM; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kThreadN; j += 4) {
      const float4 quad = {sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]};
      const int row = place.tile_row(i), column = place.tile_column(j);
      if constexpr (Tile::kGroups == 1) {
        store(row, column, quad);
      } else {
        float* part = shared + place.group * kPart;
        *reinterpret_cast<float4*>(part + row * Tile::kSumStride + column) = quad;
      }
    }
  }
  if constexpr (Tile::kGroups > 1) {
    __syncthreads();  // every group's part is written
    for (int q = threadIdx.x; q < Tile::kM * Tile::kN / 4; q += Tile::kThreads) {
      const int row = q / (Tile::kN / 4), column = q % (Tile::kN / 4) * 4;
      const float* part = shared + row * Tile::kSumStride + column;
      float4 total = *reinterpret_cast<const float4*>(part);
#pragma unroll
      for (int group = 1; group < Tile::kGroups; ++group) {
        const float4 v = *reinterpret_cast<const float4*>(part + group * kPart);
        total.x += v.x, total.y += v.y, total.z += v.z, total.w += v.w;
      }
      store(row, column, total);
    }
  }
}

// Gives each thread the elements of a (kX, kK) operand chunk that it copies. x is the m or n of the
// operand.
//
// kAlongK: memory runs along k. A warp copies patches of 8 k x 4 x: each row of a patch is one
// 32-byte sector, and the k-major stores hit 32 different banks. Otherwise memory runs along x and
// so do the lanes.
template <int kX, int kK, int kThreads, bool kAlongK>
struct TileMap {
  static constexpr int kCount = kX * kK / kThreads;
  static constexpr int kPatches = kK / 8;
  static constexpr int kStepK = kAlongK ? 0 : kThreads / kX;
  static constexpr int kStepX = kAlongK ? kThreads / 32 / kPatches * 4 : 0;
  static_assert(kX * kK % kThreads == 0, "every thread copies the same number of elements");
  static_assert(kAlongK ? kK % 8 == 0 && kThreads / 32 % kPatches == 0 && kX % kStepX == 0
                        : kThreads % kX == 0,
                "k or x is the same for all elements of a thread");

  int k, x;  // of the thread's first element; element e lies at (k + e kStepK, x + e kStepX)

  __device__ explicit TileMap(int thread) {
    if constexpr (kAlongK) {
      const int warp = thread / 32, lane = thread % 32;
      k = warp % kPatches * 8 + lane % 8;
      x = warp / kPatches * 4 + lane / 8;
    } else {
      k = kThreads == kX ? 0 : thread / kX;  // known to be the same in the whole block
      x = thread % kX;
    }
  }

  // To k-major shared memory with rows of kStride floats.
  template <int kStride>
  __device__ __forceinline__ void store(float* shared, const float (&values)[kCount]) const {
#pragma unroll
    for (int e = 0; e < kCount; ++e) {
      shared[(k + e * kStepK) * kStride + x + e * kStepX] = values[e];
    }
  }
};

// Reads one matrix operand of a block, chunk after chunk along k, into registers.
template <class Map, int kK, bool kAlongK>
struct MatrixStream {
  Map map;
  const float* next;      // this thread's first element of the next chunk
  std::int64_t row_step;  // from one of its elements to the next
  std::int64_t chunk_step;
  int extent;  // rows or columns of the tile that exist

  __device__ MatrixStream(const float* operand, std::int64_t x0, std::int64_t x_extent,
                          std::int64_t ld)
      : map(threadIdx.x) {
    const std::int64_t x = x0 + map.x;
    next = operand + (kAlongK ? x * ld + map.k : map.k * ld + x);
    row_step = ld * (kAlongK ? Map::kStepX : Map::kStepK);
    chunk_step = kAlongK ? kK : kK * ld;
    extent = static_cast<int>(min(x_extent - x0, std::int64_t{1024}));
  }

  // k_left: what is left of k from this chunk on.
  __device__ __forceinline__ void load(float (&values)[Map::kCount], std::int64_t k_left) {
    const int depth = static_cast<int>(min(k_left, std::int64_t{kK}));
    const float* from = next;
#pragma unroll
    for (int e = 0; e < Map::kCount; ++e) {
      const bool inside = map.x + e * Map::kStepX < extent && map.k + e * Map::kStepK < depth;
      values[e] = inside ? *from : 0.0f;  // not __ldg(): see device::overlap_wait()
      from += row_step;
    }
    next += chunk_step;
  }
};

}  // namespace weft::kernels::device

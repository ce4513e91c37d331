// SPDX-License-Identifier: MIT
// How the parts of a tile of C become one. Four warps of a block have summed the same tile of 64
// rows over different parts of k, and so may up to eight blocks of a cluster have done (sm_90).
//
//   registers of a warp --write()--> its part in shared memory
//   the parts of the block: a quarter of the tile for each warp --add_up()--> registers
//   the quarters of all blocks of the tile, read through the cluster --finish()--> rows of C
//
// Each block finishes as much. All adds have a fixed order.
//
// This code runs once for each tile, and an instruction that runs once has to be fetched first: a
// warp that is alone may wait 2.4 cycles and more for each. So it is short. Sums stay in the order
// in which mma leaves them, four to a lane, and a lane then has two rows of C.
#pragma once

#include "kernels/device/cluster.cuh"
#include "kernels/gemm/hopper/tma_operand.cuh"
#include "kernels/gemm/parts/store.cuh"

namespace weft::kernels::cuda {

constexpr int kTilePartWarps = 4;
static_assert(kTilePartWarps == kTmaFragments, "a warp adds up a fragment of rows");

// The sums of one warp: [row fragment of 16][column fragment of 16][column half of 8][4 registers
// of one mma]; and the row sums: [row fragment of 16][row half of 8].
template <int kColumns>
using TileSums = float[kTmaFragments][kColumns / 16][2][4];
using TileRowSums = float[kTmaFragments][2];

// In shared memory. kColumns of the tile: 64 or 32.
template <bool kTransposeB, int kColumns>
struct TileParts {
  static constexpr int kAcross = kColumns / 16;  // quads of a lane beside each other
  static constexpr int kQuads = 2 * kAcross;     // in a fragment of rows
  float4 sums[kTilePartWarps][kTmaFragments][kQuads][32];
  float row_sums[kTilePartWarps][kTmaSide];

  // Called by each of the warps.
  template <bool kSumsRows>
  __device__ __forceinline__ void write(int warp, const TileSums<kColumns>& from,
                                        const TileRowSums& row_sum) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < kTmaFragments; ++i) {
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        const float(&quad)[4] = from[i][q / 2][q % 2];
        sums[warp][i][q][lane] = {quad[0], quad[1], quad[2], quad[3]};
      }
    }
    if constexpr (kSumsRows) {
#pragma unroll
      for (int i = 0; i < kTmaFragments; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          float sum = row_sum[i][h];
          sum += __shfl_xor_sync(0xffffffffu, sum, 1);
          sum += __shfl_xor_sync(0xffffffffu, sum, 2);
          if (lane % 4 == 0) row_sums[warp][i * 16 + h * 8 + lane / 4] = sum;
        }
      }
    }
  }

  // Called by the same warps behind a barrier. Each adds up its fragment of rows, into quads of one
  // row each. Where kParts blocks share the tile, the others can read them after cluster_sync().
  template <int kParts>
  __device__ __forceinline__ void add_up(int warp, float4 (&total)[kQuads], bool rows_wanted) {
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      total[q] = sums[0][warp][q][lane];
#pragma unroll
      for (int w = 1; w < kTilePartWarps; ++w) add(total[q], sums[w][warp][q][lane]);
    }
    in_rows(total);
    if constexpr (kParts > 1) {
#pragma unroll
      for (int q = 0; q < kQuads; ++q) sums[0][warp][q][lane] = total[q];  // read by this lane only
    }
    if (rows_wanted && thread < kTmaSide) {
      row_sums[0][thread] =
          (row_sums[0][thread] + row_sums[1][thread]) + (row_sums[2][thread] + row_sums[3][thread]);
    }
  }

  // What add_up() left goes to C. The kParts blocks of the cluster share the tile at (row0,
  // column0), and this one has `part`. `bias`, in shared memory, has a value for each column of the
  // tile, 0 where there is none. row_sums_out may be null.
  template <bool kAlongK, int kParts>
  __device__ __forceinline__ void finish(int warp, float4 (&total)[kQuads], const GemmOutput& out,
                                         const float* bias, float* row_sums_out, int row0,
                                         int column0, int part) {
    constexpr int kMine = kQuads / kParts;  // quads of a lane, from `first` on
    static_assert(kMine > 0, "each block finishes a quad of each lane");
    const int thread = static_cast<int>(threadIdx.x), lane = thread % 32;
    const int first = part * kMine;
    float4(&exchange)[kQuads][32] = sums[0][warp];
    if constexpr (kParts > 1) {
#pragma unroll
      for (int q = 0; q < kQuads; ++q) {
        total[q] = *device::cluster_shared(&exchange[first + q / kParts][lane], q % kParts);
      }
#pragma unroll
      for (int step = 1; step < kParts; step *= 2) {
#pragma unroll
        for (int q = 0; q < kQuads; q += 2 * step) add(total[q], total[q + step]);
      }
    }
    // Quad q lies in half q / kAcross of the fragment's rows, from column q % kAcross * 16 on.
    const int row = row0 + stored_at<kAlongK>(warp * 16 + first / kAcross * 8 + lane / 4);
    const int column = column0 + first % kAcross * 16 + lane % 4 * (kTransposeB ? 2 : 4);
    constexpr int kHalfRows = kAlongK ? 8 : 1;  // between the halves
    if (out.vector && out.beta == 0 && out.n % 4 == 0) {
      const std::int64_t left = out.n - column;  // columns, from the first one of this lane on
      const std::int64_t place = row * out.ldc + column;
      const auto each = [&](const auto& run) {
#pragma unroll
        for (int u = 0; u < kMine; ++u) {
          if (row + u / kAcross * kHalfRows < out.m && u % kAcross * 16 < left) {
            run(total[u * kParts], u, place + u / kAcross * kHalfRows * out.ldc + u % kAcross * 16,
                left - u % kAcross * 16);
          }
        }
      };
      // All loads start before the first result is used.
      float4 mask[kMine];
      if (out.mask != nullptr) {
        each([&](const float4&, int u, std::int64_t at, std::int64_t columns) {
          mask[u] = load_quad(out.mask + at, columns);
        });
      }
#pragma unroll
      for (int u = 0; u < kMine; ++u) {
        float4& sum = total[u * kParts];
        const float4 shift = in_pairs(bias + column - column0 + u % kAcross * 16);
        sum = {out.alpha * sum.x + shift.x, out.alpha * sum.y + shift.y,
               out.alpha * sum.z + shift.z, out.alpha * sum.w + shift.w};
      }
      if (out.relu) {
#pragma unroll
        for (int u = 0; u < kMine; ++u) {  // keeps NaN
          float4& sum = total[u * kParts];
          sum = {sum.x < 0 ? 0 : sum.x, sum.y < 0 ? 0 : sum.y, sum.z < 0 ? 0 : sum.z,
                 sum.w < 0 ? 0 : sum.w};
        }
      }
      if (out.mask != nullptr) {
        each([&](float4& sum, int u, std::int64_t, std::int64_t) {
          sum = {mask[u].x > 0 ? sum.x : 0, mask[u].y > 0 ? sum.y : 0, mask[u].z > 0 ? sum.z : 0,
                 mask[u].w > 0 ? sum.w : 0};
        });
      }
      each([&](const float4& sum, int, std::int64_t at, std::int64_t columns) {
        store_quad(out.c + at, columns, sum);
      });
    } else {
#pragma unroll
      for (int u = 0; u < kMine; ++u) exchange[first + u][lane] = total[u * kParts];
#pragma unroll 1
      for (int word = 0; word < 4 * kMine; ++word) {
        const int u = word / 4, e = word % 4;
        store_one(out, row + u / kAcross * kHalfRows,
                  column + u % kAcross * 16 + e + (kTransposeB ? e / 2 * 6 : 0),
                  reinterpret_cast<const float*>(&exchange[first + u][lane])[e]);
      }
    }
    if (row_sums_out != nullptr && part == 0 && thread < kTmaSide) {
      const int at = row0 + stored_at<kAlongK>(thread);
      if (at >= out.m) return;
      float sum = 0;
      for (int p = 0; p < kParts; ++p) {
        sum += *device::cluster_shared(&row_sums[0][thread], p);
      }
      sum *= out.alpha;
      row_sums_out[at] = out.beta != 0 ? sum + out.beta * row_sums_out[at] : sum;
    }
  }

 private:
  __device__ __forceinline__ static void add(float4& to, const float4& from) {
    to.x += from.x, to.y += from.y, to.z += from.z, to.w += from.w;
  }

  // From the order of mma, a quad for each column fragment and half, to quads of one row each.
  __device__ __forceinline__ static void in_rows(float4 (&quads)[kQuads]) {
    float from[kQuads][4];
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      from[q][0] = quads[q].x, from[q][1] = quads[q].y;
      from[q][2] = quads[q].z, from[q][3] = quads[q].w;
    }
#pragma unroll
    for (int q = 0; q < kQuads; ++q) {
      const int h = q / kAcross, s = q % kAcross;  // half of the rows, 16 columns
      if constexpr (kTransposeB) {                 // columns as they come: pairs of neighbours
        quads[q] = {from[2 * s][2 * h], from[2 * s][2 * h + 1], from[2 * s + 1][2 * h],
                    from[2 * s + 1][2 * h + 1]};
      } else {  // in the order of float_place()
        const int f = s / 2 * 4, r = 2 * h + s % 2;
        quads[q] = {from[f][r], from[f + 1][r], from[f + 2][r], from[f + 3][r]};
      }
    }
  }

  // Four neighbours; or two pairs of neighbours, 8 columns apart. In memory the second pair is
  // there where more than 8 columns are `left`.
  __device__ __forceinline__ static float4 in_pairs(const float* shared) {
    if constexpr (!kTransposeB) return *reinterpret_cast<const float4*>(shared);
    const float2 low = *reinterpret_cast<const float2*>(shared);
    const float2 high = *reinterpret_cast<const float2*>(shared + 8);
    return {low.x, low.y, high.x, high.y};
  }
  __device__ __forceinline__ static float4 load_quad(const float* from, std::int64_t left) {
    if constexpr (!kTransposeB) return __ldg(reinterpret_cast<const float4*>(from));
    const float2 low = __ldg(reinterpret_cast<const float2*>(from));
    const float2 high = left > 8 ? __ldg(reinterpret_cast<const float2*>(from + 8)) : float2{0, 0};
    return {low.x, low.y, high.x, high.y};
  }
  __device__ __forceinline__ static void store_quad(float* to, std::int64_t left,
                                                    const float4& quad) {
    if constexpr (!kTransposeB) {
      *reinterpret_cast<float4*>(to) = quad;
    } else {
      *reinterpret_cast<float2*>(to) = {quad.x, quad.y};
      if (left > 8) *reinterpret_cast<float2*>(to + 8) = {quad.z, quad.w};
    }
  }
};

}  // namespace weft::kernels::cuda

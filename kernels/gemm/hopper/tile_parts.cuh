// SPDX-License-Identifier: MIT
// How the parts of a tile of C become one. Four warps of a block have summed the same 64 x 64 tile
// over different parts of k, and up to eight blocks of a cluster may have done so too (sm_90).
//
//   registers of a warp --> its part in shared memory --add_up()--> the sum of the block
//   the sums of all blocks of the tile, read through the cluster --finish()--> rows of C
//
// Each block finishes as many rows. All adds have a fixed order.
#pragma once

#include "kernels/device/cluster.cuh"
#include "kernels/gemm/parts/store.cuh"
#include "kernels/gemm/hopper/tma_operand.cuh"

namespace weft::kernels::cuda {

constexpr int kTilePartWarps = 4;

// The sums of one warp: [row fragment of 16][column fragment of 16][column half of 8][4 registers
// of one mma]; and the row sums: [row fragment of 16][row half of 8].
using TileSums = float[kTmaFragments][kTmaFragments][2][4];
using TileRowSums = float[kTmaFragments][2];

// In shared memory. Rows are stored in the order of stored_at(); the padding spreads those that a
// warp writes together over the banks.
template <bool kTransposeB>
struct TileParts {
  static constexpr int kRow = kTmaSide + (kTransposeB ? 8 : 16);
  static constexpr int kQuads = 8;  // of a thread: 64 x 16 by 128 threads
  float tile[kTilePartWarps][kTmaSide][kRow];
  float row_sums[kTilePartWarps][kTmaSide];

  // Called by each of the warps; row sums are written only where they are `wanted`.
  __device__ __forceinline__ void write(int warp, const TileSums& sums, const TileRowSums& row_sum,
                                        bool wanted) {
    const int lane = static_cast<int>(threadIdx.x) % 32, group = lane / 4, member = lane % 4;
#pragma unroll
    for (int i = 0; i < kTmaFragments; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int stored = i * 16 + h * 8 + group;
        write_row(tile[warp][stored], sums[i], h, member);
        if (wanted) {
          float sum = row_sum[i][h];
          sum += __shfl_xor_sync(0xffffffffu, sum, 1);
          sum += __shfl_xor_sync(0xffffffffu, sum, 2);
          if (member == 0) row_sums[warp][stored] = sum;
        }
      }
    }
  }

  // Called by 128 threads, behind a barrier: the sums of the block replace the part of warp 0.
  __device__ __forceinline__ void add_up(bool rows_wanted) {
    const int thread = static_cast<int>(threadIdx.x), column = thread % 16 * 4;
#pragma unroll
    for (int e = 0; e < kQuads; ++e) {
      const int row = thread / 16 + 8 * e;
      float4 total = {0, 0, 0, 0};
#pragma unroll
      for (int w = 0; w < kTilePartWarps; ++w) {
        add(total, *reinterpret_cast<const float4*>(&tile[w][row][column]));
      }
      *reinterpret_cast<float4*>(&tile[0][row][column]) = total;
    }
    if (rows_wanted && thread < kTmaSide) {
      row_sums[0][thread] =
          (row_sums[0][thread] + row_sums[1][thread]) + (row_sums[2][thread] + row_sums[3][thread]);
    }
  }

  // Called by 128 threads of each block, behind a barrier of the cluster unless parts == 1. Part p
  // of the tile at (row0, column0) is block p * stride + offset of the cluster; this one is `part`.
  // A thread reads kQuads quads: kQuads / parts rows of all parts. row_sums_out may be null.
  template <bool kAlongK>
  __device__ __forceinline__ void finish(const GemmOutput& out, float* row_sums_out, int row0,
                                         int column0, int part, int parts, int offset, int stride) {
    const int thread = static_cast<int>(threadIdx.x), column = thread % 16 * 4;
    const int shift = __ffs(parts) - 1;  // parts is a power of 2
    const int first = part * (kTmaSide >> shift) + thread / 16;
    const auto stored = [&](int e) { return first + 8 * (e >> shift); };
    const auto row_of = [&](int e) { return row0 + stored_at<kAlongK>(stored(e)); };
    const auto starts_row = [&](int e) { return (e & (parts - 1)) == 0; };
    float4 total[kQuads];
#pragma unroll
    for (int e = 0; e < kQuads; ++e) {
      total[e] = *reinterpret_cast<const float4*>(
          device::cluster_shared(&tile[0][stored(e)][column], (e & (parts - 1)) * stride + offset));
    }
    // All loads from memory start before the first result is used.
    const bool vector = out.vector && column0 + column + 3 < out.n && out.beta == 0;
    float bias[4] = {};
    float4 mask[kQuads];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (vector && out.bias != nullptr) bias[c] = __ldg(out.bias + column0 + column + c);
    }
#pragma unroll
    for (int e = 0; e < kQuads; ++e) {
      mask[e] = {1, 1, 1, 1};
      if (vector && out.mask != nullptr && starts_row(e) && row_of(e) < out.m) {
        mask[e] = __ldg(
            reinterpret_cast<const float4*>(out.mask + row_of(e) * out.ldc + column0 + column));
      }
    }
#pragma unroll
    for (int step = 1; step < kQuads; step *= 2) {
#pragma unroll
      for (int e = 0; e < kQuads; e += 2 * step) {
        if (step < parts) add(total[e], total[e + step]);
      }
    }
#pragma unroll
    for (int e = 0; e < kQuads; ++e) {
      if (!starts_row(e) || row_of(e) >= out.m) continue;
      if (vector) {
        const auto finish = [&](float sum, float shift_by, float pass) {
          float value = out.alpha * sum + shift_by;
          if (out.relu && value < 0) value = 0;  // keeps NaN
          return pass > 0 ? value : 0.0f;
        };
        *reinterpret_cast<float4*>(out.c + row_of(e) * out.ldc + column0 + column) = {
            finish(total[e].x, bias[0], mask[e].x), finish(total[e].y, bias[1], mask[e].y),
            finish(total[e].z, bias[2], mask[e].z), finish(total[e].w, bias[3], mask[e].w)};
      } else {
        tile_quad(stored(e), column) = total[e];
      }
    }
    if (!vector) {
#pragma unroll 1
      for (int e = 0; e < kQuads; e += parts) {
        store_quad(out, row_of(e), column0 + column, tile_quad(stored(e), column));
      }
    }
    const int row = row0 + stored_at<kAlongK>(thread % kTmaSide);
    if (row_sums_out != nullptr && part == 0 && thread < kTmaSide && row < out.m) {
      float sum = 0;
      for (int p = 0; p < parts; ++p) {
        sum += *device::cluster_shared(&row_sums[0][thread], p * stride + offset);
      }
      sum *= out.alpha;
      row_sums_out[row] = out.beta != 0 ? sum + out.beta * row_sums_out[row] : sum;
    }
  }

 private:
  __device__ __forceinline__ static void add(float4& to, const float4& from) {
    to.x += from.x, to.y += from.y, to.z += from.z, to.w += from.w;
  }

  // Where a thread keeps a quad for itself: the part of warp 1, which is no longer needed.
  __device__ __forceinline__ float4& tile_quad(int row, int column) {
    return *reinterpret_cast<float4*>(&tile[1][row][column]);
  }

  // Half h of a lane's sums of a fragment of rows.
  __device__ __forceinline__ static void write_row(float* row,
                                                   const float (&sums)[kTmaFragments][2][4], int h,
                                                   int member) {
#pragma unroll
    for (int j = 0; j < kTmaFragments; j += 2) {
      if constexpr (kTransposeB) {  // columns as they come: pairs of neighbours
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const float(&pair)[4] = sums[j + e / 2][e % 2];
          *reinterpret_cast<float2*>(row + (j + e / 2) * 16 + e % 2 * 8 + 2 * member) = {
              pair[2 * h], pair[2 * h + 1]};
        }
      } else {  // quads of neighbours
#pragma unroll
        for (int r = 2 * h; r < 2 * h + 2; ++r) {
          *reinterpret_cast<float4*>(row + float_place(j, 0, 2 * member + r % 2)) = {
              sums[j][0][r], sums[j][1][r], sums[j + 1][0][r], sums[j + 1][1][r]};
        }
      }
    }
  }
};

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// How the wgmma rungs store the sums of a tile: epilogue, mask and 16 bytes at a time. sm_90a.
#pragma once

#include "kernels/bfloat16.h"
#include "kernels/device/halves.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/prefetch.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/gemm/hopper/k_major.h"
#include "kernels/gemm/launchers.h"

namespace weft::kernels::cuda {

// Where and how sums are stored: C = mask(epilogue(alpha * sum + beta * C + bias)).
template <class Element>
struct WgmmaOutput {
  Element* c;         // (m, n), ldc
  const float* bias;  // (n,) or null
  const float* mask;  // (m, n), ldc, or null
  std::int64_t ldc;
  int m, n;
  float alpha, beta;
  bool relu;
  bool vector;      // rows of C and of the mask start on 16-byte boundaries
  bool transposed;  // the sums are those of C^T
  HalfScales scales = {};
};

// With A from panels of floats a lane has two neighbouring rows of a warpgroup's 64. This is the
// first of them.
__device__ __forceinline__ int panel_row(int thread) {
  const int warp = thread / 32 % 4, group = thread % 32 / 4;
  const int piece = warp % 2 * 2 + group / 4 + group / 2 % 2 * 4;  // of 4 rows, in a panel of 32
  return warp / 2 * 32 + piece * 4 + group % 2 * 2;
}

__device__ __forceinline__ float load_element(const float* from) {
  return *from;
}
__device__ __forceinline__ float load_element(const Bfloat16* from) {
  return __uint_as_float(std::uint32_t{from->bits} << 16);
}
__device__ __forceinline__ void store_element(float* to, float value) {
  *to = value;
}
__device__ __forceinline__ void store_element(Bfloat16* to, float value) {
  to->bits = static_cast<std::uint16_t>(device::bf16_pair(value, 0));
}

// Takes back the scales of the operands' rows.
template <int kN>
__device__ __forceinline__ void wgmma_unscale(float (&sum)[kN / 2], const HalfScales& scales,
                                              int row0, int column0, int thread) {
  const int row = row0 + thread / 32 * 16 + thread % 32 / 4;
  const int upper = device::half_shift(scales.largest_a[row]),
            lower = device::half_shift(scales.largest_a[row + 8]);
#pragma unroll
  for (int j = 0; j < kN / 8; ++j) {
    const uint2 columns =
        *reinterpret_cast<const uint2*>(scales.largest_b + column0 + 8 * j + 2 * (thread % 4));
    const int x = device::half_shift(columns.x), y = device::half_shift(columns.y);
    sum[4 * j] = ldexpf(sum[4 * j], -upper - x);
    sum[4 * j + 1] = ldexpf(sum[4 * j + 1], -upper - y);
    sum[4 * j + 2] = ldexpf(sum[4 * j + 2], -lower - x);
    sum[4 * j + 3] = ldexpf(sum[4 * j + 3], -lower - y);
  }
}

// Stores a lane's sums where some lie outside of C, rows are not aligned or C is added to. They
// start at (x, y) of C, or of its transpose, and lie in blocks of 8 along y, two neighbours and the
// two kLower rows below. A loop takes 16 sums at a time, so that its code is short, and then moves
// the others to their registers. Each step of the epilogue takes all 16, so that its loads overlap.
template <int kN, int kLower, class Element>
__device__ __forceinline__ void store_partial(const WgmmaOutput<Element>& out, float (&sum)[kN / 2],
                                              int x, int y, bool transposed) {
  constexpr int kTaken = 16;
  const std::int64_t step_x = transposed ? 1 : out.ldc, step_y = transposed ? out.ldc : 1;
  const int rows = (transposed ? out.n : out.m) - x, end = transposed ? out.m : out.n;
#pragma unroll 1
  for (const int behind = min(end, y + kN); y < behind; y += 2 * kTaken) {
    const std::int64_t first = x * step_x + y * step_y;
    const auto each_inside = [&](const auto& run) {
#pragma unroll
      for (int i = 0; i < kTaken; ++i) {
        const int row = i / 2 % 2 * kLower, column = i / 4 * 8 + i % 2;
        if (row < rows && y + column < end) {
          run(sum[i], first + row * step_x + column * step_y, transposed ? x + row : y + column);
        }
      }
    };
#pragma unroll
    for (int i = 0; i < kTaken; ++i) sum[i] *= out.alpha;
    if (out.beta != 0) {
      each_inside([&](float& value, std::int64_t at, int) {
        value += out.beta * load_element(out.c + at);
      });
    }
    if (out.bias != nullptr) {
      each_inside([&](float& value, std::int64_t, int column) { value += out.bias[column]; });
    }
#pragma unroll
    for (int i = 0; i < kTaken; ++i) {
      if (out.relu && sum[i] < 0) sum[i] = 0;  // keeps NaN
    }
    if (out.mask != nullptr) {
      each_inside([&](float& value, std::int64_t at, int) {
        if (!(out.mask[at] > 0)) value = 0;
      });
    }
    each_inside([&](float value, std::int64_t at, int) { store_element(out.c + at, value); });
#pragma unroll
    for (int i = 0; i + kTaken < kN / 2; ++i) sum[i] = sum[i + kTaken];
  }
}

// Stores one row of a lane's sums, pairs at 8 j + 2 member from `column` on, all inside of C. The
// four lanes of a row trade pairs, so that each stores 16 bytes of neighbours.
template <int kN>
__device__ __forceinline__ void store_row(Bfloat16* to, const float (&sum)[kN / 2], int half,
                                          int member) {
#pragma unroll
  for (int j = 0; j < kN / 8; j += 4) {
    std::uint32_t pair[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = 4 * (j + i) + 2 * half;
      pair[i] = device::bf16_pair(sum[at], sum[at + 1]);
    }
    device::transpose_quad(pair, member);  // the pairs of block j + member
    *reinterpret_cast<uint4*>(to + 8 * (j + member)) = {pair[0], pair[1], pair[2], pair[3]};
  }
}
template <int kN>
__device__ __forceinline__ void store_row(float* to, const float (&sum)[kN / 2], int half,
                                          int member) {
  const bool odd = member % 2 == 1;
#pragma unroll
  for (int j = 0; j < kN / 8; j += 2) {
    const int at = 4 * j + 2 * half;
    const float2 first = {sum[at], sum[at + 1]}, second = {sum[at + 4], sum[at + 5]};
    // An even lane stores in block j, an odd one in block j + 1: each sends the other pair.
    float2 other = odd ? first : second;
    other.x = __shfl_xor_sync(0xffffffff, other.x, 1);
    other.y = __shfl_xor_sync(0xffffffff, other.y, 1);
    const float4 quad = odd ? float4{other.x, other.y, second.x, second.y}
                            : float4{first.x, first.y, other.x, other.y};
    *reinterpret_cast<float4*>(to + 8 * (j + member % 2) + 4 * (member / 2)) = quad;
  }
}

// Stores a lane's sums of C^T, all inside: two neighbouring columns x and x + 1 of C, rows y, y +
// 1, y + 8 and so on. The eight lanes with the same rows fill two sectors of 32 bytes. The compiler
// must not move a load of the mask above the stores before it, so eight loads come first.
template <int kN>
__device__ __forceinline__ void store_transposed(const WgmmaOutput<float>& out,
                                                 const float (&sum)[kN / 2], int x, int y) {
  constexpr int kGroup = 8;
  const auto offset = [&](int i) { return (y + i / 2 * 8 + i % 2) * out.ldc + x; };
  float2 bias = {0, 0};
  if (out.bias != nullptr) bias = {out.bias[x], out.bias[x + 1]};
#pragma unroll
  for (int first = 0; first < kN / 4; first += kGroup) {
    float2 mask[kGroup];
    if (out.mask != nullptr) {
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        mask[i] = *reinterpret_cast<const float2*>(out.mask + offset(first + i));
      }
    }
#pragma unroll
    for (int i = 0; i < kGroup; ++i) {
      const int at = (first + i) / 2 * 4 + i % 2;
      float2 value = {out.alpha * sum[at] + bias.x, out.alpha * sum[at + 2] + bias.y};
      if (out.relu && value.x < 0) value.x = 0;  // keeps NaN
      if (out.relu && value.y < 0) value.y = 0;
      if (out.mask != nullptr && !(mask[i].x > 0)) value.x = 0;
      if (out.mask != nullptr && !(mask[i].y > 0)) value.y = 0;
      *reinterpret_cast<float2*>(out.c + offset(first + i)) = value;
    }
  }
}

// Prefetches the mask of a warpgroup's sums into the L2 cache before the sums are made.
template <int kN, bool kPanels, class Element>
__device__ __forceinline__ void wgmma_prefetch_mask(const WgmmaOutput<Element>& out, int row0,
                                                    int column0, int thread) {
  const bool transposed = kPanels && out.transposed;
  const int rows = transposed ? kN : 64, columns = transposed ? 64 : kN;
  const int first = transposed ? column0 : row0, column = transposed ? row0 : column0;
  for (int row = first + thread; row < min(first + rows, out.m); row += 128) {
    device::prefetch(out.mask + row * out.ldc + column, min(columns, out.n - column));
  }
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Stores a warpgroup's sums, (64, kN) of C from (row0, column0) on, by the copy engine, while the
// warpgroup goes on. `boxes` are two boxes in shared memory, in the order of wgmma_descriptor();
// they are free once the copies before have read them.
template <class Tile>
__device__ __forceinline__ void store_boxes(const CUtensorMap& map,
                                            const float (&sum)[Tile::kN / 2], char* boxes, int row0,
                                            int column0, int thread) {
  constexpr int kBox = Tile::kBox, kBoxBytes = Tile::kBoxBytes;
  const int warpgroup = threadIdx.x / 128, lane = thread % 32;
  const auto meet = [&] { asm volatile("bar.sync %0, 128;" ::"r"(warpgroup) : "memory"); };
  char* const row = boxes + (thread / 32 * 16 + lane % 16) * 128;  // of this lane's matrices
#pragma unroll
  for (int first = 0; first < Tile::kN; first += 2 * kBox) {
    if (thread == 0) device::tma_wait_read();
    meet();
#pragma unroll
    for (int column = 0; column < 2 * kBox; column += 16) {
      const float* from = sum + (first + column) / 2;
      const std::uint32_t words[4] = {
          device::bf16_pair(from[0], from[1]), device::bf16_pair(from[2], from[3]),
          device::bf16_pair(from[4], from[5]), device::bf16_pair(from[6], from[7])};
      const int piece = column % kBox / 8 + lane / 16;
      device::store_matrices(row + column / kBox * kBoxBytes + (piece ^ lane % 8) * 16, words);
    }
    device::wgmma_fence_shared();
    meet();
    if (thread != 0) continue;
    device::tma_store(map, boxes, column0 + first, row0);
    device::tma_store(map, boxes + kBoxBytes, column0 + first + kBox, row0);
    device::tma_commit();
  }
}

// Stores a warpgroup's sums, (64, kN) of C, or of C^T, from (row0, column0) on. `map` and `boxes`
// are for the tiles that store boxes.
template <class Tile, class Element>
__device__ __forceinline__ void wgmma_store(const WgmmaOutput<Element>& out, const CUtensorMap& map,
                                            char* boxes, float (&sum)[Tile::kN / 2], int row0,
                                            int column0, int thread) {
  constexpr int kN = Tile::kN;
  constexpr bool kPanels = Tile::kRegistersA;
  constexpr int kLower = kPanels ? 1 : 8;  // from a lane's upper row to its lower one
  const bool transposed = kPanels && out.transposed;
  const int member = thread % 4;
  const int row = row0 + (kPanels ? panel_row(thread) : thread / 32 * 16 + thread % 32 / 4);
  const bool whole = row0 + 64 <= (transposed ? out.n : out.m) &&
                     column0 + kN <= (transposed ? out.m : out.n) && out.vector && out.beta == 0;
  if (!whole) {
    return store_partial<kN, kLower>(out, sum, row, column0 + 2 * member, transposed);
  }
  if constexpr (kPanels) {
    if (transposed) return store_transposed<kN>(out, sum, row, column0 + 2 * member);
  }
  const auto mask = [&](int j) {
    const float* from = out.mask + row * out.ldc + column0 + 8 * j + 2 * member;
    const float2 upper = *reinterpret_cast<const float2*>(from);
    const float2 lower = *reinterpret_cast<const float2*>(from + kLower * out.ldc);
    if (!(upper.x > 0)) sum[4 * j] = 0;
    if (!(upper.y > 0)) sum[4 * j + 1] = 0;
    if (!(lower.x > 0)) sum[4 * j + 2] = 0;
    if (!(lower.y > 0)) sum[4 * j + 3] = 0;
  };
  const bool plain = out.alpha == 1 && out.bias == nullptr && !out.relu;
  if (!plain || (kPanels && out.mask != nullptr)) {
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) {
      float2 bias = {0, 0};
      if (out.bias != nullptr) {
        const float* from = out.bias + column0 + 8 * j + 2 * member;
        bias = {from[0], from[1]};
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float& value = sum[4 * j + i];
        value = out.alpha * value + (i % 2 == 0 ? bias.x : bias.y);
        if (out.relu && value < 0) value = 0;  // keeps NaN
      }
      if (kPanels && out.mask != nullptr) mask(j);
    }
  }
  // Loads without a branch between them are in flight together; with panels there are not enough
  // registers for that.
  if (!kPanels && out.mask != nullptr) {
#pragma unroll
    for (int j = 0; j < kN / 8; ++j) mask(j);
  }
  if constexpr (Tile::kStoresBoxes) {
    store_boxes<Tile>(map, sum, boxes, row0, column0, thread);
  } else {
    Element* to = out.c + row * out.ldc + column0;
    store_row<kN>(to, sum, 0, member);
    store_row<kN>(to + kLower * out.ldc, sum, 1, member);
  }
}

#endif

template <class Element>
WgmmaOutput<Element> wgmma_output(Element* c, const float* bias, const GemmDims& dims,
                                  const GemmOptions& options) {
  constexpr std::int64_t kVector = 16 / sizeof(Element);
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(c) | reinterpret_cast<std::uintptr_t>(options.relu_mask);
  const bool vector = addresses % 16 == 0 && dims.ldc % kVector == 0;
  return {c,
          bias,
          options.relu_mask,
          dims.ldc,
          static_cast<int>(dims.m),
          static_cast<int>(dims.n),
          options.alpha,
          options.beta,
          options.epilogue == Epilogue::relu,
          vector,
          false,
          {}};
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Floats in two parts of fp16 (kernels/device/halves.cuh), a tile of 64 x 64 with one scale, and
// products of them that are as accurate as fp32. sm_90a.
//
// A product of two values is three products of parts: big times big, and each small one times the
// other's big one. The two kinds are summed apart, since small parts are kept 2^11 times too large.
// Sums of 64 along k are scaled back and added to the totals as fp32.
#pragma once

#include "kernels/device/quad.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/parts/product.cuh"
#include "kernels/networks/mlp/parts/scale.cuh"

namespace weft::kernels::fused_mlp {

constexpr int kTeams = 2;  // of four warps, that share a block's products
constexpr int kTeamThreads = kTeams * kConsumers;

// A (64, 64) tile of a team's sums to memory, in parts. `to` is its first big element.
__device__ __forceinline__ void store_parts(Half* to, std::int64_t pitch, const float (&sum)[32],
                                            int shift) {
  const int thread = static_cast<int>(threadIdx.x) % kConsumers, member = thread % 4;
  const device::HalfScale scale(shift);
  to += (thread / 32 * 16 + thread % 32 / 4) * pitch;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int j = 0; j < kSide / 8; j += 4) {
      std::uint32_t big[4], small[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = 4 * (j + i) + 2 * half;
        device::split_halves(big[i], small[i], scale(sum[at]), scale(sum[at + 1]),
                             device::kSmallScale);
      }
      device::transpose_quad(big, member);
      device::transpose_quad(small, member);
      Half* const quad = to + 8 * half * pitch + 8 * (j + member);
      *reinterpret_cast<uint4*>(quad) = {big[0], big[1], big[2], big[3]};
      *reinterpret_cast<uint4*>(quad + kSide) = {small[0], small[1], small[2], small[3]};
    }
  }
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// The shift of a tile of which each thread of the first team has 32 values; `largest` is four words
// in shared memory.
__device__ __forceinline__ int tile_shift(const float (&sum)[32], std::uint32_t* largest) {
  std::uint32_t mine = 0;
#pragma unroll
  for (const float value : sum) mine = device::larger(mine, value);
  mine = __reduce_max_sync(0xffffffff, mine);
  if (threadIdx.x % 32 == 0) largest[threadIdx.x / 32] = mine;
  teams_sync<1>();
  return device::half_shift(max(max(largest[0], largest[1]), max(largest[2], largest[3])));
}

// total += (big + small / 2^11) / 2^shift
template <int kCount>
__device__ __forceinline__ void add_parts(float (&total)[kCount], const float (&big)[kCount],
                                          const float (&small)[kCount], int shift) {
  const device::HalfScale scale = device::unscale(shift);
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const float sum = fmaf(small[i], 1 / device::kSmallScale, big[i]);
    total[i] = fmaf(sum * scale.first, scale.second, total[i]);
  }
}

// The products of what lies at `a` with what lies at `b`, boxes of 64 along k, the big ones and
// then the small ones; waits for them and adds them.
template <class P>
__device__ __forceinline__ void multiply_parts(float (&total)[kSide / 2], const char* a,
                                               const char* b, int shift) {
  constexpr int kPart = kBoxBytes / 16;  // from the big part to the small one
  float big[kSide / 2], small[kSide / 2];
  const std::uint64_t from_a = device::wgmma_descriptor(a, kBoxBytes);
  const std::uint64_t from_b = device::wgmma_descriptor(b, kBoxBytes);
  const auto product = [&](float(&sum)[kSide / 2], std::uint64_t x, std::uint64_t y, bool add) {
    device::wgmma_fp16<kSide, P::kPanelsA, P::kPanelsB>(sum, x, y, add);
  };
  device::wgmma_fence();
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    const std::uint64_t x = from_a + step * P::kStepA, y = from_b + step * P::kStepB;
    product(big, x, y, step > 0);
    product(small, x, y + kPart, step > 0);
    product(small, x + kPart, y, true);
  }
  device::wgmma_commit();
  device::wgmma_wait<0>();
  device::wgmma_results(big);
  device::wgmma_results(small);
  add_parts(total, big, small, shift);
}

// The sums of a team over chunks `first`, `first` + `stride`, ... of a ring. It multiplies with box
// `box` of B. shift_of(chunk) is the sum of the shifts of both operands.
template <class P, class ShiftOf>
__device__ __forceinline__ void consume_parts(float (&total)[kSide / 2], char* ring,
                                              Barriers<P>& barriers, int first, int stride,
                                              int chunks, int box, ShiftOf shift_of) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int shifts = 0;  // a lane asks for that of one chunk of 32
#pragma unroll
  for (float& value : total) value = 0.0f;
  for (int chunk = first, turn = 0; chunk < chunks; chunk += stride, ++turn) {
    if (turn % 32 == 0) {
      const int mine = chunk + lane * stride;
      shifts = mine < chunks ? shift_of(mine) : 0;
    }
    const int stage = chunk % P::kStages;
    const char* const from = ring + stage * P::kStageBytes;
    const int shift = __shfl_sync(0xffffffff, shifts, turn % 32);
    device::barrier_wait(barriers.full + stage, chunk / P::kStages % 2);
    multiply_parts<P>(total, from, from + (1 + box) * 2 * kBoxBytes, shift);
    // Only stages that are filled again are released: the other block may have left.
    if (chunk + P::kStages < chunks) release(barriers, stage);
  }
}

// The first team adds what the second one has. `exchange` takes 16 KiB of shared memory.
__device__ __forceinline__ void add_teams(float (&total)[kSide / 2], float* exchange, int team) {
  float* const mine = exchange + threadIdx.x % kConsumers;
  if (team == 1) {
#pragma unroll
    for (int i = 0; i < kSide / 2; ++i) mine[i * kConsumers] = total[i];
  }
  teams_sync<kTeams>();
  if (team == 0) {
#pragma unroll
    for (int i = 0; i < kSide / 2; ++i) total[i] += mine[i * kConsumers];
  }
}

#endif

}  // namespace weft::kernels::fused_mlp

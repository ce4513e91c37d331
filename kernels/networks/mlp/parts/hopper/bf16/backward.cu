// SPDX-License-Identifier: MIT
// The last layer, the loss and the way back to the first hidden layer. A block has 64 rows of the
// batch and makes 64 columns of g1. What precedes g1 it makes for all columns, since that takes
// less time than exchanging it:
//
//   logits   h2 W3^T + b3        mma.sync, each team over its chunks of k; the sums of the teams
//                                are added in shared memory
//   g3       (softmax - target) / rows   eight lanes have a row
//   g2       g3 W3 where h2 > 0  mma.sync; over h2, in shared memory
//   g1       g2 W2 where h1 > 0  wgmma, by one team
//
// 64 columns of g2 and, in the first column of blocks, g3 and the losses go to memory.
#include <cuda_bf16.h>

#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/warp.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/backward.cuh"
#include "kernels/networks/mlp/parts/store.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

constexpr int kTeams = 4;  // of four warps, that share the columns of h2 and g2
constexpr int kTeamThreads = kTeams * kConsumers, kBlock = kTeamThreads + kCopyThreads;
using Backward = Product<false, true, kSide, 1>;
constexpr int kRowLanes = kMostClasses / 2;  // have two logits of a row each
static_assert(kRowLanes * kSide == kTeamThreads);

constexpr int kPartPitch = 24;                   // floats from a row to the next one; for the banks
constexpr int kPartFloats = kSide * kPartPitch;  // of a team's part of the logits

std::size_t shared_bytes(const Training& t) {
  const std::size_t boxes = static_cast<std::size_t>(t.hidden2) / kSide * 2 * kBoxBytes;
  return boxes + static_cast<std::size_t>(t.hidden2) / kSide * kLastBytes +
         kTeams * kPartFloats * sizeof(float) + 1024;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

constexpr int kG3Pitch = 48;  // bytes, from a row to the next one; for the banks

// What shared memory has of each of `count` chunks of 64 columns of h2: a box of h2, in whose place
// g2 comes, and one of w3, both there at once; and a box of w2.
struct Chunks {
  int count;
  char *h2, *w2, *w3;
  std::uint64_t *h2_there, *w2_there;
};

// A thread of the teams has two logits of a row of the batch, from column `column` on.
struct RowPart {
  int row, column, label;
  bool there;
  float2 bias;
};

// Two threads copy all chunks of h2 and w3, and of w2.
__device__ __forceinline__ void copy_operands(const Chunks& chunks, const BackwardMaps& maps,
                                              int row0, int column0) {
  if (threadIdx.x == kTeamThreads) {
    copy_chunks(chunks.count, [&](int c, bool really) {
      copy_box<false>(chunks.h2 + c * kBoxBytes, maps.h2, row0, c * kSide, chunks.h2_there + c,
                      really);
    });
  } else if (threadIdx.x == kTeamThreads + 32) {
    copy_chunks(chunks.count, [&](int c, bool really) {
      copy_box<false>(chunks.w3 + c * kLastBytes, maps.w3, 0, c * kSide, chunks.h2_there + c,
                      really);
    });
    device::barrier_wait(chunks.h2_there + chunks.count - 1, 0);  // h2 is needed first
    for (int c = 0; c < chunks.count; ++c) {
      copy_box<true>(chunks.w2 + c * kBoxBytes, maps.w2, column0, c * kSide, chunks.w2_there + c);
    }
  }
}

// Asks for what the loss needs of a thread's row.
__device__ __forceinline__ RowPart load_row_part(const Exchange<Bfloat16>& e, const Training& t,
                                                 int row0, int team) {
  const int row = static_cast<int>(threadIdx.x) / kRowLanes;
  const int column = static_cast<int>(threadIdx.x) % kRowLanes * 2;  // and column + 1
  const float* bias = t.state.parameters + t.weight3() + t.classes * t.hidden2;
  const std::int32_t* labels = e.labels[(*t.state.step + t.ahead) % 2];
  const bool there = team < kTeams && row0 + row < t.rows;
  const int label = there ? labels[row0 + row] : 0;
  const float2 offset = {column < t.classes ? bias[column] : 0.0f,
                         column + 1 < t.classes ? bias[column + 1] : 0.0f};
  return {row, column, label, there, offset};
}

// A team multiplies its chunks of h2 and w3, and stores its part of the logits, (64, kPartPitch).
__device__ __forceinline__ void add_logits(float* parts, const Chunks& chunks,
                                           const FragmentPlaces& places, const TeamThread& at) {
  float logits[2][4] = {};
#pragma unroll 1
  for (int c = at.team; c < chunks.count; c += kTeams) {
    device::barrier_wait(chunks.h2_there + c, 0);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t a[4], b[4];
      device::load_matrices(a, places.h2 + c * kBoxBytes + places.along_h2[step]);
      device::load_matrices(b, places.w3 + c * kLastBytes + places.along_w3[step]);
      device::mma_m16n8k16_bf16(logits[0], a, {b[0], b[1]});
      device::mma_m16n8k16_bf16(logits[1], a, {b[2], b[3]});
    }
  }
  float* const part = parts + at.team * kPartFloats + at.row * kPartPitch + 2 * at.member;
#pragma unroll
  for (int i = 0; i < 4; ++i) {  // tile and half of the rows
    *reinterpret_cast<float2*>(part + i / 2 * 8 + i % 2 * 8 * kPartPitch) = {
        logits[i / 2][i % 2 * 2], logits[i / 2][i % 2 * 2 + 1]};
  }
}

// Adds the teams' parts of the logits and makes g3 of them, (64, kG3Pitch bytes). One block of each
// row of blocks stores it with the losses and hits.
__device__ __forceinline__ void make_g3(char* g3, const float* parts, const RowPart& mine,
                                        const Exchange<Bfloat16>& e, const Training& t, int row0) {
  float value[2] = {mine.bias.x, mine.bias.y};
#pragma unroll
  for (int from = 0; from < kTeams; ++from) {
    const float2 pair = *reinterpret_cast<const float2*>(parts + from * kPartFloats +
                                                         mine.row * kPartPitch + mine.column);
    value[0] += pair.x, value[1] += pair.y;
  }
  int hit = 0;
  const float loss = compare<kRowLanes>(value, {mine.column, mine.column + 1}, mine.label, t, &hit);
  const std::uint32_t pair = mine.there ? device::bf16_pair(value[0], value[1]) : 0;
  *reinterpret_cast<std::uint32_t*>(g3 + mine.row * kG3Pitch + 2 * mine.column) = pair;
  if (blockIdx.y == 0) {
    const int at = row0 + mine.row;
    *reinterpret_cast<std::uint32_t*>(e.g3 + std::int64_t{at} * kSide + mine.column) = pair;
    if (mine.there && mine.column == 0) e.loss[at] = loss, e.hit[at] = hit;
  }
}

// A team makes g2 of its chunks, over h2.
__device__ __forceinline__ void make_g2(const Chunks& chunks, const char* g3,
                                        const FragmentPlaces& places, const TeamThread& at) {
  std::uint32_t a[4];
  const int matrix_row = at.lane % 8 + at.lane / 8 % 2 * 8;
  device::load_matrices(a, g3 + (at.thread / 32 * 16 + matrix_row) * kG3Pitch + at.lane / 16 * 16);
  char* const words = chunks.h2 + at.row * 128 + 4 * at.member;
#pragma unroll 1
  for (int c = at.team; c < chunks.count; c += kTeams) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t b[4];
      float g2[2][4] = {};
      device::load_matrices_transposed(
          b, places.w3_transposed + c * kLastBytes + places.along_h2[step]);
      device::mma_m16n8k16_bf16(g2[0], a, {b[0], b[1]});
      device::mma_m16n8k16_bf16(g2[1], a, {b[2], b[3]});
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // tile and half of the rows
        auto* word = reinterpret_cast<std::uint32_t*>(words + c * kBoxBytes + i % 2 * 8 * 128 +
                                                      (2 * step + i / 2 ^ at.group) * 16);
        const float* pair = g2[i / 2] + i % 2 * 2;
        *word = device::bf16_pair(pair[0], pair[1]) & above_zero<__nv_bfloat162>(*word);
      }
    }
  }
  device::wgmma_fence_shared();
}

// A team stores the chunks of g2 that are this block's.
__device__ __forceinline__ void store_g2(const Chunks& chunks, const Exchange<Bfloat16>& e,
                                         const Training& t, int row0, int thread) {
  for (int c = static_cast<int>(blockIdx.y); c < chunks.count; c += static_cast<int>(gridDim.y)) {
#pragma unroll
    for (int i = thread; i < kSide * 8; i += kConsumers) {
      *reinterpret_cast<uint4*>(e.g2 + std::int64_t{row0 + i / 8} * t.hidden2 + c * kSide +
                                i % 8 * 8) =
          *reinterpret_cast<const uint4*>(chunks.h2 + c * kBoxBytes + i / 8 * 128 +
                                          (i % 8 ^ i / 8 % 8) * 16);
    }
  }
}

#endif

__global__ void __launch_bounds__(kBlock, 1)
    mlp_backward_kernel(const __grid_constant__ BackwardMaps maps, Exchange<Bfloat16> e,
                        Training t) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ std::uint64_t h2_there[kMostChunks], w2_there[kMostChunks];
  __shared__ __align__(16) char g3[kSide * kG3Pitch];  // bfloat16
  const int count = t.hidden2 / kSide;
  char* const h2 = device::aligned_shared();
  char* const w2 = h2 + count * kBoxBytes;
  char* const w3 = w2 + count * kBoxBytes;
  const Chunks chunks{count, h2, w2, w3, h2_there, w2_there};
  auto* const parts = reinterpret_cast<float*>(w3 + count * kLastBytes);
  const int row0 = static_cast<int>(blockIdx.x) * kSide;
  const int column0 = static_cast<int>(blockIdx.y) * kSide;
  const TeamThread at;
  device::overlap_allow();
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps);
  if (threadIdx.x == 0) {
    for (int c = 0; c < count; ++c) {
      device::barrier_init(h2_there + c, 1);
      device::barrier_init(w2_there + c, 1);
      device::barrier_expect(h2_there + c, kBoxBytes + kLastBytes);
      device::barrier_expect(w2_there + c, kBoxBytes);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  copy_operands(chunks, maps, row0, column0);
  device::overlap_wait();
  // What the loss needs is asked for here: it would else be waited for when the logits are there.
  const RowPart mine = load_row_part(e, t, row0, at.team);
  std::uint32_t mask[2][8];  // h1 where g1 will be
  if (at.team == 0) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      mask[i / 8][i % 8] = *reinterpret_cast<const std::uint32_t*>(
          e.h1 + (row0 + at.row + i / 8 * 8) * e.pitch1 + column0 + i % 8 * 8 + 2 * at.member);
    }
  }
  if (at.team < kTeams) {
    const FragmentPlaces places(h2, w3, at);
    add_logits(parts, chunks, places, at);
    teams_sync<kTeams>();  // the parts are written
    make_g3(g3, parts, mine, e, t, row0);
    teams_sync<kTeams>();  // g3 is complete
    make_g2(chunks, g3, places, at);
  }
  __syncthreads();  // g2 is complete
  if (at.team == 1) store_g2(chunks, e, t, row0, at.thread);
  if (at.team != 0) return;
  float sum[kSide / 2];
  for (int c = 0; c < count; ++c) {
    device::barrier_wait(w2_there + c, 0);
    multiply<Backward, kSide>(sum, h2 + c * kBoxBytes, w2 + c * kBoxBytes, c > 0);
  }
  device::wgmma_wait<0>();
  mask_sums<__nv_bfloat162>(sum, mask);
  store_tile(e.g1 + std::int64_t{row0} * t.hidden1 + column0, t.hidden1, sum);
#else
  (void)maps, (void)e, (void)t;
  __trap();
#endif
}

}  // namespace

void fused_mlp_backward_four_kernels_bf16(const Training& t, const Stream& stream) {
  const Exchange<Bfloat16> e(t.workspace, t);
  const dim3 grid(static_cast<unsigned>(divide_up(t.rows, kSide)),
                  static_cast<unsigned>(t.hidden1 / kSide));
  const Launch config{grid, kBlock, shared_bytes(t), stream};
  launch(mlp_backward_kernel, config.overlapped(), BackwardMaps(e, t), e, t);
}

}  // namespace weft::kernels::cuda

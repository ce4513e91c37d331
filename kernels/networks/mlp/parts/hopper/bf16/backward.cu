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

#endif

__global__ void __launch_bounds__(kBlock, 1)
    mlp_backward_kernel(const __grid_constant__ BackwardMaps maps, Exchange<Bfloat16> e,
                        Training t) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ std::uint64_t h2_there[kMostChunks], w2_there[kMostChunks];
  __shared__ __align__(16) char g3[kSide * kG3Pitch];  // bfloat16
  const int chunks = t.hidden2 / kSide;
  char* const h2 = aligned_shared();
  char* const w2 = h2 + chunks * kBoxBytes;
  char* const w3 = w2 + chunks * kBoxBytes;
  auto* const parts = reinterpret_cast<float*>(w3 + chunks * kLastBytes);
  const int row0 = static_cast<int>(blockIdx.x) * kSide;
  const int column0 = static_cast<int>(blockIdx.y) * kSide;
  const int team = static_cast<int>(threadIdx.x) / kConsumers;
  const int thread = static_cast<int>(threadIdx.x) % kConsumers, lane = thread % 32;
  const int group = lane / 4, member = lane % 4, row = thread / 32 * 16 + group;  // and row + 8
  device::overlap_allow();
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps);
  if (threadIdx.x == 0) {
    for (int c = 0; c < chunks; ++c) {
      device::barrier_init(h2_there + c, 1);
      device::barrier_init(w2_there + c, 1);
      device::barrier_expect(h2_there + c, kBoxBytes + kLastBytes);
      device::barrier_expect(w2_there + c, kBoxBytes);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  if (threadIdx.x == kTeamThreads) {
    copy_chunks(chunks, [&](int c, bool really) {
      copy_box<false>(h2 + c * kBoxBytes, maps.h2, row0, c * kSide, h2_there + c, really);
    });
  } else if (threadIdx.x == kTeamThreads + 32) {
    copy_chunks(chunks, [&](int c, bool really) {
      copy_box<false>(w3 + c * kLastBytes, maps.w3, 0, c * kSide, h2_there + c, really);
    });
    device::barrier_wait(h2_there + chunks - 1, 0);  // h2 is needed first
    for (int c = 0; c < chunks; ++c) {
      copy_box<true>(w2 + c * kBoxBytes, maps.w2, column0, c * kSide, w2_there + c);
    }
  }
  device::overlap_wait();
  // What the loss needs is asked for here: it would else be waited for when the logits are there.
  const int row3 = static_cast<int>(threadIdx.x) / kRowLanes;
  const int column3 = static_cast<int>(threadIdx.x) % kRowLanes * 2;  // and column3 + 1
  const float* bias = t.state.parameters + t.weight3() + t.classes * t.hidden2;
  const std::int32_t* labels = e.labels[(*t.state.step + t.ahead) % 2];
  const bool there = team < kTeams && row0 + row3 < t.rows;
  const int label = there ? labels[row0 + row3] : 0;
  const float2 offset = {column3 < t.classes ? bias[column3] : 0.0f,
                         column3 + 1 < t.classes ? bias[column3 + 1] : 0.0f};
  std::uint32_t mask[2][8];  // h1 where g1 will be
  if (team == 0) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      mask[i / 8][i % 8] = *reinterpret_cast<const std::uint32_t*>(
          e.h1 + (row0 + row + i / 8 * 8) * e.pitch1 + column0 + i % 8 * 8 + 2 * member);
    }
  }
  if (team < kTeams) {
    // Where a lane of a fragment finds the first of four steps along k, and the others.
    const int matrix_row = lane % 8 + lane / 8 % 2 * 8;
    const char* const a_lane = h2 + (thread / 32 * 16 + matrix_row) * 128;
    const char* const b_lane = w3 + (lane / 16 * 8 + lane % 8) * 128;
    const char* const c_lane = w3 + matrix_row * 128;
    int along_a[4], along_b[4];
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      along_a[step] = (2 * step + lane / 16 ^ lane % 8) * 16;
      along_b[step] = (2 * step + lane / 8 % 2 ^ lane % 8) * 16;
    }
    float logits[2][4] = {};
#pragma unroll 1
    for (int c = team; c < chunks; c += kTeams) {
      device::barrier_wait(h2_there + c, 0);
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        std::uint32_t a[4], b[4];
        device::load_matrices(a, a_lane + c * kBoxBytes + along_a[step]);
        device::load_matrices(b, b_lane + c * kLastBytes + along_b[step]);
        device::mma_m16n8k16_bf16(logits[0], a, {b[0], b[1]});
        device::mma_m16n8k16_bf16(logits[1], a, {b[2], b[3]});
      }
    }
    float* const part = parts + team * kPartFloats + row * kPartPitch + 2 * member;
#pragma unroll
    for (int i = 0; i < 4; ++i) {  // tile and half of the rows
      *reinterpret_cast<float2*>(part + i / 2 * 8 + i % 2 * 8 * kPartPitch) = {
          logits[i / 2][i % 2 * 2], logits[i / 2][i % 2 * 2 + 1]};
    }
    teams_sync<kTeams>();  // the parts are written
    float value[2] = {offset.x, offset.y};
#pragma unroll
    for (int from = 0; from < kTeams; ++from) {
      const float2 pair = *reinterpret_cast<const float2*>(parts + from * kPartFloats +
                                                           row3 * kPartPitch + column3);
      value[0] += pair.x, value[1] += pair.y;
    }
    int hit = 0;
    const float loss = compare<kRowLanes>(value, {column3, column3 + 1}, label, t, &hit);
    const std::uint32_t pair = there ? device::bf16_pair(value[0], value[1]) : 0;
    *reinterpret_cast<std::uint32_t*>(g3 + row3 * kG3Pitch + 2 * column3) = pair;
    if (blockIdx.y == 0) {
      const int at = row0 + row3;
      *reinterpret_cast<std::uint32_t*>(e.g3 + std::int64_t{at} * kSide + column3) = pair;
      if (there && column3 == 0) e.loss[at] = loss, e.hit[at] = hit;
    }
    teams_sync<kTeams>();  // g3 is complete
    std::uint32_t a[4];
    device::load_matrices(a, g3 + (thread / 32 * 16 + matrix_row) * kG3Pitch + lane / 16 * 16);
    char* const words = h2 + row * 128 + 4 * member;
#pragma unroll 1
    for (int c = team; c < chunks; c += kTeams) {
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        std::uint32_t b[4];
        float g2[2][4] = {};
        device::load_matrices_transposed(b, c_lane + c * kLastBytes + along_a[step]);
        device::mma_m16n8k16_bf16(g2[0], a, {b[0], b[1]});
        device::mma_m16n8k16_bf16(g2[1], a, {b[2], b[3]});
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // tile and half of the rows
          auto* word = reinterpret_cast<std::uint32_t*>(words + c * kBoxBytes + i % 2 * 8 * 128 +
                                                        (2 * step + i / 2 ^ group) * 16);
          const float* pair = g2[i / 2] + i % 2 * 2;
          *word = device::bf16_pair(pair[0], pair[1]) & above_zero<__nv_bfloat162>(*word);
        }
      }
    }
    device::wgmma_fence_shared();
  }
  __syncthreads();  // g2 is complete
  if (team == 1) {
    for (int c = static_cast<int>(blockIdx.y); c < chunks; c += static_cast<int>(gridDim.y)) {
#pragma unroll
      for (int i = thread; i < kSide * 8; i += kConsumers) {
        *reinterpret_cast<uint4*>(e.g2 + std::int64_t{row0 + i / 8} * t.hidden2 + c * kSide +
                                  i % 8 * 8) =
            *reinterpret_cast<const uint4*>(h2 + c * kBoxBytes + i / 8 * 128 +
                                            (i % 8 ^ i / 8 % 8) * 16);
      }
    }
  }
  if (team != 0) return;
  float sum[kSide / 2];
  for (int c = 0; c < chunks; ++c) {
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

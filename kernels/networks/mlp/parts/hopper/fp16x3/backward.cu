// SPDX-License-Identifier: MIT
// The last layer, the loss and the way back to the first hidden layer, with the accuracy of fp32. A
// block has 64 rows of the batch and makes 64 columns of g1, and what precedes g1 for all columns,
// as in bf16/backward.cu:
//
//   logits   h2 W3^T + b3        a warp has 16 rows; fragments of mma.sync; both teams
//   g3       (softmax - target) / rows, in the same registers
//   g2       g3 W3 where h2 > 0  over h2, in shared memory
//   g1       g2 W2 where h1 > 0  wgmma; the teams take turns along k
//
// A hidden value below 2^-39 of the largest of its tile has a big part of 0, and counts as 0 where
// ReLU's gradient is made.
#include <cuda_fp16.h>

#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/backward.cuh"
#include "kernels/networks/mlp/parts/halves.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

constexpr int kStages = 4;
using Backward = Product<false, true, kSide, kStages, false, 2>;

// For each chunk of h2 both parts of it and of w3, and a ring of w2.
std::size_t shared_bytes(const Training& t) {
  const std::size_t chunks = static_cast<std::size_t>(t.hidden2) / kSide;
  return chunks * 2 * (kBoxBytes + kLastBytes) + kStages * 2 * kBoxBytes + 1024;
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Sums of products of parts, for two tiles of eight columns. None waits for another.
struct PartSums {
  float big[2][4] = {}, first_small[2][4] = {}, second_small[2][4] = {};

  __device__ __forceinline__ void add(const std::uint32_t (&a)[2][4],
                                      const std::uint32_t (&b)[2][4]) {
#pragma unroll
    for (int tile = 0; tile < 2; ++tile) {
      const std::uint32_t x[2] = {b[0][2 * tile], b[0][2 * tile + 1]};
      device::mma_m16n8k16_fp16(big[tile], a[0], x);
      device::mma_m16n8k16_fp16(second_small[tile], a[0], {b[1][2 * tile], b[1][2 * tile + 1]});
      device::mma_m16n8k16_fp16(first_small[tile], a[1], x);
    }
  }
  __device__ __forceinline__ float total(int tile, int i) const {
    return fmaf(first_small[tile][i] + second_small[tile][i], 1 / device::kSmallScale,
                big[tile][i]);
  }
};

#endif

__global__ void __launch_bounds__(kTeamThreads + 32, 1)
    mlp_backward_parts_kernel(const __grid_constant__ BackwardMaps maps, Exchange<Half> e,
                              Training t) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ std::uint64_t h2_there[kMostChunks], w2_there[kMostChunks], w2_free[kMostChunks];
  __shared__ std::uint32_t largest[4];
  const int chunks = t.hidden2 / kSide, tiles1 = t.hidden1 / kSide;
  char* const h2 = aligned_shared();
  char* const w3 = h2 + chunks * 2 * kBoxBytes;
  char* const ring = w3 + chunks * 2 * kLastBytes;
  const int row_tile = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y);
  const int row0 = row_tile * kSide, column0 = tile * kSide;
  const int team = static_cast<int>(threadIdx.x) / kConsumers;
  const int thread = static_cast<int>(threadIdx.x) % kConsumers, lane = thread % 32;
  const int group = lane / 4, member = lane % 4, row = thread / 32 * 16 + group;  // and row + 8
  device::overlap_allow();
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps);
  if (threadIdx.x == 0) {
    for (int c = 0; c < chunks; ++c) {
      device::barrier_init(h2_there + c, 1);
      device::barrier_init(w2_there + c, 1);
      device::barrier_init(w2_free + c, 1);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  device::overlap_wait();
  if (team == kTeams) {
    if (threadIdx.x != kTeamThreads) return;
    for (int c = 0; c < chunks; ++c) {
      device::barrier_expect(h2_there + c, 2 * (kBoxBytes + kLastBytes));
      copy_box<false, 2>(h2 + c * 2 * kBoxBytes, maps.h2, row0, c * kSide, h2_there + c);
      for (int part = 0; part < 2; ++part) {
        device::tma_load(w3 + (2 * c + part) * kLastBytes, maps.w3, (2 * c + part) * kSide, 0,
                         h2_there + c);
      }
    }
    for (int c = 0; c < chunks; ++c) {
      if (c >= kStages) device::barrier_wait(w2_free + c - kStages, 0);
      device::barrier_expect(w2_there + c, 2 * kBoxBytes);
      copy_box<true, 2>(ring + c % kStages * 2 * kBoxBytes, maps.w2, column0, c * kSide,
                        w2_there + c);
    }
    return;
  }
  const float* bias = t.state.parameters + t.weight3() + t.classes * t.hidden2;
  const std::int32_t* labels = e.labels[(*t.state.step + t.ahead) % 2];
  float offset[4];
  int column[4], label[2];  // logits of a lane in its row, and in the row eight below
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    column[i] = i / 2 * 8 + 2 * member + i % 2;
    offset[i] = column[i] < t.classes ? bias[column[i]] : 0.0f;
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = row0 + row + 8 * half;
    label[half] = at < t.rows ? labels[at] : 0;
  }
  // Lane c has the shifts of chunk c.
  int shift_w3 = 0, shift_h2 = 0, shift_w2 = 0;
  if (lane < chunks) {
    shift_h2 = e.shifts.h2[row_tile * (chunks + 1) + lane];
    shift_w3 = e.shifts.w3[lane];
    shift_w2 = e.shifts.w2[lane * tiles1 + tile];
  }
  const int shift_g2 = hidden_shift(t.rows, shift_w3);
  if (row_tile == 0 && tile == 0 && threadIdx.x < chunks) e.shifts.g2[lane] = shift_g2;
  std::uint32_t mask[2][8];  // h1 where g1 will be
  if (team == 0) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      mask[i / 8][i % 8] =
          *reinterpret_cast<const std::uint32_t*>(e.h1 + (row0 + row + i / 8 * 8) * e.pitch1 +
                                                  big_column(column0) + i % 8 * 8 + 2 * member);
    }
  }
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
  for (int c = 0; c < chunks; ++c) {
    PartSums sums;
    device::barrier_wait(h2_there + c, 0);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        device::load_matrices(a[part], a_lane + (2 * c + part) * kBoxBytes + along_a[step]);
        device::load_matrices(b[part], b_lane + (2 * c + part) * kLastBytes + along_b[step]);
      }
      sums.add(a, b);
    }
    const device::HalfScale scale =
        device::unscale(__shfl_sync(0xffffffff, shift_h2 + shift_w3, c));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& logit = logits[i / 4][i % 4];
      logit = fmaf(sums.total(i / 4, i % 4) * scale.first, scale.second, logit);
    }
  }
  std::uint32_t g3[2][4];
  const device::HalfScale scale_g3(logit_shift(t.rows));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = row0 + row + 8 * half;
    const bool there = at < t.rows;
    float value[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) value[i] = logits[i / 2][2 * half + i % 2] + offset[i];
    int hit = 0;
    const float loss = compare<4>(value, column, label[half], t, &hit);
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      std::uint32_t big, small;
      device::split_halves(big, small, scale_g3(value[2 * pair]), scale_g3(value[2 * pair + 1]),
                           device::kSmallScale);
      g3[0][2 * pair + half] = there ? big : 0;
      g3[1][2 * pair + half] = there ? small : 0;
    }
    if (tile == 0 && team == 0) {
      Half* to = e.g3 + std::int64_t{at} * 2 * kSide + 2 * member;
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // part and pair
        *reinterpret_cast<std::uint32_t*>(to + i / 2 * kSide + i % 2 * 8) =
            g3[i / 2][2 * (i % 2) + half];
      }
      if (there && member == 0) e.loss[at] = loss, e.hit[at] = hit;
    }
  }
  teams_sync<kTeams>();  // both teams have read h2
  char* const words = h2 + row * 128 + 4 * member;
#pragma unroll 1
  for (int c = team; c < chunks; c += kTeams) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t b[2][4];
      PartSums sums;
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        device::load_matrices_transposed(b[part],
                                         c_lane + (2 * c + part) * kLastBytes + along_a[step]);
      }
      sums.add(g3, b);
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // tile and half of the rows
        auto* word = reinterpret_cast<std::uint32_t*>(words + 2 * c * kBoxBytes + i % 2 * 8 * 128 +
                                                      (2 * step + i / 2 ^ group) * 16);
        const std::uint32_t keep = above_zero<__half2>(*word);
        // logit_shift() + w3's shift lead to hidden_shift(): by -15.
        const int at = i % 2 * 2;
        std::uint32_t g2_big, g2_small;
        device::split_halves(g2_big, g2_small, sums.total(i / 2, at) * 0x1p-15f,
                             sums.total(i / 2, at + 1) * 0x1p-15f, device::kSmallScale);
        word[0] = g2_big & keep;
        word[kBoxBytes / 4] = g2_small & keep;
      }
    }
  }
  device::wgmma_fence_shared();
  teams_sync<kTeams>();  // g2 is complete
  for (int c = tile; c < chunks; c += static_cast<int>(gridDim.y)) {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kSide * 8; i += kTeamThreads) {
      const int part = i / (kSide * 8), at = i / 8 % kSide;
      *reinterpret_cast<uint4*>(e.g2 + std::int64_t{row0 + at} * 2 * t.hidden2 +
                                (2 * c + part) * kSide + i % 8 * 8) =
          *reinterpret_cast<const uint4*>(h2 + (2 * c + part) * kBoxBytes + at * 128 +
                                          (i % 8 ^ at % 8) * 16);
    }
  }
  float sum[kSide / 2] = {};
  for (int c = team; c < chunks; c += kTeams) {
    device::barrier_wait(w2_there + c, 0);
    multiply_parts<Backward>(sum, h2 + c * 2 * kBoxBytes, ring + c % kStages * 2 * kBoxBytes,
                             __shfl_sync(0xffffffff, shift_g2 + shift_w2, c));
    if (thread == 0) device::barrier_arrive(w2_free + c);
  }
  teams_sync<kTeams>();  // g2 has been read
  add_teams(sum, reinterpret_cast<float*>(h2), team);
  if (team != 0) return;
  mask_sums<__half2>(sum, mask);
  const int shift = tile_shift(sum, largest);
  if (threadIdx.x == 0) e.shifts.g1[row_tile * tiles1 + tile] = shift;
  store_parts(e.g1 + std::int64_t{row0} * 2 * t.hidden1 + big_column(column0), 2 * t.hidden1, sum,
              shift);
#else
  (void)maps, (void)e, (void)t;
  __trap();
#endif
}

}  // namespace

void fused_mlp_backward_four_kernels_fp16x3(const Training& t, const Stream& stream) {
  const Exchange<Half> e(t.workspace, t);
  const dim3 grid(static_cast<unsigned>(divide_up(t.rows, kSide)),
                  static_cast<unsigned>(t.hidden1 / kSide));
  const Launch config{grid, kTeamThreads + 32, shared_bytes(t), stream};
  launch(mlp_backward_parts_kernel, config.overlapped(), BackwardMaps(e, t), e, t);
}

}  // namespace weft::kernels::cuda

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

// What shared memory has of each of `count` chunks of 64 columns of h2: both parts of h2, in whose
// place g2 comes, and of w3, all there at once. Of w2 there is a ring of kStages chunks.
struct Chunks {
  int count;
  char *h2, *w3, *ring;
  std::uint64_t *h2_there, *w2_there, *w2_free;
};

// The shifts of a chunk, which lane c has for chunk c.
struct Shifts {
  int h2, w3, w2;
};

// One thread copies all chunks of h2 and w3, and those of w2 as the ring has place.
__device__ __forceinline__ void copy_operands(const Chunks& chunks, const BackwardMaps& maps,
                                              int row0, int column0) {
  for (int c = 0; c < chunks.count; ++c) {
    std::uint64_t* const there = chunks.h2_there + c;
    device::barrier_expect(there, 2 * (kBoxBytes + kLastBytes));
    copy_box<false, 2>(chunks.h2 + c * 2 * kBoxBytes, maps.h2, row0, c * kSide, there);
    for (int part = 0; part < 2; ++part) {
      device::tma_load(chunks.w3 + (2 * c + part) * kLastBytes, maps.w3, (2 * c + part) * kSide, 0,
                       there);
    }
  }
  for (int c = 0; c < chunks.count; ++c) {
    if (c >= kStages) device::barrier_wait(chunks.w2_free + c - kStages, 0);
    device::barrier_expect(chunks.w2_there + c, 2 * kBoxBytes);
    copy_box<true, 2>(chunks.ring + c % kStages * 2 * kBoxBytes, maps.w2, column0, c * kSide,
                      chunks.w2_there + c);
  }
}

// A lane's classes, with their biases, and the labels of its row and of the row eight below.
struct RowPair {
  float bias[4];
  int column[4], label[2];

  __device__ __forceinline__ RowPair(const Exchange<Half>& e, const Training& t, int row,
                                     int member) {
    const float* biases = t.state.parameters + t.weight3() + t.classes * t.hidden2;
    const std::int32_t* labels = e.labels[(*t.state.step + t.ahead) % 2];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      column[i] = i / 2 * 8 + 2 * member + i % 2;
      bias[i] = column[i] < t.classes ? biases[column[i]] : 0.0f;
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = row + 8 * half;
      label[half] = at < t.rows ? labels[at] : 0;
    }
  }
};

// Adds the products of h2 and w3, which both teams make of all chunks.
__device__ __forceinline__ void add_logits(float (&logits)[2][4], const Chunks& chunks,
                                           const FragmentPlaces& places, const Shifts& shifts) {
#pragma unroll 1
  for (int c = 0; c < chunks.count; ++c) {
    PartSums sums;
    device::barrier_wait(chunks.h2_there + c, 0);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        device::load_matrices(a[part],
                              places.h2 + (2 * c + part) * kBoxBytes + places.along_h2[step]);
        device::load_matrices(b[part],
                              places.w3 + (2 * c + part) * kLastBytes + places.along_w3[step]);
      }
      sums.add(a, b);
    }
    const device::HalfScale scale =
        device::unscale(__shfl_sync(0xffffffff, shifts.h2 + shifts.w3, c));
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& logit = logits[i / 4][i % 4];
      logit = fmaf(sums.total(i / 4, i % 4) * scale.first, scale.second, logit);
    }
  }
}

// Makes g3, as a fragment of each part, of the logits of rows `row` and row + 8 of the batch. One
// team of all that do so `stores` it with the losses and hits.
__device__ __forceinline__ void make_g3(std::uint32_t (&g3)[2][4], const float (&logits)[2][4],
                                        const RowPair& rows, const Exchange<Half>& e,
                                        const Training& t, int row, int member, bool stores) {
  const device::HalfScale scale_g3(logit_shift(t.rows));
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = row + 8 * half;
    const bool there = at < t.rows;
    float value[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) value[i] = logits[i / 2][2 * half + i % 2] + rows.bias[i];
    int hit = 0;
    const float loss = compare<4>(value, rows.column, rows.label[half], t, &hit);
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      std::uint32_t big, small;
      device::split_halves(big, small, scale_g3(value[2 * pair]), scale_g3(value[2 * pair + 1]),
                           device::kSmallScale);
      g3[0][2 * pair + half] = there ? big : 0;
      g3[1][2 * pair + half] = there ? small : 0;
    }
    if (stores) {
      Half* to = e.g3 + std::int64_t{at} * 2 * kSide + 2 * member;
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // part and pair
        *reinterpret_cast<std::uint32_t*>(to + i / 2 * kSide + i % 2 * 8) =
            g3[i / 2][2 * (i % 2) + half];
      }
      if (there && member == 0) e.loss[at] = loss, e.hit[at] = hit;
    }
  }
}

// A team makes g2 of its chunks, over h2.
__device__ __forceinline__ void make_g2(const Chunks& chunks, const std::uint32_t (&g3)[2][4],
                                        const FragmentPlaces& places, const TeamThread& at) {
  char* const words = chunks.h2 + at.row * 128 + 4 * at.member;
#pragma unroll 1
  for (int c = at.team; c < chunks.count; c += kTeams) {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t b[2][4];
      PartSums sums;
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        device::load_matrices_transposed(
            b[part], places.w3_transposed + (2 * c + part) * kLastBytes + places.along_h2[step]);
      }
      sums.add(g3, b);
#pragma unroll
      for (int i = 0; i < 4; ++i) {  // tile and half of the rows
        auto* word = reinterpret_cast<std::uint32_t*>(words + 2 * c * kBoxBytes + i % 2 * 8 * 128 +
                                                      (2 * step + i / 2 ^ at.group) * 16);
        const std::uint32_t keep = above_zero<__half2>(*word);
        // logit_shift() + w3's shift lead to hidden_shift(): by -15.
        const int first = i % 2 * 2;
        std::uint32_t g2_big, g2_small;
        device::split_halves(g2_big, g2_small, sums.total(i / 2, first) * 0x1p-15f,
                             sums.total(i / 2, first + 1) * 0x1p-15f, device::kSmallScale);
        word[0] = g2_big & keep;
        word[kBoxBytes / 4] = g2_small & keep;
      }
    }
  }
  device::wgmma_fence_shared();
}

// Both teams store the chunks of g2 that are this block's.
__device__ __forceinline__ void store_g2(const Chunks& chunks, const Exchange<Half>& e,
                                         const Training& t, int row0) {
  for (int c = static_cast<int>(blockIdx.y); c < chunks.count; c += static_cast<int>(gridDim.y)) {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < 2 * kSide * 8; i += kTeamThreads) {
      const int part = i / (kSide * 8), at = i / 8 % kSide;
      *reinterpret_cast<uint4*>(e.g2 + std::int64_t{row0 + at} * 2 * t.hidden2 +
                                (2 * c + part) * kSide + i % 8 * 8) =
          *reinterpret_cast<const uint4*>(chunks.h2 + (2 * c + part) * kBoxBytes + at * 128 +
                                          (i % 8 ^ at % 8) * 16);
    }
  }
}

#endif

__global__ void __launch_bounds__(kTeamThreads + 32, 1)
    mlp_backward_parts_kernel(const __grid_constant__ BackwardMaps maps, Exchange<Half> e,
                              Training t) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ std::uint64_t h2_there[kMostChunks], w2_there[kMostChunks], w2_free[kMostChunks];
  __shared__ std::uint32_t largest[4];
  const int count = t.hidden2 / kSide, tiles1 = t.hidden1 / kSide;
  char* const h2 = device::aligned_shared();
  char* const w3 = h2 + count * 2 * kBoxBytes;
  char* const ring = w3 + count * 2 * kLastBytes;
  const Chunks chunks{count, h2, w3, ring, h2_there, w2_there, w2_free};
  const int row_tile = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y);
  const int row0 = row_tile * kSide, column0 = tile * kSide;
  const TeamThread at;
  device::overlap_allow();
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps);
  if (threadIdx.x == 0) {
    for (int c = 0; c < count; ++c) {
      device::barrier_init(h2_there + c, 1);
      device::barrier_init(w2_there + c, 1);
      device::barrier_init(w2_free + c, 1);
    }
    device::fence_barrier_init();
  }
  __syncthreads();
  device::overlap_wait();
  if (at.team == kTeams) {
    if (threadIdx.x == kTeamThreads) copy_operands(chunks, maps, row0, column0);
    return;
  }
  const RowPair rows(e, t, row0 + at.row, at.member);
  Shifts shifts{};
  if (at.lane < count) {
    shifts.h2 = e.shifts.h2[row_tile * (count + 1) + at.lane];
    shifts.w3 = e.shifts.w3[at.lane];
    shifts.w2 = e.shifts.w2[at.lane * tiles1 + tile];
  }
  const int shift_g2 = hidden_shift(t.rows, shifts.w3);
  if (row_tile == 0 && tile == 0 && threadIdx.x < count) e.shifts.g2[at.lane] = shift_g2;
  std::uint32_t mask[2][8];  // h1 where g1 will be
  if (at.team == 0) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      mask[i / 8][i % 8] =
          *reinterpret_cast<const std::uint32_t*>(e.h1 + (row0 + at.row + i / 8 * 8) * e.pitch1 +
                                                  big_column(column0) + i % 8 * 8 + 2 * at.member);
    }
  }
  const FragmentPlaces places(h2, w3, at);
  float logits[2][4] = {};
  add_logits(logits, chunks, places, shifts);
  std::uint32_t g3[2][4];
  make_g3(g3, logits, rows, e, t, row0 + at.row, at.member, tile == 0 && at.team == 0);
  teams_sync<kTeams>();  // both teams have read h2
  make_g2(chunks, g3, places, at);
  teams_sync<kTeams>();  // g2 is complete
  store_g2(chunks, e, t, row0);
  float sum[kSide / 2] = {};
  for (int c = at.team; c < count; c += kTeams) {
    device::barrier_wait(w2_there + c, 0);
    multiply_parts<Backward>(sum, h2 + c * 2 * kBoxBytes, ring + c % kStages * 2 * kBoxBytes,
                             __shfl_sync(0xffffffff, shift_g2 + shifts.w2, c));
    if (at.thread == 0) device::barrier_arrive(w2_free + c);
  }
  teams_sync<kTeams>();  // g2 has been read
  add_teams(sum, reinterpret_cast<float*>(h2), at.team);
  if (at.team != 0) return;
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

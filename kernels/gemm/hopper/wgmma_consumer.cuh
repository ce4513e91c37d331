// SPDX-License-Identifier: MIT
// GEMM, the rungs on wgmma: how a warpgroup multiplies what lies in the ring. See wgmma.cuh.
// sm_90a.
#pragma once

#include "kernels/device/wgmma.cuh"
#include "kernels/gemm/hopper/wgmma_store.cuh"
#include "kernels/gemm/hopper/wgmma_tile.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

namespace weft::kernels::cuda {

// Multiplies what stages hold: this warpgroup's 64 rows of A with B.
template <class Tile>
__device__ __forceinline__ void wgmma_multiply(float (&sum)[Tile::kN / 2], const char* stage_a,
                                               const char* stage_b, int warpgroup,
                                               bool accumulate) {
  // 16 (or 8) k further: 32 bytes along a row, or as many rows of a panel.
  constexpr int kStepA = (Tile::kPanelsA ? 16 * 128 : 32) / 16;
  constexpr int kStepB = (Tile::kPanelsB ? 16 * 128 : 32) / 16;
  const std::uint64_t a =
      device::wgmma_descriptor(stage_a + warpgroup * 64 * 128, Tile::kPanelBytes);
  const std::uint64_t b = device::wgmma_descriptor(stage_b + Tile::kBytesA, Tile::kPanelBytes);
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    if constexpr (Tile::kHalf) {
      device::wgmma_fp16<Tile::kN>(sum, a + step * kStepA, b + step * kStepB,
                                   accumulate || step > 0);
    } else if constexpr (!Tile::kFloat) {
      device::wgmma_bf16<Tile::kN, Tile::kPanelsA, Tile::kPanelsB>(
          sum, a + step * kStepA, b + step * kStepB, accumulate || step > 0);
    } else {
      device::wgmma_tf32<Tile::kN>(sum, a + step * kStepA, b + step * kStepB,
                                   accumulate || step > 0);
    }
  }
}

// This lane's words of A for wgmma_tf32_registers(), from panels of 32 m. A pair of neighbours
// along m are its two rows of the product (panel_row() says which). Half a warp then reads 8 pieces
// of 16 bytes, which the swizzle spreads over all banks without conflicts.
struct PanelWords {
  int place;  // of k = member

  __device__ PanelWords(int thread, int warpgroup) {
    const int member = thread % 4, row = warpgroup * 64 + panel_row(thread);
    place = row / 32 * 4096 + member * 128 + ((row % 32 / 4) ^ member) * 16 + row % 4 * 4;
  }

  __device__ __forceinline__ void load(std::uint32_t (&words)[4][4], const char* panels) const {
#pragma unroll
    for (int step = 0; step < 4; ++step) {
#pragma unroll
      for (int q = 0; q < 2; ++q) {  // four k on, pieces are turned by 4 more
        const uint2 pair =
            *reinterpret_cast<const uint2*>(panels + (place ^ q * 64) + (2 * step + q) * 4 * 128);
        words[step][2 * q] = pair.x;
        words[step][2 * q + 1] = pair.y;
      }
    }
  }
};

// What a consumer reads, and which blocks it tells when it has read.
template <class Tile>
struct WgmmaConsumer {
  const char* stages;
  std::uint64_t *full, *empty;
  int thread, warpgroup;  // of the consumers
  device::BarrierRing<Tile::kStages> ring;

  // The next stage, when it is full.
  __device__ __forceinline__ int take() {
    const int stage = ring.stage;
    device::barrier_wait(full + stage, ring.parity);
    ring.advance();
    return stage;
  }
  __device__ __forceinline__ const char* at(int stage) const {
    return stages + stage * Tile::kStageBytes;
  }
  __device__ __forceinline__ void release(int stage) const {
    const int speaker = Tile::kRegistersA ? thread % 32 : thread;
    if constexpr (Tile::kCluster > 1) {
      if (speaker < Tile::kCluster) device::barrier_arrive(empty + stage, speaker);
    } else {
      if (speaker == 0) device::barrier_arrive(empty + stage);
    }
  }

  __device__ __forceinline__ void sum_tile(float (&sum)[Tile::kN / 2], int chunks) {
    int before = 0;
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int stage = take();
      device::wgmma_fence();
      wgmma_multiply<Tile>(sum, at(stage), at(stage), warpgroup, chunk > 0);
      device::wgmma_commit();
      device::wgmma_wait<1>();  // the products of the stage before are done
      if (chunk > 0) release(before);
      before = stage;
    }
    device::wgmma_wait<0>();
    release(before);
  }

  // The same with A from panels of floats, which the tensor core cannot read: while it multiplies
  // one chunk, threads load their words of the next.
  __device__ __forceinline__ void sum_tile_from_panels(float (&sum)[Tile::kN / 2], int chunks) {
    const PanelWords words(thread, warpgroup);
    std::uint32_t even[4][4], odd[4][4] = {};  // of chunks, by steps of 8 along k
    int stage = take(), before = 0;
    words.load(even, at(stage));
    const auto turn = [&](std::uint32_t(&now)[4][4], std::uint32_t(&next)[4][4], int chunk) {
      const std::uint64_t b =
          device::wgmma_descriptor(at(stage) + Tile::kBytesA, Tile::kPanelBytes);
      device::wgmma_fence();
#pragma unroll
      for (int step = 0; step < 4; ++step) {
        device::wgmma_tf32_registers<Tile::kN>(sum, now[step], b + 2 * step, chunk + step > 0);
      }
      device::wgmma_commit();
      device::wgmma_wait<1>();  // the products of the chunk before are done
#pragma unroll
      for (int step = 0; step < 4; ++step) device::wgmma_used(next[step]);
      if (chunk > 0) release(before);
      before = stage;
      if (chunk + 1 == chunks) return;
      stage = take();
      words.load(next, at(stage));
    };
    for (int chunk = 0; chunk < chunks; chunk += 2) {
      turn(even, odd, chunk);
      if (chunk + 1 < chunks) turn(odd, even, chunk + 1);
    }
    device::wgmma_wait<0>();
    release(before);
  }

  // The same with operands in two parts. The tensor core truncates where fp32 rounds, so it only
  // sums a chunk, the small products first. fp32 additions do the rest while the other warpgroup,
  // if there is one, uses the tensor core.
  __device__ __forceinline__ void sum_parts(float (&sum)[Tile::kN / 2], int chunks) {
#pragma unroll
    for (float& total : sum) total = 0;
    for (int chunk = 0; chunk < chunks; chunk += 2) {
      const int small = take(), big = take();
      float of_chunk[Tile::kN / 2];
      device::wgmma_fence();
      wgmma_multiply<Tile>(of_chunk, at(small), at(big), warpgroup, false);
      wgmma_multiply<Tile>(of_chunk, at(big), at(small), warpgroup, true);
      wgmma_multiply<Tile>(of_chunk, at(big), at(big), warpgroup, true);
      device::wgmma_commit();
      device::wgmma_wait<0>();
      release(small);
      release(big);
      device::wgmma_results(of_chunk);
#pragma unroll
      for (int i = 0; i < Tile::kN / 2; ++i) sum[i] += of_chunk[i];
    }
  }

  // The same with parts of fp16, where the small ones are 2^11 times too large. What the mixed
  // products lose to truncation is 2^-11 as much, so the tensor core sums them over all of k, and
  // while it does, fp32 additions take the big ones.
  __device__ __forceinline__ void sum_halves(float (&sum)[Tile::kN / 2], int chunks) {
    float of_chunk[Tile::kN / 2], mixed[Tile::kN / 2];
#pragma unroll
    for (float& total : sum) total = 0;
    int small_before = 0, big_before = 0;
    for (int chunk = 0; chunk < chunks; chunk += 2) {
      const int small = take(), big = take();
      device::wgmma_fence();
      wgmma_multiply<Tile>(of_chunk, at(big), at(big), warpgroup, false);
      device::wgmma_commit();
      wgmma_multiply<Tile>(mixed, at(small), at(big), warpgroup, chunk > 0);
      wgmma_multiply<Tile>(mixed, at(big), at(small), warpgroup, true);
      device::wgmma_commit();
      device::wgmma_wait<1>();  // all but the mixed ones of this chunk are done
      if (chunk > 0) {
        release(small_before);
        release(big_before);
      }
      device::wgmma_results(of_chunk);
#pragma unroll
      for (int i = 0; i < Tile::kN / 2; ++i) sum[i] += of_chunk[i];
      small_before = small;
      big_before = big;
    }
    device::wgmma_wait<0>();
    release(small_before);
    release(big_before);
    device::wgmma_results(mixed);
#pragma unroll
    for (int i = 0; i < Tile::kN / 2; ++i) sum[i] = fmaf(mixed[i], 1 / device::kSmallScale, sum[i]);
  }
};

}  // namespace weft::kernels::cuda

#endif

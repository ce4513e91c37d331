// SPDX-License-Identifier: MIT
// The update with operands in two parts of fp16 (parts/update.cuh, parts/halves.cuh). The scale of
// a tile's copy follows from its largest new weight. So the weights stay in shared memory until all
// of them are updated.
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/update.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

struct Fp16x3 {
  using Element = Half;
  static constexpr int kStages = 3;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

  static constexpr int kWarps = kTeamThreads / 32;

  // Where a layer's copy lies, (out, pitch), and the shifts of its tiles, (out tiles, in tiles).
  struct WeightCopy {
    Element* to;
    std::int64_t pitch;
    std::int32_t* shifts;
    int in_tiles;
  };

  static __device__ __forceinline__ WeightCopy copy_of(const Exchange<Element>& e,
                                                       const Training& t, int layer) {
    if (layer == 0) return {e.w1, e.pitch_w1, e.shifts.w1, divide_up(t.inputs, kSide)};
    if (layer == 1) return {e.w2, 2 * t.hidden1, e.shifts.w2, t.hidden1 / kSide};
    return {e.w3, 2 * t.hidden2, e.shifts.w3, t.hidden2 / kSide};
  }

  static __device__ __forceinline__ void update(const Training& t, const Exchange<Element>& e,
                                                const UpdateTile& tile,
                                                const optimizer::SgdStep<float>& rule,
                                                const float* sums, char* weights,
                                                Largest& largest) {
    const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    std::uint32_t mine = 0;
    update_tile<kWarps>(t, tile, rule, sums, weights, [&](int row, const float4& p) {
      *reinterpret_cast<float4*>(weights + quad_place(row, lane)) = p;
      mine = device::larger(device::larger(mine, p.x), p.y);
      mine = device::larger(device::larger(mine, p.z), p.w);
    });
    // Half a warp has the columns of a tile.
    const int side = lane / 16, column = tile.column0 + 4 * lane;
#pragma unroll
    for (int apart = 8; apart > 0; apart /= 2) {
      mine = max(mine, __shfl_xor_sync(0xffffffff, mine, apart));
    }
    if (lane % 16 == 0) largest[side][warp] = mine;
    teams_sync<kTeams>();
    const LayerPlace place = place_of(t, tile.layer);
    const WeightCopy copy = copy_of(e, t, tile.layer);
    const bool outside = column >= place.in || tile.row0 >= place.out;
    if (outside) return;
    for (int other = 0; other < kWarps; ++other) mine = max(mine, largest[side][other]);
    const int shift = device::half_shift(mine);
    const int out_tile = tile.row0 / kSide, in_tile = tile.column0 / kSide;
    if (warp == 0 && lane % 16 == 0) copy.shifts[out_tile * copy.in_tiles + in_tile + side] = shift;
    const device::HalfScale scale(shift);
    const int rows = min(kSide, place.out - tile.row0);
#pragma unroll 2
    for (int row = warp; row < rows; row += kWarps) {
      const float4 p = *reinterpret_cast<const float4*>(weights + quad_place(row, lane));
      uint2 big, small;
      device::split_halves(big.x, small.x, scale(p.x), scale(p.y), device::kSmallScale);
      device::split_halves(big.y, small.y, scale(p.z), scale(p.w), device::kSmallScale);
      Half* const to = copy.to + (tile.row0 + row) * copy.pitch + big_column(column);
      *reinterpret_cast<uint2*>(to) = big;
      *reinterpret_cast<uint2*>(to + kSide) = small;
    }
  }

#endif
};

}  // namespace

void fused_mlp_update_four_kernels_fp16x3(const Training& t, const Stream& stream) {
  launch_update<Fp16x3>(t, stream);
}

}  // namespace weft::kernels::cuda

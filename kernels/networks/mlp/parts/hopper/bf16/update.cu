// SPDX-License-Identifier: MIT
// The update with operands in bfloat16 (parts/update.cuh). A thread rounds the weights that it has
// updated.
#include "kernels/device/quad.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/update.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

struct Bf16 {
  using Element = Bfloat16;
  static constexpr int kStages = 6;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

  // Where a layer's copy lies, (out, pitch).
  struct WeightCopy {
    Element* to;
    std::int64_t pitch;
  };

  static __device__ __forceinline__ WeightCopy copy_of(const Exchange<Element>& e,
                                                       const Training& t, int layer) {
    if (layer == 0) return {e.w1, e.pitch_w1};
    if (layer == 1) return {e.w2, t.hidden1};
    return {e.w3, t.hidden2};
  }

  static __device__ __forceinline__ void update(const Training& t, const Exchange<Element>& e,
                                                const UpdateTile& tile,
                                                const optimizer::SgdStep<float>& rule,
                                                const float* sums, char* weights, Largest&) {
    const WeightCopy copy = copy_of(e, t, tile.layer);
    const int column = tile.column0 + static_cast<int>(threadIdx.x) % 32 * 4;
    update_tile<kTeamThreads / 32>(t, tile, rule, sums, weights, [&](int row, const float4& p) {
      *reinterpret_cast<uint2*>(copy.to + (tile.row0 + row) * copy.pitch + column) = {
          device::bf16_pair(p.x, p.y), device::bf16_pair(p.z, p.w)};
    });
  }

#endif
};

}  // namespace

void fused_mlp_update_four_kernels_bf16(const Training& t, const Stream& stream) {
  launch_update<Bf16>(t, stream);
}

}  // namespace weft::kernels::cuda

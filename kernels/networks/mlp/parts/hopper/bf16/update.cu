// SPDX-License-Identifier: MIT
// The gradients of all parameters, and the update. A block sums g^T h over the batch for 64 x 128
// weights of a layer, half of the columns by each of two teams. It updates them in place, and their
// copies in bfloat16. Rows of h end with a 1, which makes a bias the last column of its layer. Two
// blocks below each other share h, so a layer of one row of tiles has a block without weights. The
// other blocks gather the images of the next step, and one warp of them adds up the losses.
#include "engine/launch.h"
#include "kernels/device/overlap.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/networks/mlp/launchers.h"
#include "kernels/networks/mlp/parts/update.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_mlp;

constexpr int kTeams = 2;  // of four warps, that share the columns
constexpr int kTeamThreads = kTeams * kConsumers, kBlock = kTeamThreads + kCopyThreads;
using Update = Product<true, true, kUpdateColumns, 6, true, 1, kTeams>;
constexpr std::size_t kSharedBytes = Update::kSharedBytes + 2 * kTileBytes;
static_assert(kSide * kSumPitch * sizeof(float) <= Update::kStages * Update::kStageBytes);

struct Maps {
  CUtensorMap g[kLayers];      // (rows, out)
  CUtensorMap x[2];            // (rows, inputs + 1), of even steps and of odd ones
  CUtensorMap h[kLayers - 1];  // (rows, hidden + 1)
  ParameterMaps weights;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Where a layer's copy lies, (out, pitch).
struct WeightCopy {
  Bfloat16* to;
  std::int64_t pitch;
};

__device__ __forceinline__ WeightCopy copy_of(const Exchange<Bfloat16>& e, const Training& t,
                                              int layer) {
  if (layer == 0) return {e.w1, e.pitch_w1};
  if (layer == 1) return {e.w2, t.hidden1};
  return {e.w3, t.hidden2};
}

#endif

__global__ void __launch_bounds__(kBlock, 1)
    mlp_update_kernel(const __grid_constant__ Maps maps, Exchange<Bfloat16> e, Training t,
                      int chunks) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  __shared__ Barriers<Update> barriers;
  __shared__ std::uint64_t weights_there;
  char* ring = aligned_shared();
  device::overlap_allow();
  if (threadIdx.x == 0) device::barrier_init(&weights_there, 1);
  barriers.init(chunks);
  const UpdateTile tile(t, static_cast<int>(blockIdx.x));
  const std::int64_t step = *t.state.step + t.ahead;  // see forward.cu
  if (threadIdx.x == kTeamThreads) prefetch_maps(maps, tile, step, t.state.velocity != nullptr);
  if (tile.layer == kLayers) {
    device::overlap_wait();
    return serve<kBlock>(t, e, tile.row0, step);
  }
  char* const weights = ring + Update::kStages * Update::kStageBytes;
  const int team = static_cast<int>(threadIdx.x) / kConsumers;
  if (team == kTeams) {
    return produce_tile(ring, barriers, maps, tile, step, chunks, weights,
                        t.state.velocity != nullptr, &weights_there);
  }
  device::overlap_wait();
  const optimizer::SgdStep<float> rule(t.sgd, t.state.lr[step]);
  float sum[kSide / 2];
  consume<Update>(sum, ring, barriers, chunks, team);
  teams_sync<kTeams>();  // all products are made: the ring is free
  auto* const sums = reinterpret_cast<float*>(ring);
  put_sums(sums, sum, team * kSide);
  teams_sync<kTeams>();  // the sums are written
  device::barrier_wait(&weights_there, 0);
  const WeightCopy copy = copy_of(e, t, tile.layer);
  const int column = tile.column0 + static_cast<int>(threadIdx.x) % 32 * 4;
  update_tile<kTeamThreads / 32>(t, tile, rule, sums, weights, [&](int row, const float4& p) {
    *reinterpret_cast<uint2*>(copy.to + (tile.row0 + row) * copy.pitch + column) = {
        device::bf16_pair(p.x, p.y), device::bf16_pair(p.z, p.w)};
  });
#else
  (void)maps, (void)e, (void)t, (void)chunks;
  __trap();
#endif
}

}  // namespace

void fused_mlp_update_four_kernels_bf16(const Training& t, const Stream& stream) {
  const Exchange<Bfloat16> e(t.workspace, t);
  const auto map = [&](const Bfloat16* data, std::int64_t columns, std::int64_t pitch) {
    return matrix_map(data, TensorMapType::bf16, {t.rows, columns, pitch}, kSide);
  };
  const Maps maps{
      {map(e.g1, t.hidden1, t.hidden1), map(e.g2, t.hidden2, t.hidden2), map(e.g3, kSide, kSide)},
      {map(e.x[0], t.inputs + 1, e.pitch_x), map(e.x[1], t.inputs + 1, e.pitch_x)},
      {map(e.h1, t.hidden1 + 1, e.pitch1), map(e.h2, t.hidden2 + 1, e.pitch2)},
      ParameterMaps(t)};
  const unsigned blocks = update_blocks(t, device_properties(stream.device()).multiprocessors);
  const Launch config{blocks, kBlock, kSharedBytes, stream};
  launch(mlp_update_kernel, config.clusters_of(Update::kCluster).overlapped(), maps, e, t,
         divide_up(t.rows, kSide));
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// persistent.cu for a rank of several, each on a GPU of its own: it takes its share of every batch,
// and the ranks add their gradients up inside of the kernel, before the update. Nothing goes
// through the host, and the link is crossed once a step.
//
// A kernel of its own, so that a GPU alone pays nothing. A rank without images in a tail batch
// still takes part: its gradients are 0.
#include <cooperative_groups.h>

#include "engine/launch.h"
#include "kernels/networks/cnn/launchers.h"
#include "kernels/networks/cnn/parts/peers.cuh"
#include "kernels/networks/cnn/parts/plan.h"
#include "kernels/networks/cnn/parts/train.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_cnn;

template <class Net, int kImages>
__global__ void __launch_bounds__(kThreads, 1)
    fused_cnn_peers_kernel(Training training, Peers ranks, std::int64_t steps) {
  if constexpr (sizeof(Shared<Net, kImages>) <= device::kMaxSharedBytes) {
    auto& shared = *device::dynamic_shared<Shared<Net, kImages>>();
    const std::int64_t first = *training.step, end = first + steps;
    Clock clock;
    Rounds<Net, kImages> rounds(shared, training, clock);
    rounds.begin(first);
    for (std::int64_t step = first; step < end; ++step) {
      const bool more = step + 1 < end;
      rounds.run(step, more);
      cooperative_groups::this_grid().sync();  // the images' results are visible
      update_with_peers<Net>(shared.large.parameters, training, step, ranks);
      if (more) rounds.finish_fetch();
      cooperative_groups::this_grid().sync();  // the parameters are updated
      if (blockIdx.x == 0 && threadIdx.x < kAllReduceBlocks) ++ranks.calls[threadIdx.x];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) *training.step = end;
  }
}

}  // namespace

void fused_cnn_persistent_with_peers(const Training& training, const PeerGroup& group,
                                     std::int64_t steps, const FusedCnnDims& dims,
                                     const Stream& stream) {
  with_network(dims, [&](auto net) {
    using Net = decltype(net);
    with_images(training.rows, stream.device(), [&](auto images) {
      constexpr int kImages = decltype(images)::value;
      const Launch config{static_cast<unsigned>(device_properties(stream.device()).multiprocessors),
                          kThreads, sizeof(Shared<Net, kImages>), stream};
      launch(fused_cnn_peers_kernel<Net, kImages>, config.cooperative(), training, peers_of(group),
             steps);
    });
  });
}

}  // namespace weft::kernels::cuda

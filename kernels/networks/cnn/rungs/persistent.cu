// SPDX-License-Identifier: MIT
// Many steps in one cooperative launch: a block stays on its SM and the grid meets twice a step,
// when all images are done and when all parameters are updated.
//
// It saves what the kernel boundary of two_kernels costs: shared memory need not be prepared again.
// The images of the next step are drawn while the first convolution runs, and fetched while the
// parameters are updated.
#include <cooperative_groups.h>

#include "engine/launch.h"
#include "kernels/networks/cnn/launchers.h"
#include "kernels/networks/cnn/parts/plan.h"
#include "kernels/networks/cnn/parts/train.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_cnn;

template <class Net, int kImages>
__global__ void __launch_bounds__(kThreads, 1)
    fused_cnn_persistent_kernel(Training training, std::int64_t steps, Clock clock) {
  if constexpr (sizeof(Shared<Net, kImages>) <= device::kMaxSharedBytes) {
    auto& shared = *device::dynamic_shared<Shared<Net, kImages>>();
    const std::int64_t first = *training.step, end = first + steps;
    Rounds<Net, kImages> rounds(shared, training, clock);
    rounds.begin(first);
    for (std::int64_t step = first; step < end; ++step) {
      const bool more = step + 1 < end;
      rounds.run(step, more);
      cooperative_groups::this_grid().sync();  // the images' results are visible
      clock.mark(Part::images_barrier);
      update_parameters<Net>(shared.large.parameters, training, step);
      if (more) rounds.finish_fetch();
      clock.mark(Part::parameters);
      cooperative_groups::this_grid().sync();  // the parameters are updated
      clock.mark(Part::parameters_barrier);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) *training.step = end;
  }
}

void train(const Training& training, std::int64_t steps, const FusedCnnDims& dims,
           long long* cycles, const Stream& stream) {
  with_network(dims, [&](auto net) {
    using Net = decltype(net);
    with_images(training.rows, stream.device(), [&](auto images) {
      constexpr int kImages = decltype(images)::value;
      const Launch config{static_cast<unsigned>(device_properties(stream.device()).multiprocessors),
                          kThreads, sizeof(Shared<Net, kImages>), stream};
      launch(fused_cnn_persistent_kernel<Net, kImages>, config.cooperative(), training, steps,
             Clock{cycles});
    });
  });
}

}  // namespace

void fused_cnn_train_persistent(const Training& training, std::int64_t steps,
                                const FusedCnnDims& dims, const Stream& stream) {
  train(training, steps, dims, nullptr, stream);
}

void fused_cnn_persistent_timed(const Training& training, std::int64_t steps,
                                const FusedCnnDims& dims, long long* cycles, const Stream& stream) {
  train(training, steps, dims, cycles, stream);
}

}  // namespace weft::kernels::cuda

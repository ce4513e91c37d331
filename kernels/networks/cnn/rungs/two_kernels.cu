// SPDX-License-Identifier: MIT
// A step as two kernels: the images, then the parameters. Between them lies a kernel boundary,
// which is a barrier of the whole device; both can be recorded in a graph and replayed.
//
// A block of the first kernel takes two images, or one where there are SMs enough for all; most of
// its 227 KiB of shared memory are fc1's weights. The second kernel has a block for each tile.
#include "engine/launch.h"
#include "kernels/networks/cnn/launchers.h"
#include "kernels/networks/cnn/parts/plan.h"
#include "kernels/networks/cnn/parts/train.cuh"

namespace weft::kernels::cuda {
namespace {

using namespace fused_cnn;

template <class Net, int kImages>
__global__ void __launch_bounds__(kThreads, 1) fused_cnn_images_kernel(Training training) {
  if constexpr (sizeof(Shared<Net, kImages>) <= device::kMaxSharedBytes) {
    auto& shared = *device::dynamic_shared<Shared<Net, kImages>>();
    Clock clock;
    const std::int64_t step = *training.step;
    if (blockIdx.x == 0 && threadIdx.x == 0) *training.exchange.step = step;
    Rounds<Net, kImages> rounds(shared, training, clock);
    rounds.begin(step);
    rounds.run(step, false);
  }
}

template <class Net>
__global__ void __launch_bounds__(kThreads) fused_cnn_parameters_kernel(Training training) {
  __shared__ ParameterMemory memory;
  const std::int64_t step = *training.exchange.step;
  update_parameters<Net>(memory, training, step);
  if (blockIdx.x == 0 && threadIdx.x == 0) *training.step = step + 1;
}

}  // namespace

void fused_cnn_train_two_kernels(const Training& training, std::int64_t steps,
                                 const FusedCnnDims& dims, const Stream& stream) {
  with_network(dims, [&](auto net) {
    using Net = decltype(net);
    with_images(training.rows, stream.device(), [&](auto images) {
      constexpr int kImages = decltype(images)::value;
      const Launch first{static_cast<unsigned>(training.image_blocks), kThreads,
                         sizeof(Shared<Net, kImages>), stream};
      const Launch second{static_cast<unsigned>(parameter_tasks<Net>(training.classes)), kThreads,
                          0, stream};
      for (std::int64_t step = 0; step < steps; ++step) {
        launch(fused_cnn_images_kernel<Net, kImages>, first, training);
        launch(fused_cnn_parameters_kernel<Net>, second, training);
      }
    });
  });
}

}  // namespace weft::kernels::cuda

// SPDX-License-Identifier: MIT
// Many images through the network: a block keeps all weights on its SM, in shared memory and in
// registers, and takes two images at a time, while the pixels of the next two are fetched.
#include "engine/launch.h"
#include "kernels/device/dynamic_shared.cuh"
#include "kernels/networks/cnn/launchers.h"
#include "kernels/networks/cnn/parts/image_phase.cuh"
#include "kernels/networks/cnn/parts/parameter_phase.cuh"
#include "kernels/networks/cnn/parts/plan.h"

namespace weft::kernels::cuda {
namespace {

using namespace fused_cnn;

constexpr int kImages = 2;

template <class Net>
__global__ void __launch_bounds__(kThreads, 1) fused_cnn_infer_kernel(Inference t) {
  using Block = Shared<Net, kImages>;
  if constexpr (sizeof(Block) <= device::kMaxSharedBytes) {
    auto& shared = *device::dynamic_shared<Block>();
    const int rounds = rounds_of<kImages>(t.rows);
    Clock clock;
    ImagePhase<Net, kImages> phase(shared, t.parameters, t.classes, clock);
    Pixels<Net, kImages> pixels;
    const auto draw = [&](int round) {
      if (lane_id() >= kImages) return;
      draw_image(shared.draws[round % 2][lane_id()], t.source, Net::kHeight, Net::kWidth,
                 first_row<kImages>(round) + lane_id(), t.rows, 0);
    };
    if (warp_id() == 0) draw(0);
    phase.stage_weights();
    phase.load_linear();
    __syncthreads();  // the draws are there
    pixels.fetch(shared.draws[0], t.source);
    pixels.put(shared.x, shared.draws[0], t.source);
    phase.wait_for_filters();
    double loss = 0.0;
    std::int64_t hits = 0;
    for (int round = 0; round < rounds; ++round) {
      const Draw* draws = shared.draws[round % 2];
      const Draw* next = shared.draws[(round + 1) % 2];
      const bool more = round + 1 < rounds;
      phase.convolve([&] {
        if (more) draw(round + 1);
      });
      if (more) pixels.fetch(next, t.source);
      if (round == 0) phase.wait_for_fc1();
      phase.classify([](int, int, float) {});
      phase.compare(draws, 1.0f, 0.0f);
      if (more) pixels.put(shared.x, next, t.source);
      const int image = warp_id();
      const std::int64_t row = first_row<kImages>(round) + image;
      if (image < kImages && row < t.rows) {
        const int c = lane_id();
        if (t.logits != nullptr && c < t.classes) {
          t.logits[row * t.classes + c] = shared.logits[image][c];
        }
        if (t.predictions != nullptr && c == 0) t.predictions[row] = shared.prediction[image];
      }
      if (threadIdx.x == 0) {
        for (int i = 0; i < kImages; ++i) {
          if (!draws[i].there) continue;
          loss += static_cast<double>(shared.loss[i]);
          hits += shared.prediction[i] == draws[i].label ? 1 : 0;
        }
      }
    }
    if (threadIdx.x == 0) {
      t.exchange.losses[blockIdx.x] = loss;
      t.exchange.hits[blockIdx.x] = hits;
    }
  }
}

__global__ void __launch_bounds__(32) fused_cnn_totals_kernel(Inference t) {
  add_totals(t.totals, t.exchange, t.image_blocks, t.rows);
}

}  // namespace

void fused_cnn_infer_resident_weights(const Inference& inference, const FusedCnnDims& dims,
                                      const Stream& stream) {
  with_network(dims, [&](auto net) {
    using Net = decltype(net);
    launch(fused_cnn_infer_kernel<Net>,
           Launch{static_cast<unsigned>(inference.image_blocks), kThreads,
                  sizeof(Shared<Net, kImages>), stream},
           inference);
  });
  if (inference.totals != nullptr) {
    launch(fused_cnn_totals_kernel, Launch{1, 32, 0, stream}, inference);
  }
}

}  // namespace weft::kernels::cuda

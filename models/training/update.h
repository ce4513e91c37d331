// SPDX-License-Identifier: MIT
// Update: the optimizer's part of a training step, for the layers that are trained.
#pragma once

#include <vector>

#include "kernels/reduce/reduce.h"
#include "models/training/start.h"
#include "models/training/train_step.h"

namespace weft::models {

// It queues a step of the optimizer. The norm of the gradients stays on the device.
class Update {
 public:
  Update(const layers::Sequential& net, TrainMemory& memory, const StepOptions& options,
         const Stream& stream)
      : memory_(memory),
        options_(options),
        runs_(trained_runs(net, memory.weights.frozen)),
        sum_of_squares_(Shape{1}, DType::f32, stream),
        workspace_(options.clip_norm > 0 ? kernels::reduce_workspace_bytes(
                                               memory.weights.gradients.elements(), stream.device())
                                         : 0,
                   stream) {}

  void queue(const Stream& stream) {
    const Tensor& gradients = memory_.weights.gradients;  // those of frozen layers are 0
    kernels::GradientClip clip{};
    if (options_.clip_norm > 0) {
      clip = {sum_of_squares_.data<float>(), options_.clip_norm};
      kernels::reduce(sum_of_squares_.data<float>(), gradients.data<float>(), gradients.elements(),
                      kernels::Reduction::sum_of_squares, {workspace_.data(), workspace_.bytes()},
                      stream);
    }
    for (const FlatRun& run : runs_) {
      const UpdateArrays arrays{memory_.weights.parameters.data<float>() + run.first,
                                gradients.data<float>() + run.first,
                                run.count,
                                memory_.states,
                                memory_.lr.data<float>(),
                                memory_.step.data<std::int64_t>(),
                                clip,
                                run.first};
      options_.optimizer->update(arrays, options_, stream);
    }
  }

 private:
  TrainMemory& memory_;
  StepOptions options_;
  std::vector<FlatRun> runs_;
  Tensor sum_of_squares_;  // (1,)
  Buffer workspace_;
};

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// The device side of a training run: its memory, and the step as work recorded once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "distributed/communicator.h"
#include "engine/stream.h"
#include "kernels/batch/batch.h"
#include "kernels/optimizer/optimizer.h"
#include "layers/network/sequential.h"
#include "models/answers/evaluate.h"
#include "models/device_totals.h"
#include "models/training/optimizer.h"
#include "models/training/runs/checkpoint.h"
#include "models/training/train_config.h"

namespace weft::models {

// What all steps of a run share. Everything that changes from step to step lives on the device.
struct TrainMemory {
  TrainMemory(const layers::Sequential& net, const data::ImageSet& set,
              const kernels::BatchOrder& order, std::span<const float> lr_table,
              const Optimizer& optimizer, bool averages, const Stream& stream);

  // Both block. The totals of a checkpoint are those of all ranks: rank 0 takes them over, `leads`.
  void write(const Checkpoint& from, bool leads, const Stream& stream);
  void read(Checkpoint& into, const Stream& stream) const;  // weights, states, average
  // The weights that stand for the model: the average when there is one.
  layers::Weights& evaluated() { return average ? *average : weights; }

  DeviceImages images;
  layers::Weights weights;
  std::optional<layers::Weights> average;  // parameters and buffers, when averaged
  std::vector<Tensor> states;              // (parameters,), f32, of the optimizer
  Tensor lr;                               // (steps of the run,), f32
  Tensor step;                             // (1,), i64
  DeviceTotals totals;
  std::unique_ptr<distributed::Peers> peers;  // of steps that exchange by themselves; or null
};

// What a step does besides its batch size: the settings of the run, and what its data ask for.
struct StepOptions : TrainConfig {
  kernels::BatchOrder order;
  std::vector<kernels::Normalization> normalization;  // (channels,)
};

// Gather, forward, loss, backward, totals, update, step + 1, for `rows` images: a full batch or the
// tail of an epoch. Each rank takes its share of the rows; the gradient of the mean over all rows
// is the sum over the ranks. The totals are those of this rank.
class TrainStep {
 public:
  virtual ~TrainStep() = default;
  // What computes a step: layers, fused_cnn or fused_mlp.
  virtual std::string_view name() const = 0;
  // Queues so many steps, one after the other.
  virtual void launch(std::int64_t steps) = 0;
};

// The network by kernels of its own where there are such kernels (fused_cnn.h, fused_mlp.h),
// options.kernels allows it, no layer is frozen, all images are on the device, nothing but the warp
// augments, the optimizer is one that they compute, without clipping and nothing is averaged; else
// layer by layer. The ranks of a CNN's kernel are GPUs that reach each other; an MLP's kernels have
// one rank. On a GPU this runs a step on whatever is in memory, because the first launch of a
// kernel loads it, which must not happen during a capture; write the state afterwards.
std::unique_ptr<TrainStep> make_train_step(const layers::Sequential& net, TrainMemory& memory,
                                           const StepOptions& options, std::int64_t rows,
                                           distributed::Communicator& ranks, const Stream& stream);

// Runs the forward pass of the batch at the current step once more, layer by layer, and returns the
// first layer whose output holds a value that is not finite, or null: of this rank's rows, or the
// first one where this rank has none. Blocks.
const layers::Layer* first_broken_layer(const layers::Sequential& net, TrainMemory& memory,
                                        const StepOptions& options, std::int64_t rows,
                                        distributed::Communicator& ranks, const Stream& stream);

}  // namespace weft::models

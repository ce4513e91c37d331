// SPDX-License-Identifier: MIT
// Checkpoint: all that a run needs to go on as if it had never stopped, in one safetensors file.
//
// Tensors are named parameter.NAME, buffer.NAME, and velocity.NAME, or what else the optimizer
// keeps (models/training/optimizer.h); average.NAME for the averaged weights of a run with an
// ema_decay; best.NAME for the weights of the best epoch when there is a validation split. The
// metadata entry "weft_run" holds the rest.
#pragma once

#include <string>
#include <vector>

#include "layers/network/sequential.h"
#include "models/files/safetensors.h"
#include "models/training/runs/run_state.h"

namespace weft::models {

// Flat parameters and buffers, in the order of Sequential::slices().
struct HostWeights {
  std::vector<float> parameters, buffers;
};

struct Checkpoint {
  RunState state;
  HostWeights weights;
  std::vector<std::vector<float>> states;  // one for each of Optimizer::states, as parameters
  HostWeights average;                     // empty unless state.config.ema_decay > 0
  HostWeights best;                        // empty unless best_epoch(state.history) > 0

  // What is evaluated, saved as the model and exported.
  const HostWeights& evaluated() const { return state.config.ema_decay > 0 ? average : weights; }
};

// The start of a new run: weights drawn from the config's seed.
Checkpoint fresh_checkpoint(const TrainConfig& config, const DataFingerprint& data,
                            const layers::Sequential& net);
SafeTensors checkpoint_content(const Checkpoint& checkpoint, const layers::Sequential& net);
// Error{data}, prefixed by `where`, for content that does not hold together.
RunState run_state_of(const SafeTensors& content, const std::string& where);
Checkpoint checkpoint_of(const SafeTensors& content, const layers::Sequential& net,
                         const std::string& where);

}  // namespace weft::models

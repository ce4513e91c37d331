// SPDX-License-Identifier: MIT
#include "models/training/runs/checkpoint.h"

#include <algorithm>

#include "engine/text.h"
#include "models/files/state_dict.h"

namespace weft::models {

namespace {

constexpr const char* kRunKey = "weft_run";
const std::string kParameter = "parameter.";
const std::string kBuffer = "buffer.";
const std::string kAverage = "average.";
const std::string kBest = "best.";

void add_weights(SafeTensors& content, const std::string& prefix, const layers::Sequential& net,
                 const HostWeights& weights) {
  add_tensors(content, prefix, net, SliceKind::parameters, weights.parameters);
  add_tensors(content, prefix, net, SliceKind::buffers, weights.buffers);
}

std::string prefix_of(const OptimizerState& state) {
  return std::string(state.name) + ".";
}

// A run goes on with the optimizer that it began with: the moments of one mean nothing to another.
void check_optimizer(const SafeTensors& content, const Optimizer& optimizer,
                     const std::string& where) {
  const auto keeps = [](const Optimizer& kind, const NamedTensor& tensor) {
    return std::ranges::any_of(kind.states, [&](const OptimizerState& state) {
      return tensor.name.starts_with(prefix_of(state));
    });
  };
  for (const Optimizer& other : optimizers()) {
    for (const NamedTensor& tensor : content.tensors) {
      if (!keeps(other, tensor) || keeps(optimizer, tensor)) continue;
      throw Error(ErrorKind::data, str(where, ": the config says ", optimizer.name, ", but tensor ",
                                       in_quotes(tensor.name), " was written by ", other.name));
    }
  }
}

// Weights are what has rows of inputs; biases and batch norm's factors stay as they are.
void scale_weights(std::vector<float>& parameters, const layers::Sequential& net, float gain) {
  for (const layers::NamedSlice& slice : net.slices()) {
    if (!slice.trainable || slice.shape.rank() < 2) continue;
    const auto first = parameters.begin() + slice.offset;
    std::transform(first, first + slice.shape.elements(), first,
                   [gain](float weight) { return gain * weight; });
  }
}

}  // namespace

Checkpoint fresh_checkpoint(const TrainConfig& config, const DataFingerprint& data,
                            const layers::Sequential& net) {
  Checkpoint checkpoint;
  checkpoint.state.config = config;
  checkpoint.state.data = data;
  checkpoint.weights = {net.initial_parameters(config.seed), net.initial_buffers()};
  scale_weights(checkpoint.weights.parameters, net, config.init_gain);
  checkpoint.states.assign(config.optimizer->states.size(),
                           std::vector<float>(checkpoint.weights.parameters.size()));
  if (config.ema_decay > 0) checkpoint.average = checkpoint.weights;
  return checkpoint;
}

SafeTensors checkpoint_content(const Checkpoint& checkpoint, const layers::Sequential& net) {
  SafeTensors content;
  content.metadata = {{"format", "pt"}, {kRunKey, to_json(checkpoint.state)}};
  const HostWeights& weights = checkpoint.weights;
  add_tensors(content, kParameter, net, SliceKind::parameters, weights.parameters);
  const auto& states = checkpoint.state.config.optimizer->states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    add_tensors(content, prefix_of(states[i]), net, SliceKind::parameters, checkpoint.states[i]);
  }
  add_tensors(content, kBuffer, net, SliceKind::buffers, weights.buffers);
  if (checkpoint.state.config.ema_decay > 0) {
    add_weights(content, kAverage, net, checkpoint.average);
  }
  if (best_epoch(checkpoint.state.history) > 0) add_weights(content, kBest, net, checkpoint.best);
  return content;
}

RunState run_state_of(const SafeTensors& content, const std::string& where) {
  const auto text = content.metadata.find(kRunKey);
  if (text == content.metadata.end()) {
    throw Error(ErrorKind::data, str(where, ": expected the state of a training run"));
  }
  return run_state_from_json(text->second, where);
}

Checkpoint checkpoint_of(const SafeTensors& content, const layers::Sequential& net,
                         const std::string& where) {
  Checkpoint checkpoint;
  checkpoint.state = run_state_of(content, where);
  const Optimizer& optimizer = *checkpoint.state.config.optimizer;
  check_optimizer(content, optimizer, where);
  std::vector<std::string> prefixes = {kParameter, kBuffer, kAverage, kBest};
  for (const OptimizerState& state : optimizer.states) prefixes.push_back(prefix_of(state));
  check_no_others(content, prefixes, net, where);
  const auto flat = [&](const std::string& prefix, SliceKind kind) {
    return flat_values(content, prefix, net, kind, where);
  };
  checkpoint.weights = {flat(kParameter, SliceKind::parameters), flat(kBuffer, SliceKind::buffers)};
  for (const OptimizerState& state : optimizer.states) {
    checkpoint.states.push_back(flat(prefix_of(state), SliceKind::parameters));
    if (state.is_square &&
        std::ranges::any_of(checkpoint.states.back(), [](float square) { return square < 0; })) {
      throw Error(ErrorKind::data, str(where, ": a mean of squares (", state.name, ") is below 0"));
    }
  }
  if (checkpoint.state.config.ema_decay > 0) {
    checkpoint.average = {flat(kAverage, SliceKind::parameters),
                          flat(kAverage, SliceKind::buffers)};
  }
  if (best_epoch(checkpoint.state.history) > 0) {
    checkpoint.best = {flat(kBest, SliceKind::parameters), flat(kBest, SliceKind::buffers)};
  }
  return checkpoint;
}

}  // namespace weft::models

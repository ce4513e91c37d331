// SPDX-License-Identifier: MIT
#include "models/checkpoint.h"

#include "models/state_dict.h"

namespace weft::models {

namespace {

constexpr const char* kRunKey = "weft_run";
const std::string kParameter = "parameter.";
const std::string kVelocity = "velocity.";
const std::string kBuffer = "buffer.";
const std::string kAverage = "average.";
const std::string kBest = "best.";

void add_weights(SafeTensors& content, const std::string& prefix, const layers::Sequential& net,
                 const HostWeights& weights) {
  add_tensors(content, prefix, net, SliceKind::parameters, weights.parameters);
  add_tensors(content, prefix, net, SliceKind::buffers, weights.buffers);
}

}  // namespace

SafeTensors checkpoint_content(const Checkpoint& checkpoint, const layers::Sequential& net) {
  SafeTensors content;
  content.metadata = {{"format", "pt"}, {kRunKey, to_json(checkpoint.state)}};
  const HostWeights& weights = checkpoint.weights;
  add_tensors(content, kParameter, net, SliceKind::parameters, weights.parameters);
  add_tensors(content, kVelocity, net, SliceKind::parameters, checkpoint.velocity);
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
  const std::string prefixes[] = {kParameter, kVelocity, kBuffer, kAverage, kBest};
  check_no_others(content, prefixes, net, where);
  const auto flat = [&](const std::string& prefix, SliceKind kind) {
    return flat_values(content, prefix, net, kind, where);
  };
  checkpoint.weights = {flat(kParameter, SliceKind::parameters), flat(kBuffer, SliceKind::buffers)};
  checkpoint.velocity = flat(kVelocity, SliceKind::parameters);
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

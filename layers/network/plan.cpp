// SPDX-License-Identifier: MIT
// Plan: allocates what a Layout has placed; a step then only calls layers.
#include <algorithm>

#include "kernels/activation/activation.h"
#include "layers/network/layout.h"
#include "layers/network/sequential.h"

namespace weft::layers {

namespace {

FloatView view_of(const Place& place, const Arena& arena, Device device) {
  return {static_cast<float*>(arena.at(place.region)), place.shape, device};
}

}  // namespace

Plan::Plan(const Sequential& net, Weights& weights, std::int64_t batch, Phase phase,
           const KernelChoice& kernels, std::uint64_t seed, const std::int64_t* step,
           const Stream& stream)
    : layers_(net.layers_), weights_(weights.alive), batch_(batch), phase_(phase) {
  const Device device = stream.device();
  const bool training = phase == Phase::training;
  if (batch < 0) throw Error(ErrorKind::usage, str("a plan for a batch of ", batch));

  if (training && kernels.fuse && device.is_cuda()) branch_ = std::make_unique<Branch>(stream);
  Layout layout = lay_out(net, batch, phase, kernels, device, arenas_);
  for (Arena* arena : arenas_.all()) arena->allocate(stream);

  const std::vector<LayerContext> contexts = bind(net, weights, stream);
  for (std::size_t i = 0; i < layout.calls.size(); ++i) {
    const Call& call = layout.calls[i];
    Step& added = steps_.emplace_back(step_of(call, contexts[call.index], device));
    added.masked = i + 1 < layout.calls.size() && layout.calls[i + 1].mask_input_gradient;
    added.context.cache = arenas_.caches.at(i);
    added.context.workspace = {arenas_.workspace.at(0), arenas_.workspace.region_bytes(0)};
    added.context.kernels = kernels;
    added.context.phase = phase;
    added.context.seed = seed;
    added.context.step = step;
    added.context.branch = branch_.get();
  }
  joined_ = std::move(layout.joined);
  freeze(weights.frozen);
  input_ = view_of(layout.input, arenas_.activations, device);
  output_ = view_of(layout.output, arenas_.activations, device);
  if (training || !kernels.fuse) {
    for (const Place& place : layout.layer_outputs) {
      layer_outputs_.push_back(view_of(place, arenas_.activations, device));
    }
  }
  if (!training) return;
  output_gradient_ = view_of(layout.output_gradient, arenas_.gradients, device);
  input_gradient_ = view_of(layout.input_gradient, arenas_.gradients, device);
}

Plan::Step Plan::step_of(const Call& call, const LayerContext& layer, Device device) const {
  const bool training = phase_ == Phase::training;
  Step step;
  step.layer = call.layer;
  step.epilogue = call.epilogue;
  step.x = view_of(call.x, arenas_.activations, device);
  step.y = view_of(call.y, arenas_.activations, device);
  if (training) {
    step.dx = view_of(call.dx, arenas_.gradients, device);
    step.dy = view_of(call.dy, arenas_.gradients, device);
    step.incoming = view_of(call.incoming, arenas_.gradients, device);
  }
  LayerContext& context = step.context = layer;
  // The parameters of the layers that a call stands for follow each other.
  const std::size_t parameters = call.layer->parameters().size();
  context.parameters = {context.parameters.data(), parameters};
  if (parameters > 0) {
    step.first_parameter = context.parameters[0].data - parameter_views_.front().data;
  }
  if (training) context.gradients = {context.gradients.data(), parameters};
  context.layer_index = static_cast<std::uint32_t>(call.index);
  context.mask_input_gradient = call.mask_input_gradient;
  const Junction junction = call.layer->traits().junction;
  if (closes_block(junction)) context.other = view_of(call.other, arenas_.activations, device);
  if (junction == Junction::concat && training) {
    context.other_gradient = view_of(call.other_gradient, arenas_.gradients, device);
  }
  if (junction == Junction::fork) context.other = view_of(call.other, arenas_.gradients, device);
  return step;
}

// Slices the flat buffers; returns, per layer, a context with its spans of slices.
std::vector<LayerContext> Plan::bind(const Sequential& net, Weights& weights,
                                     const Stream& stream) {
  const Device device = stream.device();
  const auto check = [&](std::string_view what, const Tensor& tensor, std::int64_t expected) {
    if (tensor.elements() == expected && tensor.device() == device) return;
    throw Error(ErrorKind::usage, str("plan: expected ", expected, " ", what, " on ", device,
                                      ", found ", tensor.elements(), " on ", tensor.device()));
  };
  check("parameters", weights.parameters, net.parameter_count());
  const bool training = phase_ == Phase::training;
  if (training) check("gradients", weights.gradients, net.parameter_count());
  check("buffers", weights.buffers, net.buffer_count());

  const std::vector<bool>& frozen = weights.frozen;
  if (!frozen.empty() && frozen.size() != net.layers().size()) {
    throw Error(ErrorKind::usage,
                str("plan: ", frozen.size(), " frozen or not of ", net.layers().size(), " layers"));
  }
  if (training && std::ranges::count(frozen, true) > 0) {
    unread_gradients_ = Tensor({net.parameter_count()}, DType::f32, stream);
    zero_bytes(unread_gradients_.raw(), unread_gradients_.bytes(), stream);  // some are added to
  }
  std::vector<bool> is_frozen;  // of each parameter
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    is_frozen.insert(is_frozen.end(), net.layers()[i]->parameters().size(),
                     !frozen.empty() && frozen[i]);
  }
  for (const NamedSlice& slice : net.slices()) {
    const auto at = [&](Tensor& flat) {
      return FloatView{flat.data<float>() + slice.offset, slice.shape, device};
    };
    if (!slice.trainable) {
      buffer_views_.push_back(at(weights.buffers));
      continue;
    }
    parameter_views_.push_back(at(weights.parameters));
    if (!training) continue;
    const bool is_read = !is_frozen[gradient_views_.size()];
    gradient_views_.push_back(at(is_read ? weights.gradients : unread_gradients_));
  }

  std::vector<LayerContext> contexts;
  std::span<const FloatView> parameters = parameter_views_, gradients = gradient_views_,
                             buffers = buffer_views_;
  const auto take = [](std::span<const FloatView>& views, std::size_t count) {
    const auto taken = views.first(count);
    views = views.subspan(count);
    return taken;
  };
  for (const auto& layer : net.layers()) {
    LayerContext& context = contexts.emplace_back();
    context.parameters = take(parameters, layer->parameters().size());
    if (training) context.gradients = take(gradients, layer->parameters().size());
    context.buffers = take(buffers, layer->buffers().size());
  }
  return contexts;
}

// Marks the steps of frozen layers. Those in front of all others need no backward at all.
void Plan::freeze(const std::vector<bool>& frozen) {
  const auto trains = [&](const Step& step) {
    const std::size_t count = step.layer->parameters().size();
    if (count == 0 || frozen.empty()) return count > 0;
    std::size_t found = 0;  // a step may stand for several layers
    for (std::size_t i = step.context.layer_index; found < count; ++i) {
      const std::size_t parameters = (*layers_)[i]->parameters().size();
      if (parameters > 0 && !frozen[i]) return true;
      found += parameters;
    }
    return false;
  };
  for (Step& step : steps_) step.context.frozen = !trains(step);
  while (first_trained_ < steps_.size() && steps_[first_trained_].context.frozen) {
    ++first_trained_;
  }
  for (std::size_t i = 0; i < steps_.size() && phase_ == Phase::training; ++i) {
    Step& step = steps_[i];
    const bool has_parameters = !step.layer->parameters().empty();
    if (!step.context.frozen || !has_parameters || !step.layer->traits().takes_batch_statistics) {
      continue;
    }
    if (i > first_trained_) {
      throw Error(ErrorKind::usage, str(step.layer->name(), ": ", step.layer->describe(),
                                        " can be frozen only where ", "all layers before it are"));
    }
    step.context.phase = Phase::inference;
  }
}

void Plan::check_training(const char* what) const {
  if (phase_ == Phase::training) return;
  throw Error(ErrorKind::usage, str("plan: ", what, " needs a plan for training"));
}

void Plan::check_weights() const {
  if (!weights_.expired()) return;
  throw Error(ErrorKind::usage, "plan: its weights have ended before it");
}

void Plan::over_ranks(const SumOverRanks* sum, std::int64_t all_rows) {
  check_training("over_ranks()");
  if (sum != nullptr && all_rows < batch_) {
    throw Error(ErrorKind::usage,
                str("plan: a batch of ", batch_, " as a slice of ", all_rows, " rows"));
  }
  for (Step& step : steps_) {
    step.context.sum_over_ranks = sum;
    step.context.all_rows = all_rows;
  }
}

FloatView Plan::input() {
  return input_;
}
ConstFloatView Plan::output() const {
  return output_;
}

FloatView Plan::output_gradient() {
  check_training("output_gradient()");
  return output_gradient_;
}

ConstFloatView Plan::input_gradient() const {
  check_training("input_gradient()");
  return input_gradient_;
}

ConstFloatView Plan::activation(std::size_t layer) const {
  if (layer_outputs_.empty()) check_training("activation() with fusion");
  if (layer >= layer_outputs_.size()) {
    throw Error(ErrorKind::usage,
                str("plan: activation of layer ", layer, " of ", layer_outputs_.size()));
  }
  return layer_outputs_[layer];
}

void Plan::forward(std::size_t end, const Stream& stream) {
  for (std::size_t i = 0; i < end; ++i) {
    const Step& step = steps_[i];
    step.layer->forward(step.y, step.x, step.epilogue, step.context, stream);
  }
}

void Plan::backward(std::size_t end, GradientMode mode, const Stream& stream,
                    bool want_input_gradient) {
  const std::size_t last = want_input_gradient ? 0 : first_trained_;
  for (std::size_t i = end; i-- > last;) {
    const Step& step = steps_[i];
    if (step.epilogue == Epilogue::relu && !step.masked) {
      kernels::activation_backward(step.dy.data, step.incoming.data, step.y.data, step.y.elements(),
                                   kernels::Activation::relu, GradientMode::overwrite, stream);
    }
    const bool needs_dx = want_input_gradient || i > first_trained_;
    step.layer->backward(needs_dx ? step.dx : FloatView{}, step.dy, step.x, step.y, mode,
                         step.context, stream);
    if (!step.context.frozen) finish_gradients(step.first_parameter);
  }
  finish_gradients(0);
  next_offset_ = 0;
  if (branch_ != nullptr) branch_->join();
}

// The flat gradients from this offset on have been queued.
void Plan::finish_gradients(std::int64_t from) {
  while (next_offset_ < gradient_offsets_.size() && gradient_offsets_[next_offset_] >= from) {
    if (branch_ != nullptr) branch_->join();
    gradients_ready_(gradient_offsets_[next_offset_++]);
  }
}

void Plan::on_gradients(std::vector<std::int64_t> offsets,
                        std::function<void(std::int64_t)> ready) {
  check_training("on_gradients()");
  gradient_offsets_ = std::move(offsets);
  gradients_ready_ = std::move(ready);
}

void Plan::take_share(std::int64_t first) {
  for (Step& step : steps_) step.context.first_row = first;
}

void Plan::forward(const Stream& stream) {
  check_weights();
  forward(steps_.size(), stream);
}

void Plan::backward(GradientMode mode, const Stream& stream, bool want_input_gradient) {
  check_training("backward()");
  check_weights();
  backward(steps_.size(), mode, stream, want_input_gradient);
}

PlanBytes plan_bytes(const Sequential& net, std::int64_t batch, Phase phase,
                     const KernelChoice& kernels, Device device) {
  Arenas arenas;
  lay_out(net, batch, phase, kernels, device, arenas);
  return {arenas.activations.needed_bytes(), arenas.gradients.needed_bytes(),
          arenas.workspace.needed_bytes(), arenas.caches.needed_bytes()};
}

std::size_t Plan::activation_bytes() const {
  return arenas_.activations.total_bytes();
}
std::size_t Plan::gradient_bytes() const {
  return arenas_.gradients.total_bytes();
}
std::size_t Plan::workspace_bytes() const {
  return arenas_.workspace.total_bytes();
}
std::size_t Plan::cache_bytes() const {
  return arenas_.caches.total_bytes();
}

}  // namespace weft::layers

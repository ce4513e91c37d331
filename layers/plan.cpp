// SPDX-License-Identifier: MIT
// Plan: decides once what runs and where every view lies; a step then only calls layers.
//
//   layers    conv1   relu1   pool1   flatten   fc1
//   calls     conv1 + relu    pool1             fc1    (Flatten is a view of pool1's output)
//   dy        region 0        region 1          region 0    (two take turns, from the last call)
#include "kernels/activation/activation.h"
#include "layers/sequential.h"

namespace weft::layers {

namespace {

// Where a tensor will lie once its arena is allocated.
struct Place {
  std::size_t region = 0;
  Shape shape;
};

struct Call {
  std::size_t layer = 0;
  Epilogue epilogue = Epilogue::none;
  Place x, y, dx, dy;  // the gradients in training only
};

struct Layout {
  std::vector<Call> calls;
  std::vector<Place> layer_outputs;
  Place input, output, input_gradient, output_gradient;
};

std::size_t bytes_of(const Shape& shape) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;  // sums of sizes cannot overflow
  if (shape.elements() > kMaxElements) {
    throw Error(ErrorKind::usage, str("plan: an activation ", shape, " is too large"));
  }
  return static_cast<std::size_t>(shape.elements()) * sizeof(float);
}

// Must the output of this call stay as it is until its backward?
bool keeps_output(const Call& call, const Sequential& net, Phase phase) {
  return phase == Phase::training &&
         (call.epilogue == Epilogue::relu || net.layers()[call.layer]->backward_reads_output());
}

Layout plan_forward(const Sequential& net, std::int64_t batch, Phase phase, Arena& activations) {
  Layout layout;
  const auto place = [&](std::size_t region, const Shape& shape) {
    activations.need(region, bytes_of(shape));
    return Place{region, shape};
  };
  // Reading the plan's input never overwrites it, so that forward() can be repeated.
  layout.input = place(activations.add_region(), net.input_shape(batch));
  const bool training = phase == Phase::training;
  const std::size_t even = training ? 0 : activations.add_region();
  const std::size_t odd = training ? 0 : activations.add_region();

  Place current = layout.input;
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const Layer& layer = *net.layers()[i];
    const Shape shape = layer.output_shape(current.shape);
    if (layer.is_view() || (!training && layer.is_identity_in_inference())) {
      current.shape = shape;
      layout.layer_outputs.push_back(current);
      continue;
    }
    const bool overwrites =
        layer.in_place() && !layout.calls.empty() && !keeps_output(layout.calls.back(), net, phase);
    const std::size_t region = overwrites               ? current.region
                               : training               ? activations.add_region()
                               : current.region == even ? odd
                                                        : even;
    Call call;
    call.layer = i;
    call.x = current;
    call.y = current = place(region, shape);
    layout.layer_outputs.push_back(current);
    if (layer.can_fuse_relu() && i + 1 < net.layers().size() && net.layers()[i + 1]->is_relu()) {
      call.epilogue = Epilogue::relu;
      layout.layer_outputs.push_back(current);
      ++i;
    }
    layout.calls.push_back(call);
  }
  layout.output = current;
  return layout;
}

void plan_backward(const Sequential& net, Layout& layout, Arena& gradients) {
  const std::size_t regions[2] = {gradients.add_region(), gradients.add_region()};
  const auto place = [&](std::size_t region, const Shape& shape) {
    gradients.need(region, bytes_of(shape));
    return Place{region, shape};
  };
  std::size_t current = regions[0];
  layout.output_gradient = place(current, layout.output.shape);
  for (auto call = layout.calls.rbegin(); call != layout.calls.rend(); ++call) {
    call->dy = place(current, call->y.shape);
    if (!net.layers()[call->layer]->in_place()) {
      current = current == regions[0] ? regions[1] : regions[0];
    }
    call->dx = place(current, call->x.shape);
  }
  layout.input_gradient = place(current, layout.input.shape);
}

FloatView view_of(const Place& place, const Arena& arena, Device device) {
  return {static_cast<float*>(arena.at(place.region)), place.shape, device};
}

}  // namespace

Plan::Plan(const Sequential& net, Weights& weights, std::int64_t batch, Phase phase,
           const KernelChoice& kernels, std::uint64_t seed, const std::int64_t* step,
           const Stream& stream)
    : net_(&net), batch_(batch), phase_(phase) {
  const Device device = stream.device();
  const bool training = phase == Phase::training;
  if (batch < 0) throw Error(ErrorKind::usage, str("a plan for a batch of ", batch));

  Layout layout = plan_forward(net, batch, phase, activations_);
  if (training) plan_backward(net, layout, gradients_);
  const std::size_t scratch = workspace_.add_region();
  for (const Call& call : layout.calls) {
    const Layer& layer = *net.layers()[call.layer];
    workspace_.need(scratch, layer.workspace_bytes(call.x.shape, kernels, device, phase));
    caches_.need(caches_.add_region(), training ? layer.cache_bytes(call.x.shape) : 0);
  }
  for (Arena* arena : {&activations_, &gradients_, &caches_, &workspace_}) arena->allocate(stream);

  const std::vector<LayerContext> contexts = bind(weights, device);
  for (std::size_t i = 0; i < layout.calls.size(); ++i) {
    const Call& call = layout.calls[i];
    Step& added = steps_.emplace_back();
    added.layer = net.layers()[call.layer].get();
    added.epilogue = call.epilogue;
    added.x = view_of(call.x, activations_, device);
    added.y = view_of(call.y, activations_, device);
    if (training) {
      added.dx = view_of(call.dx, gradients_, device);
      added.dy = view_of(call.dy, gradients_, device);
    }
    added.context = contexts[call.layer];
    added.context.cache = caches_.at(i);
    added.context.workspace = {workspace_.at(scratch), workspace_.region_bytes(scratch)};
    added.context.kernels = kernels;
    added.context.phase = phase;
    added.context.seed = seed;
    added.context.layer_index = static_cast<std::uint32_t>(call.layer);
    added.context.step = step;
  }
  while (first_trained_ < steps_.size() && steps_[first_trained_].layer->parameters().empty()) {
    ++first_trained_;
  }
  input_ = view_of(layout.input, activations_, device);
  output_ = view_of(layout.output, activations_, device);
  if (!training) return;
  output_gradient_ = view_of(layout.output_gradient, gradients_, device);
  input_gradient_ = view_of(layout.input_gradient, gradients_, device);
  for (const Place& place : layout.layer_outputs) {
    layer_outputs_.push_back(view_of(place, activations_, device));
  }
}

// Slices the flat buffers; returns, per layer, a context with its spans of slices.
std::vector<LayerContext> Plan::bind(Weights& weights, Device device) {
  const auto check = [&](std::string_view what, const Tensor& tensor, std::int64_t expected) {
    if (tensor.elements() == expected && tensor.device() == device) return;
    throw Error(ErrorKind::usage, str("plan: expected ", expected, " ", what, " on ", device,
                                      ", found ", tensor.elements(), " on ", tensor.device()));
  };
  check("parameters", weights.parameters, net_->parameter_count());
  check("gradients", weights.gradients, net_->parameter_count());
  check("buffers", weights.buffers, net_->buffer_count());

  const bool training = phase_ == Phase::training;
  for (const NamedSlice& slice : net_->slices()) {
    const auto at = [&](Tensor& flat) {
      return FloatView{flat.data<float>() + slice.offset, slice.shape, device};
    };
    if (!slice.trainable) {
      buffer_views_.push_back(at(weights.buffers));
      continue;
    }
    parameter_views_.push_back(at(weights.parameters));
    if (training) gradient_views_.push_back(at(weights.gradients));
  }

  std::vector<LayerContext> contexts;
  std::span<const FloatView> parameters = parameter_views_, gradients = gradient_views_,
                             buffers = buffer_views_;
  const auto take = [](std::span<const FloatView>& views, std::size_t count) {
    const auto taken = views.first(count);
    views = views.subspan(count);
    return taken;
  };
  for (const auto& layer : net_->layers()) {
    LayerContext& context = contexts.emplace_back();
    context.parameters = take(parameters, layer->parameters().size());
    if (training) context.gradients = take(gradients, layer->parameters().size());
    context.buffers = take(buffers, layer->buffers().size());
  }
  return contexts;
}

void Plan::check_training(const char* what) const {
  if (phase_ == Phase::training) return;
  throw Error(ErrorKind::usage, str("plan: ", what, " needs a plan for training"));
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
  check_training("activation()");
  if (layer >= layer_outputs_.size()) {
    throw Error(ErrorKind::usage,
                str("plan: activation of layer ", layer, " of ", layer_outputs_.size()));
  }
  return layer_outputs_[layer];
}

void Plan::forward(const Stream& stream) {
  for (const Step& step : steps_) {
    step.layer->forward(step.y, step.x, step.epilogue, step.context, stream);
  }
}

void Plan::backward(GradientMode mode, const Stream& stream, bool want_input_gradient) {
  check_training("backward()");
  const std::size_t last = want_input_gradient ? 0 : first_trained_;
  for (std::size_t i = steps_.size(); i-- > last;) {
    const Step& step = steps_[i];
    if (step.epilogue == Epilogue::relu) {
      kernels::activation_backward(step.dy.data, step.dy.data, step.y.data, step.y.elements(),
                                   kernels::Activation::relu, GradientMode::overwrite, stream);
    }
    const bool needs_dx = want_input_gradient || i > first_trained_;
    step.layer->backward(needs_dx ? step.dx : FloatView{}, step.dy, step.x, step.y, mode,
                         step.context, stream);
  }
}

std::size_t Plan::activation_bytes() const {
  return activations_.total_bytes();
}
std::size_t Plan::gradient_bytes() const {
  return gradients_.total_bytes();
}
std::size_t Plan::workspace_bytes() const {
  return workspace_.total_bytes();
}
std::size_t Plan::cache_bytes() const {
  return caches_.total_bytes();
}

}  // namespace weft::layers

// SPDX-License-Identifier: MIT
// Plan: decides once what runs and where every view lies; a step then only calls layers.
//
//   layers    conv1   relu1   conv2   relu2   pool2   flatten   fc1   relu3   fc2
//   calls     conv1 + relu    conv2 + relu + pool               fc1 + relu    fc2
//
// Flatten is another shape of its input. With KernelChoice::fuse
//   - a ReLU runs in the epilogue of the layer before it, and its backward in that of the layer
//     behind it, whose x it made: the gradient that reaches it is masked already;
//   - Conv2d, ReLU and MaxPool2d may become one call (conv_relu_pool.h);
//   - backward computes gradients of weights on a branch, beside those of activations.
// Gradients of activations take turns in as few regions as their lives allow.
#include "kernels/activation/activation.h"
#include "layers/conv_relu_pool.h"
#include "layers/sequential.h"

namespace weft::layers {

namespace {

// Where a tensor will lie once its arena is allocated.
struct Place {
  std::size_t region = 0;
  Shape shape;
};

struct Call {
  const Layer* layer = nullptr;
  std::size_t index = 0;  // in the net, of the first layer that it stands for
  Epilogue epilogue = Epilogue::none;
  bool mask_input_gradient = false;
  Place x, y, dx, dy;  // the gradients in training only
};

struct Layout {
  std::vector<Call> calls;
  std::vector<std::unique_ptr<Layer>> joined;
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
bool keeps_output(const Call& call, Phase phase) {
  return phase == Phase::training &&
         (call.epilogue == Epilogue::relu || call.layer->traits().backward_reads_output);
}

// Does the ReLU in the epilogue of `before` get its gradient masked by `call`?
bool masks(const Call& call, const Call& before, const KernelChoice& kernels) {
  return kernels.fuse && before.epilogue == Epilogue::relu && call.x.region == before.y.region &&
         call.layer->traits().masks_input_gradient;
}

Layout plan_forward(const Sequential& net, std::int64_t batch, Phase phase,
                    const KernelChoice& kernels, Device device, Arena& activations) {
  const auto& layers = net.layers();
  Layout layout;
  const auto place = [&](std::size_t region, const Shape& shape) {
    activations.need(region, bytes_of(shape));
    return Place{region, shape};
  };
  // Reading the plan's input never overwrites it, so that forward() can be repeated.
  layout.input = place(activations.add_region(), net.input_shape(batch));
  const bool training = phase == Phase::training;
  const bool alternates = !training && kernels.fuse;
  const std::size_t even = alternates ? activations.add_region() : 0;
  const std::size_t odd = alternates ? activations.add_region() : 0;

  Place current = layout.input;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Call call;
    call.layer = layers[i].get();
    call.index = i;
    std::size_t count = 1;  // layers of the net in this call
    if (i + 2 < layers.size() && ConvReluPool::joins(*layers[i], *layers[i + 1], *layers[i + 2],
                                                     current.shape, kernels, device)) {
      layout.joined.push_back(std::make_unique<ConvReluPool>(
          dynamic_cast<const Conv2d&>(*layers[i]), dynamic_cast<const MaxPool2d&>(*layers[i + 2])));
      call.layer = layout.joined.back().get();
      count = 3;
    } else if (kernels.fuse && call.layer->traits().fuses_relu && i + 1 < layers.size() &&
               layers[i + 1]->traits().relu) {
      call.epilogue = Epilogue::relu;
      count = 2;
    }
    const Layer& layer = *call.layer;
    const Shape shape = layer.output_shape(current.shape);
    if (layer.traits().view || (!training && layer.traits().identity_in_inference)) {
      current.shape = shape;
      layout.layer_outputs.push_back(current);
      continue;
    }
    const bool overwrites = layer.traits().in_place && !layout.calls.empty() &&
                            (training || alternates) && !keeps_output(layout.calls.back(), phase);
    const std::size_t region = overwrites               ? current.region
                               : !alternates            ? activations.add_region()
                               : current.region == even ? odd
                                                        : even;
    call.x = current;
    call.y = current = place(region, shape);
    if (!layout.calls.empty()) call.mask_input_gradient = masks(call, layout.calls.back(), kernels);
    layout.layer_outputs.insert(layout.layer_outputs.end(), count, current);
    layout.calls.push_back(call);
    i += count - 1;
  }
  layout.output = current;
  return layout;
}

void plan_backward(Layout& layout, bool branches, Arena& gradients) {
  std::vector<std::size_t> unused;
  const auto place = [&](std::size_t region, const Shape& shape) {
    gradients.need(region, bytes_of(shape));
    return Place{region, shape};
  };
  std::size_t current = gradients.add_region();
  layout.output_gradient = place(current, layout.output.shape);
  for (auto call = layout.calls.rbegin(); call != layout.calls.rend(); ++call) {
    call->dy = place(current, call->y.shape);
    if (!call->layer->traits().in_place) {
      const std::size_t before = current;
      if (unused.empty()) unused.push_back(gradients.add_region());
      current = unused.back();
      unused.pop_back();
      // A branch may read dy until the end.
      if (!branches || !call->layer->traits().forks_backward) unused.push_back(before);
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

  Layout layout = plan_forward(net, batch, phase, kernels, device, activations_);
  if (training && kernels.fuse && device.is_cuda()) branch_ = std::make_unique<Branch>(stream);
  if (training) plan_backward(layout, branch_ != nullptr, gradients_);
  const std::size_t scratch = workspace_.add_region();
  for (const Call& call : layout.calls) {
    const Layer& layer = *call.layer;
    workspace_.need(scratch, layer.workspace_bytes(call.x.shape, kernels, device, phase));
    caches_.need(caches_.add_region(), training ? layer.cache_bytes(call.x.shape) : 0);
  }
  for (Arena* arena : {&activations_, &gradients_, &caches_, &workspace_}) arena->allocate(stream);

  const std::vector<LayerContext> contexts = bind(weights, device);
  for (std::size_t i = 0; i < layout.calls.size(); ++i) {
    const Call& call = layout.calls[i];
    Step& added = steps_.emplace_back();
    added.layer = call.layer;
    added.epilogue = call.epilogue;
    added.masked = i + 1 < layout.calls.size() && layout.calls[i + 1].mask_input_gradient;
    added.x = view_of(call.x, activations_, device);
    added.y = view_of(call.y, activations_, device);
    if (training) {
      added.dx = view_of(call.dx, gradients_, device);
      added.dy = view_of(call.dy, gradients_, device);
    }
    added.context = contexts[call.index];
    added.context.cache = caches_.at(i);
    added.context.workspace = {workspace_.at(scratch), workspace_.region_bytes(scratch)};
    added.context.kernels = kernels;
    added.context.phase = phase;
    added.context.seed = seed;
    added.context.layer_index = static_cast<std::uint32_t>(call.index);
    added.context.step = step;
    added.context.mask_input_gradient = call.mask_input_gradient;
    added.context.branch = branch_.get();
  }
  joined_ = std::move(layout.joined);
  while (first_trained_ < steps_.size() && steps_[first_trained_].layer->parameters().empty()) {
    ++first_trained_;
  }
  input_ = view_of(layout.input, activations_, device);
  output_ = view_of(layout.output, activations_, device);
  if (training || !kernels.fuse) {
    for (const Place& place : layout.layer_outputs) {
      layer_outputs_.push_back(view_of(place, activations_, device));
    }
  }
  if (!training) return;
  output_gradient_ = view_of(layout.output_gradient, gradients_, device);
  input_gradient_ = view_of(layout.input_gradient, gradients_, device);
}

// Slices the flat buffers; returns, per layer, a context with its spans of slices.
std::vector<LayerContext> Plan::bind(Weights& weights, Device device) {
  const auto check = [&](std::string_view what, const Tensor& tensor, std::int64_t expected) {
    if (tensor.elements() == expected && tensor.device() == device) return;
    throw Error(ErrorKind::usage, str("plan: expected ", expected, " ", what, " on ", device,
                                      ", found ", tensor.elements(), " on ", tensor.device()));
  };
  check("parameters", weights.parameters, net_->parameter_count());
  const bool training = phase_ == Phase::training;
  if (training) check("gradients", weights.gradients, net_->parameter_count());
  check("buffers", weights.buffers, net_->buffer_count());

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
      kernels::activation_backward(step.dy.data, step.dy.data, step.y.data, step.y.elements(),
                                   kernels::Activation::relu, GradientMode::overwrite, stream);
    }
    const bool needs_dx = want_input_gradient || i > first_trained_;
    step.layer->backward(needs_dx ? step.dx : FloatView{}, step.dy, step.x, step.y, mode,
                         step.context, stream);
  }
  if (branch_ != nullptr) branch_->join();
}

void Plan::forward(const Stream& stream) {
  forward(steps_.size(), stream);
}

void Plan::backward(GradientMode mode, const Stream& stream, bool want_input_gradient) {
  check_training("backward()");
  backward(steps_.size(), mode, stream, want_input_gradient);
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

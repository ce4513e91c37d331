// SPDX-License-Identifier: MIT
#include "layers/network/layout.h"

#include <algorithm>

#include "layers/network/conv_relu_pool.h"

namespace weft::layers {

namespace {

std::size_t bytes_of(const Shape& shape) {
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;  // sums of sizes cannot overflow
  if (shape.elements() > kMaxElements) {
    throw Error(ErrorKind::usage, str("plan: an activation ", shape, " is too large"));
  }
  return static_cast<std::size_t>(shape.elements()) * sizeof(float);
}

// Regions of an arena, of which some may be used again.
class Regions {
 public:
  explicit Regions(Arena& arena) : arena_(arena) {}

  std::size_t take() {
    if (unused_.empty()) return arena_.add_region();
    const std::size_t region = unused_.back();
    unused_.pop_back();
    return region;
  }
  // Nothing reads this region any more, unless it is held.
  void release(std::size_t region) {
    if (!contains(held_, region) && !contains(unused_, region)) unused_.push_back(region);
  }
  void hold(std::size_t region) { held_.push_back(region); }
  void let_go() { held_.pop_back(); }  // of the region that was held last

  Place place(std::size_t region, const Shape& shape) {
    arena_.need(region, bytes_of(shape));
    return {region, shape};
  }

 private:
  static bool contains(const std::vector<std::size_t>& regions, std::size_t region) {
    return std::ranges::find(regions, region) != regions.end();
  }

  Arena& arena_;
  std::vector<std::size_t> unused_, held_;
};

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

class ForwardLayout {
 public:
  ForwardLayout(const Sequential& net, Phase phase, const KernelChoice& kernels, Device device,
                Arena& activations)
      : layers_(net.layers()),
        wires_(net.wires()),
        phase_(phase),
        kernels_(kernels),
        device_(device),
        regions_(activations) {}

  Layout of(const Shape& input) {
    const std::size_t first = regions_.take();
    // Reading the plan's input never overwrites it, so that forward() can be repeated.
    regions_.hold(first);
    layout_.input = current_ = regions_.place(first, input);
    for (std::size_t i = 0; i < layers_.size();) {
      first_calls_.resize(i + 1, layout_.calls.size());
      const std::size_t count = layers_[i]->traits().junction == Junction::none ? add(i) : meet(i);
      layout_.layer_outputs.insert(layout_.layer_outputs.end(), count, current_);
      i += count;
    }
    layout_.output = current_;
    return std::move(layout_);
  }

 private:
  bool training() const { return phase_ == Phase::training; }
  bool alternates() const { return !training() && kernels_.fuse; }

  // The output of a call that cannot lie where its input does.
  Place next(const Shape& shape) { return regions_.place(regions_.take(), shape); }
  void release(const Place& place) {
    if (alternates()) regions_.release(place.region);
  }

  void append(const Call& call) {
    layout_.calls.push_back(call);
    current_ = layout_.calls.back().y;
    may_overwrite_ = (training() || alternates()) && !keeps_output(layout_.calls.back(), phase_);
  }

  // Lets a call stand for the convolution i, its ReLU and its pooling, behind this stem or none.
  void join(Call& call, std::size_t i, const Conv2d* stem) {
    layout_.joined.push_back(
        std::make_unique<ConvReluPool>(dynamic_cast<const Conv2d&>(*layers_[i]),
                                       dynamic_cast<const MaxPool2d&>(*layers_[i + 2]), stem));
    call.layer = layout_.joined.back().get();
  }

  // Adds a call for layer i and those that are fused with it; returns their number.
  std::size_t add(std::size_t i) {
    Call call;
    call.layer = layers_[i].get();
    call.index = i;
    std::size_t count = 1;
    if (i == 0 && layers_.size() >= 5 &&
        ConvReluPool::joins_stem(layers_.first<5>(), current_.shape, kernels_, device_)) {
      join(call, 2, dynamic_cast<const Conv2d*>(layers_[i].get()));
      count = 5;
    } else if (i + 2 < layers_.size() &&
               ConvReluPool::joins(*layers_[i], *layers_[i + 1], *layers_[i + 2], current_.shape,
                                   kernels_, device_)) {
      join(call, i, nullptr);
      count = 3;
    } else if (kernels_.fuse && call.layer->traits().fuses_relu && i + 1 < layers_.size() &&
               layers_[i + 1]->traits().relu) {
      call.epilogue = Epilogue::relu;
      count = 2;
    }
    const LayerTraits traits = call.layer->traits();
    const Shape shape = call.layer->output_shape(current_.shape);
    if (traits.view || (!training() && traits.identity_in_inference)) {
      current_.shape = shape;
      return count;
    }
    call.x = current_;
    const bool in_place = traits.in_place && may_overwrite_;
    call.y = in_place ? regions_.place(current_.region, shape) : next(shape);
    if (!in_place) release(call.x);
    if (!layout_.calls.empty()) {
      call.mask_input_gradient = masks(call, layout_.calls.back(), kernels_);
    }
    append(call);
    return count;
  }

  const Place& made_by(int layer) const {
    return layout_.layer_outputs[static_cast<std::size_t>(layer)];
  }
  std::size_t first_call(int layer) const { return first_calls_[static_cast<std::size_t>(layer)]; }

  // One end of a block. What has been read by one way may not be overwritten by the other.
  std::size_t meet(std::size_t i) {
    const Wires& wires = wires_[i];
    Call call;
    call.layer = layers_[i].get();
    call.index = i;
    const Junction junction = call.layer->traits().junction;
    if (closes_block(junction)) {
      call.x = made_by(wires.input);
      call.other = made_by(wires.other);
      call.fork = first_call(wires.fork);
      call.shortcut = wires.has_shortcut() ? first_call(wires.input + 1) : layout_.calls.size();
      call.y = next(call.layer->output_shape(call.x.shape));
      regions_.let_go();
      for (const Place& read : {call.x, call.other, made_by(wires.fork)}) release(read);
      append(call);
      return 1;
    }
    if (junction == Junction::shortcut) {
      current_ = made_by(wires.input);
    } else {
      regions_.hold(current_.region);
      call.x = call.y = current_;
      if (training()) append(call);
    }
    may_overwrite_ = false;
    return 1;
  }

  std::span<const std::unique_ptr<Layer>> layers_;
  std::span<const Wires> wires_;
  Phase phase_;
  const KernelChoice& kernels_;
  Device device_;
  Regions regions_;
  Layout layout_;
  std::vector<std::size_t> first_calls_;  // of each layer: the calls before it
  Place current_;                         // the output of the last call, or a view of it
  bool may_overwrite_ = false;            // Is nothing else going to read it?
};

class BackwardLayout {
 public:
  BackwardLayout(Layout& layout, bool branches, Arena& gradients)
      : calls_(layout.calls), branches_(branches), regions_(gradients) {}

  void of(Layout& layout) {
    const std::size_t last = regions_.take();
    layout.output_gradient = regions_.place(last, layout.output.shape);
    const std::size_t first = pass(0, calls_.size(), last, false);
    layout.input_gradient = regions_.place(first, layout.input.shape);
  }

 private:
  // Goes back through the calls [begin, end). `current` is the region of the gradient of the last
  // output; where it is shared with another way back, it is not overwritten and not released.
  // Returns the region of the gradient of the first input, which is `current` without a call.
  std::size_t pass(std::size_t begin, std::size_t end, std::size_t current, bool shared) {
    const auto move_to_next = [&](bool release) {
      const std::size_t before = current;
      current = regions_.take();
      if (release && !shared) regions_.release(before);
      shared = false;
    };
    for (std::size_t i = end; i-- > begin;) {
      Call& call = calls_[i];
      const LayerTraits traits = call.layer->traits();
      call.incoming = regions_.place(current, call.y.shape);
      if (closes_block(traits.junction)) {
        call.dy = call.incoming;
        current = pass_block(call, i, current, shared);
        i = call.fork;
        shared = false;
        continue;
      }
      // The backward of the ReLU in an epilogue, unless the call behind it has done that.
      if (shared && call.epilogue == Epilogue::relu) move_to_next(true);
      call.dy = regions_.place(current, call.y.shape);
      // A branch may read dy until the end.
      const bool read_later = branches_ && traits.forks_backward;
      if (read_later) regions_.hold(current);
      if (!traits.in_place || shared) move_to_next(true);
      call.dx = regions_.place(current, call.x.shape);
    }
    return current;
  }

  // Both ways back from an Add read its gradient, and each from a Concat a part of it. Their Fork
  // adds what they give.
  std::size_t pass_block(Call& last, std::size_t end, std::size_t gradient, bool shared) {
    const bool adds = last.layer->traits().junction == Junction::add;
    std::size_t by_shortcut = gradient, by_layers = gradient;
    if (!adds) {
      by_shortcut = regions_.take();
      by_layers = regions_.take();
      last.other_gradient = regions_.place(by_shortcut, last.other.shape);
      if (!shared) regions_.release(gradient);
    }
    last.dx = regions_.place(by_layers, last.x.shape);
    by_shortcut = pass(last.shortcut, end, by_shortcut, adds);
    by_layers = pass(last.fork + 1, last.shortcut, by_layers, adds);
    Call& fork = calls_[last.fork];
    fork.incoming = fork.dy = regions_.place(by_layers, fork.y.shape);
    fork.other = regions_.place(by_shortcut, fork.y.shape);
    const std::size_t sum = regions_.take();
    fork.dx = regions_.place(sum, fork.x.shape);
    for (const std::size_t region : {by_shortcut, by_layers}) {
      if (!adds || region != gradient || !shared) regions_.release(region);
    }
    if (adds && !shared) regions_.release(gradient);
    return sum;
  }

  std::vector<Call>& calls_;
  bool branches_;
  Regions regions_;
};

}  // namespace

Layout lay_out(const Sequential& net, std::int64_t batch, Phase phase, const KernelChoice& kernels,
               Device device, Arenas& arenas) {
  const bool training = phase == Phase::training;
  Layout layout =
      ForwardLayout(net, phase, kernels, device, arenas.activations).of(net.input_shape(batch));
  // On a GPU weight gradients run on a branch, beside what follows.
  const bool branches = training && kernels.fuse && device.is_cuda();
  if (training) BackwardLayout(layout, branches, arenas.gradients).of(layout);
  const std::size_t scratch = arenas.workspace.add_region();
  for (const Call& call : layout.calls) {
    const Layer& layer = *call.layer;
    arenas.workspace.need(scratch, layer.workspace_bytes(call.x.shape, kernels, device, phase));
    arenas.caches.need(arenas.caches.add_region(), training ? layer.cache_bytes(call.x.shape) : 0);
  }
  return layout;
}

}  // namespace weft::layers

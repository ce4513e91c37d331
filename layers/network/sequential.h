// SPDX-License-Identifier: MIT
// Sequential: layers one after another, their parameters in one flat buffer, and a Plan that holds
// everything one batch size needs.
//
// Threads may share a Sequential, which never changes. Weights and a Plan belong to one thread at a
// time: a Plan's calls write its activations. Two plans may read the same weights at once in
// inference.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/loss/loss.h"
#include "layers/layer.h"
#include "layers/network/arena.h"
#include "layers/network/residual.h"

namespace weft::layers {

// A named slice of the flat buffers: "conv1.weight".
struct NamedSlice {
  std::string name;
  Shape shape;
  std::int64_t offset = 0;  // elements from the start of the flat buffer
  bool trainable = true;    // false: a buffer (running statistics)
};

class Plan;
struct Call;  // layout.h

// What training a classifier computes besides gradients; see layers/losses/softmax_cross_entropy.h.
struct ClassifierLoss {
  TensorView<const std::int32_t> labels{};  // (N,)
  FloatView loss{};                         // (N,), of each row; data may be null
  TensorView<std::int32_t> prediction{};    // (N,); data may be null
  float scale = 1;                          // of the gradients: 1 / N for those of the mean loss
  float smoothing = 0;                      // of the target
  kernels::MetricTotals* totals = nullptr;  // += this batch, when loss and prediction are wanted
};

class Sequential {
 public:
  // `sample` is the shape of one input without the batch axis: (1, 28, 28). Throws usage, naming
  // the layer, when two neighbours do not fit, two layers have one name, or a residual block is
  // not closed or adds two shapes.
  Sequential(Shape sample, std::vector<std::unique_ptr<Layer>> layers);

  const Shape& sample_shape() const { return sample_; }
  Shape input_shape(std::int64_t batch) const;  // (batch, sample...)
  Shape output_shape(std::int64_t batch) const;
  std::vector<Shape> output_shapes(std::int64_t batch) const;  // of each layer
  std::span<const std::unique_ptr<Layer>> layers() const { return *layers_; }
  std::span<const Wires> wires() const { return wires_; }  // of each layer

  // Parameters first, then buffers, in layer order, with the offset of each in its flat buffer.
  const std::vector<NamedSlice>& slices() const { return slices_; }
  std::int64_t parameter_count() const { return parameter_count_; }
  std::int64_t buffer_count() const { return buffer_count_; }

  // Initial values of the flat parameter and buffer arrays: PyTorch's default, uniform in
  // +- 1/sqrt(fan_in), from the seed; the same bits on every device.
  std::vector<float> initial_parameters(std::uint64_t seed) const;
  std::vector<float> initial_buffers() const;

 private:
  friend class Plan;
  Shape sample_;
  std::shared_ptr<const std::vector<std::unique_ptr<Layer>>> layers_;  // plans own them too
  std::vector<Wires> wires_;
  std::vector<NamedSlice> slices_;
  std::int64_t parameter_count_ = 0;
  std::int64_t buffer_count_ = 0;
};

// The values of a Sequential on one device: flat parameters, gradients and buffers.
struct Weights {
  Weights(const Sequential& net, const Stream& stream, Phase phase = Phase::training);
  Tensor parameters;  // (parameter_count,)
  Tensor gradients;   // (parameter_count,), allocated but not cleared; empty for inference
  Tensor buffers;     // (buffer_count,)
  // For each layer: do its parameters stay as they are? Empty: none do. A plan for training makes
  // no gradients of them, and takes their batch normalisation's stored statistics.
  std::vector<bool> frozen = {};
  // By which a Plan knows that its weights are still there.
  std::shared_ptr<const bool> alive = std::make_shared<const bool>(true);
};

// What a plan takes of a device's memory besides the weights, found without taking it.
struct PlanBytes {
  std::size_t activations = 0, gradients = 0, workspace = 0, caches = 0;
};
PlanBytes plan_bytes(const Sequential& net, std::int64_t batch, Phase phase,
                     const KernelChoice& kernels, Device device);

// The memory of a plan: a region for each activation, gradient and cache that is alive at a time,
// and one for all workspaces.
struct Arenas {
  Arena activations, gradients, caches, workspace;
  std::array<Arena*, 4> all() { return {&activations, &gradients, &caches, &workspace}; }
};

// Memory and kernel choices of one Sequential for one batch size on one device. Building a plan
// allocates; forward() and backward() do not, and do not synchronise, so a step can be captured in
// a CUDA graph. Layers are joined into one call where KernelChoice::fuse allows it (plan.cpp).
// Inference alternates between two buffers with fusion, and else keeps every output, as training.
// A plan owns its layers, so `net` may end before it. The weights must outlive it, or be moved as a
// whole: a call after their end throws usage. The memory of `step` must outlive it, if not null.
class Plan {
 public:
  Plan(const Sequential& net, Weights& weights, std::int64_t batch, Phase phase,
       const KernelChoice& kernels, std::uint64_t seed, const std::int64_t* step,
       const Stream& stream);

  std::int64_t batch() const { return batch_; }
  FloatView input();                      // (batch, sample...): fill it, then call forward()
  ConstFloatView output() const;          // logits
  FloatView output_gradient();            // training only: fill it before each backward(), which
                                          // overwrites it
  ConstFloatView input_gradient() const;  // valid after backward(want_input_gradient = true)

  void forward(const Stream& stream);
  // Throws usage where the input gradient is wanted of first layers that are one call with a stem
  // (conv_relu_pool.h), which a plan with `fuse` off does not make.
  void backward(GradientMode mode, const Stream& stream, bool want_input_gradient = false);
  // forward(), softmax with cross-entropy of the output into output_gradient(), and backward(). The
  // last layer, the loss and the first step of backward become one kernel where there is one
  // (kernels/softmax/classifier.h).
  void train_classifier(const ClassifierLoss& loss, GradientMode mode, const Stream& stream);

  // What follows is for a plan that takes a part of a batch, of which other plans take the rest.
  // Its first row is row `first` of the batch.
  void take_share(std::int64_t first);
  // In backward, calls ready(offset) for each of `offsets`, which descend, as soon as the flat
  // gradients from there on are final in the order of the stream.
  void on_gradients(std::vector<std::int64_t> offsets, std::function<void(std::int64_t)> ready);
  // From now on batch normalisation takes the statistics of all ranks' rows: this batch is a slice
  // of one of all_rows rows, and a batch of 0 rows takes part as well. Parameter gradients stay
  // sums over this batch. `sum` lives as long as the plan uses it; null: this batch alone. A
  // captured step keeps what was set at its capture.
  void over_ranks(const SumOverRanks* sum, std::int64_t all_rows);

  // The output of one layer in the last forward(), for diagnosis (naming the layer that first
  // produced a NaN) and for pictures. In training, layers that run as one call or in place show
  // the last output of them. In inference it needs a plan without fusion, and is exact.
  ConstFloatView activation(std::size_t layer) const;

  std::size_t activation_bytes() const;
  std::size_t gradient_bytes() const;
  std::size_t workspace_bytes() const;
  std::size_t cache_bytes() const;

 private:
  // One layer call; its views point into the arenas, its spans into the *_views_ below.
  struct Step {
    const Layer* layer = nullptr;
    Epilogue epilogue = Epilogue::none;
    bool masked = false;  // dy comes with the ReLU's backward done
    FloatView x, y, dx, dy;
    FloatView incoming;  // dy before the backward of a ReLU in the epilogue, which makes dy of it
    std::int64_t first_parameter = 0;  // of the layer, among the flat ones
    LayerContext context;
  };

  // Views of what the call reads and writes, by the context of its first layer.
  Step step_of(const Call& call, const LayerContext& layer, Device device) const;
  std::vector<LayerContext> bind(const Sequential& net, Weights& weights, const Stream& stream);
  void freeze(const std::vector<bool>& frozen);
  void check_training(const char* what) const;
  void check_weights() const;
  void forward(std::size_t end, const Stream& stream);  // of steps before `end`
  void backward(std::size_t end, GradientMode mode, const Stream& stream, bool want_input_gradient);
  void finish_gradients(std::int64_t from);
  bool ends_in_classifier() const;

  std::shared_ptr<const std::vector<std::unique_ptr<Layer>>> layers_;
  std::weak_ptr<const bool> weights_;
  std::int64_t batch_;
  Phase phase_;
  Arenas arenas_;
  std::vector<FloatView> parameter_views_, gradient_views_, buffer_views_;
  Tensor unread_gradients_;  // (parameters,), of frozen layers, where there are some
  std::vector<std::unique_ptr<Layer>> joined_;  // layers that stand for several of the net
  std::unique_ptr<Branch> branch_;              // training with fusion only
  std::vector<Step> steps_;
  std::vector<std::int64_t> gradient_offsets_;  // of on_gradients()
  std::function<void(std::int64_t)> gradients_ready_;
  std::size_t next_offset_ = 0;    // of those, in this backward
  std::size_t first_trained_ = 0;  // steps before this one need no gradient of their input
  FloatView input_, output_, output_gradient_, input_gradient_;
  std::vector<FloatView> layer_outputs_;  // one per layer of the net, where activation() works
};

}  // namespace weft::layers

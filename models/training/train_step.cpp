// SPDX-License-Identifier: MIT
#include "models/training/train_step.h"

#include <algorithm>

#include "kernels/networks/cnn/fused_cnn.h"
#include "kernels/softmax/softmax.h"
#include "models/files/state_dict.h"
#include "models/networks/fused_cnn.h"
#include "models/networks/fused_mlp.h"
#include "models/training/update.h"

namespace weft::models {

TrainMemory::TrainMemory(const layers::Sequential& net, const data::ImageSet& set,
                         const kernels::BatchOrder& order, std::span<const float> lr_table,
                         const Optimizer& optimizer, bool averages, const Stream& stream)
    : images(set, order, stream),
      weights(net, stream),
      lr(tensor_from_host(Shape{static_cast<std::int64_t>(lr_table.size())}, lr_table, stream)),
      step(Shape{1}, DType::i64, stream),
      totals(stream) {
  for (std::size_t i = 0; i < optimizer.states.size(); ++i) {
    states.emplace_back(Shape{net.parameter_count()}, DType::f32, stream);
  }
  if (averages) average.emplace(net, stream, layers::Phase::inference);
}

namespace {

void write_weights(layers::Weights& weights, const HostWeights& from, const Stream& stream) {
  copy_from_host(weights.parameters.view<float>(), std::span(from.parameters), stream);
  copy_from_host(weights.buffers.view<float>(), std::span(from.buffers), stream);
}

HostWeights read_weights(const layers::Weights& weights, const Stream& stream) {
  return {to_host(weights.parameters.view<float>(), stream),
          to_host(weights.buffers.view<float>(), stream)};
}

}  // namespace

void TrainMemory::write(const Checkpoint& from, bool leads, const Stream& stream) {
  write_weights(weights, from.weights, stream);
  if (average) write_weights(*average, from.average, stream);
  for (std::size_t i = 0; i < states.size(); ++i) {
    copy_from_host(states[i].view<float>(), std::span(from.states[i]), stream);
  }
  copy_from_host(step.view<std::int64_t>(), std::span(&from.state.step, 1), stream);
  if (images.streamed) images.streamed->seek(from.state.step);
  totals.write(leads ? from.state.totals : kernels::MetricTotals{}, stream);
}

void TrainMemory::read(Checkpoint& into, const Stream& stream) const {
  into.weights = read_weights(weights, stream);
  if (average) into.average = read_weights(*average, stream);
  into.states.clear();
  for (const Tensor& state : states) into.states.push_back(to_host(state.view<float>(), stream));
}

namespace {

// The rows of this rank's share of a batch.
void gather(float* x, std::int32_t* labels, const distributed::Share& share, TrainMemory& memory,
            const StepOptions& options, const Stream& stream) {
  const DeviceImages& images = memory.images;
  kernels::BatchOrder order = options.order;
  order.first = share.first;
  kernels::gather_batch(x, labels, nullptr, images.images.data<std::uint8_t>(),
                        images.labels.data<std::int32_t>(), share.count, images.dims,
                        memory.step.data<std::int64_t>(), order, options.augmentation,
                        options.normalization, stream);
}

float* velocity_of(TrainMemory& memory, const StepOptions& options) {
  return options.momentum == 0 ? nullptr : memory.states[0].data<float>();
}

// Where the flat gradients are cut for the sums over the ranks, in descending order: backward has
// the last ones first. A layer lies in one bucket, and a bucket is as large as it must be for its
// transfer to take longer than its latency.
std::vector<std::int64_t> gradient_buckets(const layers::Sequential& net) {
  constexpr std::int64_t kFloats = std::int64_t{1} << 18;
  std::vector<std::int64_t> firsts;
  std::int64_t end = net.parameter_count(), first = end;
  for (auto layer = net.layers().rbegin(); layer != net.layers().rend(); ++layer) {
    for (const layers::ParameterSpec& parameter : (*layer)->parameters()) {
      first -= parameter.shape.elements();
    }
    if (end - first < kFloats && first > 0) continue;
    if (first < end) firsts.push_back(first);
    end = first;
  }
  return firsts;
}

// A kernel or two per layer, recorded as graphs.
class LayerStep final : public TrainStep {
 public:
  LayerStep(const layers::Sequential& net, TrainMemory& memory, const StepOptions& options,
            std::int64_t rows, distributed::Communicator& ranks, const Stream& stream)
      : memory_(memory),
        options_(options),
        ranks_(ranks),
        rows_(rows),
        share_(ranks.share_of(rows)),
        update_(net, memory, options, stream),
        labels_(Shape{share_.count}, DType::i32, stream),
        predictions_(Shape{share_.count}, DType::i32, stream),
        loss_(Shape{share_.count}, DType::f32, stream) {
    const bool together = options.sync_batch_norm && ranks.size() > 1;
    zero_bytes(memory.weights.gradients.raw(), memory.weights.gradients.bytes(), stream);
    if (share_.count > 0 || together) {
      plan_.emplace(net, memory.weights, share_.count, layers::Phase::training, options.kernels,
                    options.seed, memory.step.data<std::int64_t>(), stream);
      plan_->take_share(share_.first);
    }
    if (ranks.size() > 1) {
      sums_ = std::make_unique<Branch>(stream);
      buckets_ = gradient_buckets(net);
      if (plan_) plan_->on_gradients(buckets_, [this](std::int64_t first) { sum_bucket(first); });
    }
    if (together) {
      // On the stream of the other sums, so that all ranks have them in one order.
      sum_statistics_ = [this](float* values, std::int64_t n, const Stream&) {
        ranks_.all_reduce(values, n, sums_->fork());
        sums_->join();
      };
      plan_->over_ranks(&sum_statistics_, rows);
    }
    if (stream.device().is_cuda()) {
      zero_bytes(memory_.step.raw(), memory_.step.bytes(), stream);
      if (!built_for_host_cuda()) {  // which has no kernels to load, and takes long for a step
        queue(stream);
        stream.synchronize();
      }
      many_ = std::make_unique<Graph>(stream, [this, stream] {
        for (std::int64_t step = 0; step < kStepsPerGraph; ++step) queue(stream);
      });
    }
    one_ = std::make_unique<Graph>(stream, [this, stream] { queue(stream); });
  }

  std::string_view name() const override { return "layers"; }
  void launch(std::int64_t steps) override {
    auto& streamed = memory_.images.streamed;
    for (; streamed && steps > 0; --steps) {
      streamed->begin();
      one_->launch();
      streamed->end();
    }
    for (; many_ && steps >= kStepsPerGraph; steps -= kStepsPerGraph) many_->launch();
    for (; steps > 0; --steps) one_->launch();
  }

 private:
  // Enough that the launches of a graph do not show, few enough that recording it takes no time.
  static constexpr std::int64_t kStepsPerGraph = 16;
  void queue(const Stream& stream) {
    if (plan_) {
      gather(plan_->input().data, labels_.data<std::int32_t>(), share_, memory_, options_, stream);
      plan_->train_classifier({.labels = labels_.view<std::int32_t>(),
                               .loss = loss_.view<float>(),
                               .prediction = predictions_.view<std::int32_t>(),
                               .scale = 1.0f / static_cast<float>(rows_),
                               .smoothing = options_.label_smoothing,
                               .totals = memory_.totals.data()},
                              kernels::GradientMode::overwrite, stream);
    } else {
      const Tensor& gradients = memory_.weights.gradients;
      zero_bytes(gradients.raw(), gradients.bytes(), stream);
      for (const std::int64_t first : buckets_) sum_bucket(first);
    }
    if (sums_) sums_->join();
    update_.queue(stream);
    const layers::Weights& weights = memory_.weights;
    if (memory_.average) {
      update_average(memory_.average->parameters, weights.parameters, stream);
      update_average(memory_.average->buffers, weights.buffers, stream);
    }
    kernels::advance_step(memory_.step.data<std::int64_t>(), stream);
  }

  // The gradients from `first` up to the bucket before, on the stream of the sums.
  void sum_bucket(std::int64_t first) {
    Tensor& gradients = memory_.weights.gradients;
    const auto at = std::ranges::find(buckets_, first);
    const std::int64_t end = at == buckets_.begin() ? gradients.elements() : *(at - 1);
    ranks_.all_reduce(gradients.data<float>() + first, end - first, sums_->fork());
  }

  void update_average(Tensor& average, const Tensor& values, const Stream& stream) {
    kernels::ema_update(average.data<float>(), values.data<float>(), values.elements(),
                        options_.ema_decay, memory_.step.data<std::int64_t>(), stream);
  }

  TrainMemory& memory_;
  StepOptions options_;
  distributed::Communicator& ranks_;
  std::int64_t rows_;         // of all ranks
  distributed::Share share_;  // of this one
  Update update_;
  std::optional<layers::Plan> plan_;     // nothing where this rank has no rows
  std::unique_ptr<Branch> sums_;         // where gradients are summed over the ranks
  std::vector<std::int64_t> buckets_;    // gradient_buckets()
  layers::SumOverRanks sum_statistics_;  // of batch norm over all ranks
  Tensor labels_, predictions_, loss_;   // (share,)
  std::unique_ptr<Graph> one_, many_;    // many_: kStepsPerGraph steps, on a GPU
};

// The whole network in one kernel. Ranks exchange their gradients within it.
class FusedCnnStep final : public TrainStep {
 public:
  FusedCnnStep(const kernels::FusedCnnDims& dims, TrainMemory& memory, const StepOptions& options,
               std::int64_t rows, const distributed::Share& share, const Stream& stream)
      : dims_(dims),
        memory_(memory),
        options_{options.order, options.augmentation, options.normalization.front(),
                 sgd_options(options), options.label_smoothing},
        velocity_(velocity_of(memory, options)),
        rows_(share.count),
        workspace_(kernels::fused_cnn_workspace_bytes(dims, share.count, stream.device()), stream),
        stream_(stream) {
    if (!memory.peers) return;
    options_.order.first = share.first;
    options_.peers = &memory.peers->group();
    options_.global_rows = rows;
  }

  std::string_view name() const override { return "fused_cnn"; }
  void launch(std::int64_t steps) override {
    const DeviceImages& images = memory_.images;
    kernels::fused_cnn_train(memory_.weights.parameters.data<float>(), velocity_,
                             memory_.totals.data(), memory_.step.data<std::int64_t>(),
                             images.images.data<std::uint8_t>(), images.labels.data<std::int32_t>(),
                             memory_.lr.data<float>(), rows_, steps, dims_, options_,
                             {workspace_.data(), workspace_.bytes()}, stream_);
  }

 private:
  kernels::FusedCnnDims dims_;
  TrainMemory& memory_;
  kernels::FusedCnnOptions options_;
  float* velocity_;
  std::int64_t rows_;
  Buffer workspace_;
  Stream stream_;
};

// Four kernels for a step, recorded as graphs.
class FusedMlpStep final : public TrainStep {
 public:
  FusedMlpStep(const kernels::FusedMlpDims& dims, TrainMemory& memory, const StepOptions& options,
               std::int64_t rows, const Stream& stream)
      : dims_(dims),
        memory_(memory),
        options_{options.order, options.augmentation, options.normalization.front(),
                 sgd_options(options), options.label_smoothing},
        velocity_(velocity_of(memory, options)),
        rows_(rows),
        workspace_(kernels::fused_mlp_workspace_bytes(dims, rows, stream.device()), stream),
        stream_(stream) {
    zero_bytes(memory_.step.raw(), memory_.step.bytes(), stream);
    prepare();
    queue(1);
    stream.synchronize();
    const std::int64_t epoch = rows < options.order.batch ? 1 : options.order.count / rows;
    constexpr std::int64_t kFewSteps = 8, kMostSteps = 256;
    graphs_[0].steps = std::clamp(epoch, std::int64_t{1}, kMostSteps);
    graphs_[1].steps = std::min(kFewSteps, graphs_[0].steps);
    graphs_[2].steps = 1;
    for (Recorded& recorded : graphs_) {
      recorded.graph = std::make_unique<Graph>(stream, [&] { queue(recorded.steps); });
    }
  }

  std::string_view name() const override { return "fused_mlp"; }
  void launch(std::int64_t steps) override {
    prepare();
    for (const Recorded& recorded : graphs_) {
      for (; steps >= recorded.steps; steps -= recorded.steps) recorded.graph->launch();
    }
  }

 private:
  // An epoch, a few steps, and one: between two graphs there is a fifth of a step.
  struct Recorded {
    std::int64_t steps;
    std::unique_ptr<Graph> graph;
  };

  kernels::Workspace workspace() { return {workspace_.data(), workspace_.bytes()}; }

  kernels::FusedMlpState state() {
    return {memory_.weights.parameters.data<float>(),
            velocity_,
            memory_.totals.data(),
            memory_.step.data<std::int64_t>(),
            memory_.images.images.data<std::uint8_t>(),
            memory_.images.labels.data<std::int32_t>(),
            memory_.lr.data<float>()};
  }
  void prepare() {
    kernels::fused_mlp_prepare(state(), rows_, dims_, options_, workspace(), stream_);
  }
  void queue(std::int64_t steps) {
    kernels::fused_mlp_train(state(), rows_, steps, dims_, options_, workspace(), stream_);
  }

  kernels::FusedMlpDims dims_;
  TrainMemory& memory_;
  kernels::FusedMlpOptions options_;
  float* velocity_;
  std::int64_t rows_;
  Buffer workspace_;
  Stream stream_;
  Recorded graphs_[3];
};

}  // namespace

std::unique_ptr<TrainStep> make_train_step(const layers::Sequential& net, TrainMemory& memory,
                                           const StepOptions& options, std::int64_t rows,
                                           distributed::Communicator& ranks, const Stream& stream) {
  const bool fits = !options.augmentation.edits() && options.optimizer->in_one_kernel &&
                    options.clip_norm == 0 && !memory.average && !memory.images.streamed &&
                    memory.weights.frozen.empty();
  const auto dims = fused_cnn_dims(net, options.kernels, stream.device());
  if (dims && fits) {
    if (ranks.size() > 1 && !memory.peers) {
      memory.peers = ranks.open_peers(stream, net.parameter_count());
    }
    if (ranks.size() == 1 || memory.peers) {
      return std::make_unique<FusedCnnStep>(*dims, memory, options, rows, ranks.share_of(rows),
                                            stream);
    }
  }
  const auto mlp = fused_mlp_dims(net, options.kernels, stream.device());
  if (mlp && fits && ranks.size() == 1) {
    return std::make_unique<FusedMlpStep>(*mlp, memory, options, rows, stream);
  }
  return std::make_unique<LayerStep>(net, memory, options, rows, ranks, stream);
}

const layers::Layer* first_broken_layer(const layers::Sequential& net, TrainMemory& memory,
                                        const StepOptions& options, std::int64_t rows,
                                        distributed::Communicator& ranks, const Stream& stream) {
  distributed::Share share = ranks.share_of(rows);
  share.count = std::max<std::int64_t>(share.count, 1);
  layers::Plan plan(net, memory.weights, share.count, layers::Phase::training, options.kernels,
                    options.seed, memory.step.data<std::int64_t>(), stream);
  plan.take_share(share.first);
  if (memory.images.streamed) memory.images.streamed->begin();
  gather(plan.input().data, nullptr, share, memory, options, stream);
  plan.forward(stream);
  for (std::size_t layer = 0; layer < net.layers().size(); ++layer) {
    if (!all_finite(to_host(plan.activation(layer), stream))) return net.layers()[layer].get();
  }
  return nullptr;
}

}  // namespace weft::models

// SPDX-License-Identifier: MIT
#include "models/train_step.h"

#include "kernels/softmax/softmax.h"
#include "models/state_dict.h"

namespace weft::models {

namespace {
// Enough that the launches of a graph do not show, few enough that recording it takes no time.
constexpr std::int64_t kStepsPerGraph = 16;
}  // namespace

TrainMemory::TrainMemory(const layers::Sequential& net, const data::ImageSet& set,
                         std::int64_t images_used, std::span<const float> lr_table,
                         const Stream& stream)
    : images(set, images_used, stream),
      weights(net, stream),
      velocity(Shape{net.parameter_count()}, DType::f32, stream),
      lr(tensor_from_host(Shape{static_cast<std::int64_t>(lr_table.size())}, lr_table, stream)),
      step(Shape{1}, DType::i64, stream),
      totals(stream) {}

void TrainMemory::write(const Checkpoint& from, const Stream& stream) {
  copy_from_host(weights.parameters.view<float>(), std::span(from.weights.parameters), stream);
  copy_from_host(weights.buffers.view<float>(), std::span(from.weights.buffers), stream);
  copy_from_host(velocity.view<float>(), std::span(from.velocity), stream);
  copy_from_host(step.view<std::int64_t>(), std::span(&from.state.step, 1), stream);
  totals.write(from.state.totals, stream);
}

void TrainMemory::read(Checkpoint& into, const Stream& stream) const {
  into.weights.parameters = to_host(weights.parameters.view<float>(), stream);
  into.weights.buffers = to_host(weights.buffers.view<float>(), stream);
  into.velocity = to_host(velocity.view<float>(), stream);
}

TrainStep::TrainStep(const layers::Sequential& net, TrainMemory& memory, const StepOptions& options,
                     std::int64_t rows, const Stream& stream)
    : net_(net),
      memory_(memory),
      options_(options),
      plan_(net, memory.weights, rows, layers::Phase::training, options.kernels, options.seed,
            memory.step.data<std::int64_t>(), stream),
      labels_(Shape{rows}, DType::i32, stream),
      predictions_(Shape{rows}, DType::i32, stream),
      loss_(Shape{rows}, DType::f32, stream) {
  if (stream.device().is_cuda()) {
    zero_bytes(memory_.step.raw(), memory_.step.bytes(), stream);
    queue(stream);
    stream.synchronize();
  }
  one_ = std::make_unique<Graph>(stream, [this, stream] { queue(stream); });
  if (stream.device().is_cuda()) {
    many_ = std::make_unique<Graph>(stream, [this, stream] {
      for (std::int64_t step = 0; step < kStepsPerGraph; ++step) queue(stream);
    });
  }
}

void TrainStep::launch(std::int64_t steps) const {
  for (; many_ && steps >= kStepsPerGraph; steps -= kStepsPerGraph) many_->launch();
  for (; steps > 0; --steps) one_->launch();
}

void TrainStep::gather(const Stream& stream) {
  const DeviceImages& images = memory_.images;
  kernels::gather_batch(plan_.input().data, labels_.data<std::int32_t>(), nullptr,
                        images.images.data<std::uint8_t>(), images.labels.data<std::uint8_t>(),
                        rows(), images.height, images.width, memory_.step.data<std::int64_t>(),
                        options_.order, options_.augmentation, options_.normalization, stream);
}

void TrainStep::queue(const Stream& stream) {
  gather(stream);
  plan_.forward(stream);
  const layers::ConstFloatView logits = plan_.output();
  auto* labels = labels_.data<std::int32_t>();
  auto* predictions = predictions_.data<std::int32_t>();
  auto* loss = loss_.data<float>();
  kernels::softmax_cross_entropy(loss, plan_.output_gradient().data, predictions, logits.data,
                                 labels, 1.0f / static_cast<float>(rows()), rows(), logits.shape[1],
                                 stream);
  plan_.backward(kernels::GradientMode::overwrite, stream);
  kernels::accumulate_totals(memory_.totals.data(), loss, predictions, labels, rows(), stream);
  auto* step = memory_.step.data<std::int64_t>();
  layers::Weights& weights = memory_.weights;
  kernels::sgd_update(weights.parameters.data<float>(),
                      options_.sgd.momentum == 0 ? nullptr : memory_.velocity.data<float>(),
                      weights.gradients.data<float>(), weights.parameters.elements(),
                      memory_.lr.data<float>(), step, options_.sgd, stream);
  kernels::advance_step(step, stream);
}

const layers::Layer* TrainStep::first_broken_layer(const Stream& stream) {
  gather(stream);
  plan_.forward(stream);
  for (std::size_t layer = 0; layer < net_.layers().size(); ++layer) {
    if (!all_finite(to_host(plan_.activation(layer), stream))) return net_.layers()[layer].get();
  }
  return nullptr;
}

}  // namespace weft::models

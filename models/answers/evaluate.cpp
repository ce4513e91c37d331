// SPDX-License-Identifier: MIT
#include "models/answers/evaluate.h"

#include <algorithm>
#include <cmath>

#include "engine/extent.h"
#include "engine/timer.h"
#include "engine/timings.h"
#include "kernels/optimizer/optimizer.h"
#include "kernels/softmax/softmax.h"
#include "models/answers/classifier.h"
#include "models/answers/shared_evaluator.h"
#include "models/device_totals.h"
#include "models/networks/fused_cnn.h"

namespace weft::models {

void check_images(const data::ImageSet& set, const NetworkOptions& network, const char* what) {
  if (set.count <= 0) throw Error(ErrorKind::usage, str("the ", what, " images are none"));
  if (set.channels != network.channels) {
    throw Error(ErrorKind::usage, str("the network expects ", network.channels, " channels, the ",
                                      what, " images have ", set.channels));
  }
  if (set.channels > kernels::kMaxImageChannels) {
    throw Error(ErrorKind::usage, str("images have 1 to ", kernels::kMaxImageChannels,
                                      " channels, the ", what, " images ", set.channels));
  }
  if (set.height != network.height || set.width != network.width) {
    throw Error(ErrorKind::usage,
                str("the network expects images of ", network.height, " x ", network.width,
                    ", the ", what, " images are ", set.height, " x ", set.width));
  }
  const auto pixels = static_cast<std::size_t>(set.pixels());
  const auto count = static_cast<std::size_t>(set.count);
  if (set.images.size() / pixels != count || set.images.size() % pixels != 0 ||
      set.labels.size() != count) {
    throw Error(ErrorKind::usage,
                str("the ", what, " set counts ", set.count, " images, found ", set.images.size(),
                    " pixels and ", set.labels.size(), " labels"));
  }
  const auto wrong = std::find_if(set.labels.begin(), set.labels.end(), [&](std::int32_t label) {
    return label < 0 || label >= network.classes;
  });
  if (wrong != set.labels.end()) {
    throw Error(ErrorKind::usage,
                str("the network knows ", network.classes, " classes, ", what, " image ",
                    wrong - set.labels.begin(), " has label ", *wrong));
  }
}

namespace {

std::int64_t rows_on_device(const kernels::BatchOrder& order) {
  return order.staged_steps > 0 ? order.staged_steps * order.batch : order.count;
}

}  // namespace

DeviceImages::DeviceImages(const data::ImageSet& set, const kernels::BatchOrder& order,
                           const Stream& stream)
    : count(order.count),
      dims{set.channels, set.height, set.width},
      images(Shape{rows_on_device(order), set.channels, set.height, set.width}, DType::u8, stream),
      labels(Shape{rows_on_device(order)}, DType::i32, stream) {
  if (order.staged_steps > 0) {
    streamed.emplace(set, order, images, labels, stream);
    return;
  }
  const auto rows = static_cast<std::size_t>(count);
  copy_from_host(images.view<std::uint8_t>(),
                 std::span(set.images).first(rows * static_cast<std::size_t>(dims.pixels())),
                 stream);
  copy_from_host(labels.view<std::int32_t>(), std::span(set.labels).first(rows), stream);
}

std::vector<kernels::Normalization> normalization_of(const ModelInfo& info) {
  std::vector<kernels::Normalization> channels;
  for (std::size_t c = 0; c < info.mean.size(); ++c) {
    channels.push_back({info.mean[c], info.stddev[c]});
  }
  return channels;
}

// On the CPU a batch should leave the activations in the cache; on a GPU it should fill the device.
// On host-cuda it should end soon.
std::int64_t evaluation_batch(Device device) {
  if (device.is_cpu()) return 200;
  return built_for_host_cuda() ? 50 : 1000;
}

std::int64_t batches_until_look(std::int64_t last, std::int64_t count, double seconds) {
  constexpr double kSecondsBetween = 0.05;
  const double wanted = kSecondsBetween * static_cast<double>(count) / seconds;
  return std::clamp(static_cast<std::int64_t>(std::min(wanted, 1e6)), std::int64_t{1}, 2 * last);
}

namespace {

kernels::BatchOrder order_of(const data::ImageSet& set, std::int64_t batch_size, bool streams) {
  kernels::BatchOrder order;
  order.count = set.count;
  order.batch = std::min(batch_size, set.count);
  order.steps = divide_up(set.count, order.batch);
  order.staged_steps = streams ? StreamedImages::kSlots : 0;
  return order;
}

}  // namespace

struct Evaluator::State {
  State(const layers::Sequential& network, layers::Weights& weights, const data::ImageSet& set,
        std::int64_t batch_size, std::span<const kernels::Normalization> normalise,
        const layers::KernelChoice& kernels, const Stream& stream, bool streams)
      : normalization(normalise.begin(), normalise.end()),
        order(order_of(set, batch_size, streams)),
        images(set, order, stream),
        totals(stream),
        step(Shape{1}, DType::i64, stream),
        parameters(weights.parameters.data<float>()),
        fused(streams ? std::nullopt : fused_cnn_dims(network, kernels, stream.device())) {
    if (fused) {
      workspace =
          Buffer(kernels::fused_cnn_workspace_bytes(*fused, set.count, stream.device()), stream);
      all_logits = Tensor(Shape{set.count, fused->classes}, DType::f32, stream);
      return;
    }
    batches.push_back(
        std::make_unique<Batch>(network, weights, order.batch, kernels, step, stream));
    const std::int64_t tail = set.count % order.batch;
    if (tail > 0) {
      batches.push_back(std::make_unique<Batch>(network, weights, tail, kernels, step, stream));
    }
  }

  // Memory for so many rows: a full batch, or the tail.
  struct Batch {
    Batch(const layers::Sequential& network, layers::Weights& weights, std::int64_t rows,
          const layers::KernelChoice& kernels, Tensor& step, const Stream& stream)
        : plan(network, weights, rows, layers::Phase::inference, kernels, 0,
               step.data<std::int64_t>(), stream),
          labels(Shape{rows}, DType::i32, stream),
          predictions(Shape{rows}, DType::i32, stream),
          loss(Shape{rows}, DType::f32, stream) {}

    layers::Plan plan;
    Tensor labels, predictions, loss;
  };

  void queue(Batch& batch, std::int64_t first, const Outputs& outputs, const Stream& stream) {
    const std::int64_t rows = batch.plan.batch();
    auto* labels = batch.labels.data<std::int32_t>();
    auto* loss = batch.loss.data<float>();
    auto* predictions = outputs.predictions != nullptr ? outputs.predictions + first
                                                       : batch.predictions.data<std::int32_t>();
    kernels::gather_batch(batch.plan.input().data, labels, nullptr,
                          images.images.data<std::uint8_t>(), images.labels.data<std::int32_t>(),
                          rows, images.dims, step.data<std::int64_t>(), order, {}, normalization,
                          stream);
    batch.plan.forward(stream);
    const layers::ConstFloatView logits = batch.plan.output();
    const std::int64_t classes = logits.shape[1];
    kernels::softmax_cross_entropy(loss, nullptr, predictions, logits.data, labels, 1, rows,
                                   classes, stream);
    if (outputs.logits != nullptr) {
      copy_bytes(outputs.logits + first * classes, stream.device(), logits.data, stream.device(),
                 static_cast<std::size_t>(rows * classes) * sizeof(float), stream);
    }
    kernels::accumulate_totals(totals.data(), loss, predictions, labels, rows, stream);
    kernels::advance_step(step.data<std::int64_t>(), stream);
  }

  // The whole set in one kernel.
  void queue_fused(const Outputs& outputs, const Stream& stream) {
    float* logits = outputs.logits != nullptr ? outputs.logits : all_logits.data<float>();
    kernels::fused_cnn_infer(logits, outputs.predictions, totals.data(), parameters,
                             images.images.data<std::uint8_t>(), images.labels.data<std::int32_t>(),
                             images.count, *fused, normalization.front(),
                             {workspace.data(), workspace.bytes()}, stream);
  }

  std::vector<kernels::Normalization> normalization;
  kernels::BatchOrder order;
  DeviceImages images;
  DeviceTotals totals;
  Tensor step;
  const float* parameters;
  std::optional<kernels::FusedCnnDims> fused;
  Buffer workspace;                             // of the fused kernel
  Tensor all_logits;                            // (images, classes), of the fused kernel
  std::vector<std::unique_ptr<Batch>> batches;  // the full one, then the tail if there is one
  std::int64_t next = 0;                        // the image that comes next
};

Evaluator::Evaluator(const layers::Sequential& net, layers::Weights& weights,
                     const data::ImageSet& set, std::int64_t batch_size,
                     std::span<const kernels::Normalization> normalization,
                     const layers::KernelChoice& kernels, const Stream& stream, bool streams)
    : state_(std::make_unique<State>(net, weights, set, batch_size, normalization, kernels, stream,
                                     streams)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

void Evaluator::begin(const Stream& stream) {
  State& state = *state_;
  state.totals.write({}, stream);
  zero_bytes(state.step.raw(), state.step.bytes(), stream);
  if (state.images.streamed) state.images.streamed->seek(0);
  state.next = 0;
}

void Evaluator::advance(std::int64_t batches, const Outputs& outputs, const Stream& stream) {
  State& state = *state_;
  const std::int64_t count = state.order.count, batch = state.order.batch;
  if (state.fused) {
    if (state.next < count) state.queue_fused(outputs, stream);
    state.next = count;
    return;
  }
  auto& streamed = state.images.streamed;
  for (; batches > 0 && state.next < count; --batches) {
    const bool full = state.next + batch <= count;
    if (streamed) streamed->begin();
    state.queue(full ? *state.batches.front() : *state.batches.back(), state.next, outputs, stream);
    if (streamed) streamed->end();
    state.next += batch;
  }
}

kernels::MetricTotals Evaluator::totals(const Stream& stream) const {
  return state_->totals.read(stream);
}

namespace {

// The loss of independent sigmoids: the cross-entropy of a class against all others, as a mean over
// the classes and images.
double sigmoid_loss(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const std::size_t classes = logits.size() / labels.size();
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double z = logits[i];
    const bool is_label = static_cast<std::int32_t>(i % classes) == labels[i / classes];
    sum += std::max(z, 0.0) - (is_label ? z : 0) + std::log1p(std::exp(-std::fabs(z)));
  }
  return sum / static_cast<double>(logits.size());
}

// All but the metrics, the predictions and the time, of logits.
void add_answers(Evaluation& result, const ModelInfo& info, const data::ImageSet& set,
                 std::span<const float> logits) {
  const auto classes = static_cast<std::size_t>(info.network.classes);
  const auto pixels = static_cast<std::size_t>(set.pixels());
  result.probabilities.resize(logits.size());
  std::int64_t unsure = 0;
#pragma omp parallel for schedule(static) reduction(+ : unsure)
  for (std::int64_t i = 0; i < set.count; ++i) {
    const auto first = static_cast<std::size_t>(i) * classes;
    const auto row = std::span(logits).subspan(first, classes);
    const std::vector<double> shares = probabilities_of(row, info);
    std::ranges::transform(shares,
                           result.probabilities.begin() + static_cast<std::ptrdiff_t>(first),
                           [](double probability) { return static_cast<float>(probability); });
    const auto image = std::span(set.images).subspan(static_cast<std::size_t>(i) * pixels, pixels);
    const double variation = total_variation(image, set.height, set.width);
    unsure += is_unsure(info.calibration, shares, row, variation) ? 1 : 0;
  }
  result.unsure = unsure;
  if (info.output == Output::sigmoid) {
    result.metrics.loss = sigmoid_loss(logits, set.labels);
  }
  result.calibration_error = expected_calibration_error(result.probabilities, set.labels);
  result.confusion.assign(static_cast<std::size_t>(info.network.classes * info.network.classes), 0);
  for (std::size_t image = 0; image < result.predictions.size(); ++image) {
    const std::int64_t predicted = result.predictions[image];
    if (predicted < 0 || predicted >= info.network.classes)
      continue;  // logits that are not numbers
    const std::int64_t cell = set.labels[image] * info.network.classes + predicted;
    ++result.confusion[static_cast<std::size_t>(cell)];
  }
}

// The cross-entropy of softmax, as a mean over the images.
double softmax_loss(std::span<const float> logits, std::span<const std::int32_t> labels) {
  const std::size_t classes = logits.size() / labels.size();
  double sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    const double most = std::ranges::max(row);
    double total = 0;
    for (const float logit : row) total += std::exp(logit - most);
    sum += most + std::log(total) - row[static_cast<std::size_t>(labels[i])];
  }
  return sum / static_cast<double>(labels.size());
}

}  // namespace

Evaluation evaluation_of(const ModelInfo& info, const data::ImageSet& set,
                         std::span<const float> logits) {
  Evaluation result;
  const auto classes = static_cast<std::size_t>(info.network.classes);
  std::int64_t right = 0;
  for (std::size_t i = 0; i < set.labels.size(); ++i) {
    const auto row = logits.subspan(i * classes, classes);
    result.predictions.push_back(
        static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
    right += result.predictions.back() == set.labels[i] ? 1 : 0;
  }
  result.metrics = {softmax_loss(logits, set.labels),
                    static_cast<double>(right) / static_cast<double>(set.count), set.count};
  add_answers(result, info, set, logits);
  return result;
}

Evaluation evaluate(const Model& model, const data::ImageSet& set, std::int64_t batch_size,
                    const layers::KernelChoice& kernels, const Stream& stream,
                    std::uint64_t device_data_limit, const EvaluationWatch& watch) {
  const NetworkOptions& network = model.info.network;
  if (batch_size < 1) {
    throw Error(ErrorKind::usage, str("expected a batch size >= 1, found ", batch_size));
  }
  check_images(set, network, "evaluation");
  const TimedScope timed("evaluate");
  layers::Weights weights(*model.net, stream, layers::Phase::inference);
  copy_from_host(weights.parameters.view<float>(), std::span(model.parameters), stream);
  copy_from_host(weights.buffers.view<float>(), std::span(model.buffers), stream);
  SharedEvaluator evaluator(distributed::alone(), *model.net, weights, set,
                            normalization_of(model.info), kernels, network.classes, stream,
                            streams_images(set.images.size(), device_data_limit, stream.device()),
                            false, batch_size);
  Tensor predictions(Shape{set.count}, DType::i32, stream);
  Tensor all_logits(Shape{set.count, network.classes}, DType::f32, stream);

  Evaluation result;
  const Timer timer;
  result.metrics =
      evaluator.run(stream, watch, {predictions.data<std::int32_t>(), all_logits.data<float>()});
  result.seconds = timer.seconds();
  result.predictions = to_host(predictions.view<std::int32_t>(), stream);
  const std::vector<float> logits = to_host(all_logits.view<float>(), stream);
  add_answers(result, model.info, set, logits);
  return result;
}

}  // namespace weft::models

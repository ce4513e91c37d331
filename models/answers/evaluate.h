// SPDX-License-Identifier: MIT
// Evaluation of a network on a labelled set of images that lives on the device.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/sets/dataset.h"
#include "kernels/batch/batch.h"
#include "layers/network/sequential.h"
#include "models/answers/metrics.h"
#include "models/model.h"
#include "models/streamed_images.h"

namespace weft::models {

// What an evaluation learned beyond two numbers.
struct Evaluation {
  Metrics
      metrics;  // the loss is a sigmoid's cross-entropy, a mean over classes, where Output says so
  std::vector<std::int32_t> predictions;  // (images,)
  std::vector<float> probabilities;       // (images, classes), probabilities_of()
  double calibration_error = 0;           // expected_calibration_error() of them
  std::int64_t unsure = 0;                // images whose answer is_unsure()
  std::vector<std::int64_t> confusion;    // (classes, classes), row: true label
  double seconds = 0;
};

// What an evaluation asks and tells at its start and between batches, about twenty times a second.
struct EvaluationWatch {
  const std::atomic<bool>* stop = nullptr;  // once it is true the evaluation throws Stopped
  std::function<void(std::int64_t images_done, std::int64_t images_total)> progress = {};
};

// Evaluates on `set`; all labels of `set` must be < classes (Error{usage}). The images are streamed
// where streams_images() says so for this limit in bytes.
Evaluation evaluate(const Model& model, const data::ImageSet& set, std::int64_t batch_size,
                    const layers::KernelChoice& kernels, const Stream& stream,
                    std::uint64_t device_data_limit = 0, const EvaluationWatch& watch = {});

// What logits (images, classes) that somebody computed say of a set; without `seconds`.
Evaluation evaluation_of(const ModelInfo& info, const data::ImageSet& set,
                         std::span<const float> logits);

// Throws usage unless sizes agree with each other and with the network's input, the set is not
// empty and every label is below the number of classes. `what` names the set in the message.
void check_images(const data::ImageSet& set, const NetworkOptions& network, const char* what);

// One for each channel.
std::vector<kernels::Normalization> normalization_of(const ModelInfo& info);

// The first order.count images of a set and their labels, in device memory. With
// order.staged_steps > 0 only the batches of so many steps are there, and `set` must outlive this.
struct DeviceImages {
  DeviceImages(const data::ImageSet& set, const kernels::BatchOrder& order, const Stream& stream);

  std::int64_t count;
  kernels::BatchDims dims;
  Tensor images;  // (count or staged_steps * batch, channels, height, width), u8
  Tensor labels;  // (the same,), i32
  std::optional<StreamedImages> streamed;
};

// Batch size that suits evaluation on this device.
std::int64_t evaluation_batch(Device device);

// How many batches to queue before the next look at the totals, after `count` of them took so many
// seconds: about twenty looks a second, and at most twice as many batches as `last` time.
std::int64_t batches_until_look(std::int64_t last, std::int64_t count, double seconds);

// Everything needed to evaluate the same weights on the same images again and again, by one thread
// at a time.
class Evaluator {
 public:
  // Weights must outlive the evaluator, and so must the set when it is streamed. The set must not
  // be empty.
  Evaluator(const layers::Sequential& net, layers::Weights& weights, const data::ImageSet& set,
            std::int64_t batch_size, std::span<const kernels::Normalization> normalization,
            const layers::KernelChoice& kernels, const Stream& stream, bool streams = false);
  Evaluator(Evaluator&&) noexcept;
  ~Evaluator();

  // Device memory to fill, or null: (count,) and (count, classes).
  struct Outputs {
    std::int32_t* predictions = nullptr;
    float* logits = nullptr;
  };
  // From the first image again.
  void begin(const Stream& stream);
  // Queues at most so many further batches.
  void advance(std::int64_t batches, const Outputs& outputs, const Stream& stream);
  // The totals of the images since begin(). Blocks until they are there.
  kernels::MetricTotals totals(const Stream& stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::models

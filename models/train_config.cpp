// SPDX-License-Identifier: MIT
#include "models/train_config.h"

#include <cmath>

#include "engine/error.h"

namespace weft::models {

namespace {

const double kBelowOne = std::nextafter(1.0, 0.0);
constexpr double kLeastEpsilon = 1e-30;  // a float holds it with all its digits

// NaN lies in no range.
template <class T>
void require_range(const char* setting, T value, T low, T high) {
  if (value >= low && value <= high) return;
  throw Error(ErrorKind::usage,
              str("expected ", setting, " from ", low, " to ", high, ", found ", value));
}

}  // namespace

void validate(const TrainConfig& config) {
  require_range("epochs", config.epochs, 1, 1'000'000);
  require_range<std::int64_t>("a batch size", config.batch_size, 1, kMaxBatchSize);
  require_range("a momentum", config.momentum, 0.0f, std::nextafter(1.0f, 0.0f));
  require_range("a weight decay", config.weight_decay, 0.0f, 1e6f);
  require_range("a beta1", config.beta1, 0.0, kBelowOne);
  require_range("a beta2", config.beta2, 0.0, kBelowOne);
  require_range("an epsilon", config.epsilon, kLeastEpsilon, 1.0);
  require_range("a norm to clip to", config.clip_norm, 0.0f, 1e18f);
  require_range("a label smoothing", config.label_smoothing, 0.0f, std::nextafter(1.0f, 0.0f));
  require_range("a gain of the initial weights", config.init_gain, 0.0f, 100.0f);
  require_range("a moving average's decay", config.ema_decay, 0.0f, std::nextafter(1.0f, 0.0f));
  require_range("a validation split", config.validation_split, 0.0, 0.9);
  require_range("a calibration split", config.calibration_split, 0.0, 0.9);
  require_range<std::int64_t>("a limit of training images", config.limit_train, 0, INT64_MAX);
  require_range<std::int64_t>("a limit of test images", config.limit_test, 0, INT64_MAX);
  require_range<std::int64_t>("steps between two rows of the log", config.log_every, 1, INT64_MAX);
  require_range("a dropout", config.network.dropout, 0.0f, std::nextafter(1.0f, 0.0f));
  const kernels::Augmentation& augmentation = config.augmentation;
  require_range("an augmentation's rotation", augmentation.rotate_degrees, 0.0f, 180.0f);
  require_range("an augmentation's scale", augmentation.scale, 0.0f, 0.9f);
  require_range("an augmentation's shear", augmentation.shear, 0.0f, 4.0f);
  require_range("an augmentation's shift", augmentation.shift, 0.0f, 1024.0f);
  require_range("an augmentation's crop", augmentation.crop, 0, kernels::Augmentation::kMaxCrop);
  require_range("an augmentation's brightness", augmentation.brightness, 0.0f, 1.0f);
  require_range("an augmentation's contrast", augmentation.contrast, 0.0f, 1.0f);
  require_range("an augmentation's cutout", augmentation.cutout, 0,
                kernels::Augmentation::kMaxCrop);
  tabulate(config.schedule, 1, 1);  // throws for a schedule that makes no sense
}

}  // namespace weft::models

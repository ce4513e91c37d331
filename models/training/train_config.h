// SPDX-License-Identifier: MIT
// The settings of a training run and their defaults; settings.h has all else about them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "data/folder/folder.h"
#include "engine/names.h"
#include "kernels/batch/batch.h"
#include "layers/layer.h"
#include "models/networks/networks.h"
#include "models/training/optimizer.h"
#include "models/training/schedule.h"

namespace weft::models {

// Data of the user's own (data/own_data.h).
struct OwnData {
  std::string path;  // of the folder or file; empty: `dataset` is one that Weft knows by name
  data::PictureShape shape;
  bool skip_broken = false;
  std::string label = {};          // the column of labels in a table; empty: the table tells
  std::string label_pattern = {};  // of file names; empty: folders tell
};

struct TrainConfig {
  NetworkOptions network;
  std::string dataset = "mnist";
  OwnData own_data = {};
  std::string start_from = {};  // the model whose weights a new run begins with; empty: none
  std::string freeze = {};      // layers that are not trained, as "conv*,fc1"
  // "MEAN/STDDEV" of the pixels, with commas between channels: that of the model which the run
  // began from. Empty: that of the data set.
  std::string normalisation = {};
  int epochs = 3;
  std::int64_t batch_size = 64;
  Schedule schedule;
  const Optimizer* optimizer = &optimizers().front();
  float momentum = 0.9f;  // of SGD
  float weight_decay = 5e-4f;
  bool nesterov = true;                               // of SGD
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // of AdamW
  float clip_norm = 0;        // > 0: gradients are clipped to this global norm
  float label_smoothing = 0;  // this share of the target is spread over all classes
  float init_gain = 1;        // of the initial weights; 1: PyTorch's, sqrt(6): He's, for ReLU
  // > 0: an exponential moving average of weights and buffers, which keeps this share of itself at
  // each step (less at first), is what is evaluated and saved as the model.
  float ema_decay = 0;
  kernels::Augmentation augmentation;
  std::uint64_t seed = 1;
  double validation_split = 0;   // share of the training images held out, 0..0.9
  double calibration_split = 0;  // the same without choosing the best epoch; for the Calibration
  bool balance = false;          // repeat images of rare classes (balance_classes())
  std::optional<std::int64_t> limit_train;  // use only the first so many training images
  std::optional<std::int64_t> limit_test;   // the same of the test images
  std::int64_t log_every = 100;             // steps at least between two rows of metrics.csv
  bool sync_batch_norm = false;             // statistics over the batch of all ranks, not of each
  layers::KernelChoice kernels;
};

// What weft train and Python hold out for the Calibration where no split is asked for.
inline constexpr double kCalibrationSplit = 0.05;

// The arithmetic of the kernels.
inline constexpr Named<kernels::ComputeMode> kPrecisions[] = {{"fp32", kernels::ComputeMode::fp32},
                                                              {"tf32", kernels::ComputeMode::tf32},
                                                              {"bf16", kernels::ComputeMode::bf16}};

// The share of the training images that is held out: the Calibration is fitted on the validation
// split where there is one.
inline double held_out_share(const TrainConfig& config) {
  return config.validation_split > 0 ? config.validation_split : config.calibration_split;
}
// How many of `images` that is.
inline std::int64_t held_out_images(const TrainConfig& config, std::int64_t images) {
  return std::llround(held_out_share(config) * static_cast<double>(images));
}

}  // namespace weft::models

// SPDX-License-Identifier: MIT
#include "models/training/recipes.h"

#include <algorithm>
#include <array>

#include "engine/error.h"
#include "engine/names.h"
#include "models/training/settings.h"
#include "models/training/split.h"

namespace weft::models {

namespace {

// Settings were chosen by the mean accuracy over seeds on 10,000 training images that were held
// out (bench/explore_recipes.py), never on the test set.
TrainConfig fast() {
  TrainConfig config;
  config.network.name = "lenet5";
  config.epochs = 3;
  config.batch_size = 256;
  config.schedule.peak = 0.08f;  // of 96 runs with 0.1 one ended at 11 %, with 0.09 at 97 %
  config.schedule.warmup_fraction = 0.3;
  config.init_gain = 1.5f;  // 1 learns less; of six runs with 2.45 one ended at 89 %
  config.label_smoothing = 0.02f;
  return config;
}

TrainConfig accurate() {
  TrainConfig config;
  config.network.name = "convnet-bn";
  config.epochs = 23;
  config.batch_size = 512;
  config.weight_decay = 1e-3f;
  config.label_smoothing = 0.05f;
  config.schedule.peak = 0.08f;
  config.schedule.warmup_fraction = 0.4;
  config.ema_decay = 0.995f;
  config.augmentation = {.rotate_degrees = 10, .scale = 0.1f, .shear = 0.1f, .shift = 2};
  config.kernels.mode = kernels::ComputeMode::bf16;
  return config;
}

// data/README.md has what it reads in photographs.
TrainConfig photographs() {
  TrainConfig config = default_config("lenet5");
  config.dataset = "mnist-hands";
  config.epochs = 10;
  config.label_smoothing = 0.05f;
  return config;
}

// bench/small_networks.py found these networks, and trains them so.
TrainConfig small_98() {
  TrainConfig config = default_config("small-98");
  config.batch_size = 128;
  config.ema_decay = 0.998f;
  return config;
}

TrainConfig small_99() {
  TrainConfig config = small_98();
  config.network.name = "small-99";
  config.augmentation.crop = 1;
  return config;
}

constexpr std::array kRecipes = {
    RecipeInfo{"fast", "99 % of MNIST as soon as possible: lenet5 with large steps", fast},
    RecipeInfo{"accurate",
               "the most that seconds can buy: convnet-bn, augmented images, averaged weights",
               accurate},
    RecipeInfo{"photographs",
               "digits of many hands and pens, for photographs: lenet5 on mnist-hands",
               photographs},
    RecipeInfo{"small-98", "98 % of MNIST with 869 parameters", small_98},
    RecipeInfo{"small-99", "99 % of MNIST with 2,456 parameters", small_99},
};

}  // namespace

TrainConfig default_config(std::string_view network) {
  TrainConfig config;
  config.network.name = network;
  if (is_network_file(network)) {
    config.epochs = 4;
    config.schedule.peak = 0.05f;
    return config;
  }
  const NetworkInfo& info = network_named(network);
  config.epochs = info.epochs;
  config.schedule.peak = info.peak_lr;
  config.weight_decay = info.weight_decay;
  return config;
}

void choose_optimizer(TrainConfig& config, const Optimizer* optimizer) {
  if (config.optimizer == optimizer) return;
  const TrainConfig of_network = default_config(config.network.name);
  for (const auto& [name, text] : config.optimizer->defaults) {
    setting_named(name).copy(of_network, config);
  }
  config.optimizer = optimizer;
  for (const auto& [name, text] : optimizer->defaults) set(config, setting_named(name), text);
}

void suit_own_data(TrainConfig& config, const data::Dataset& dataset, const Asked& asked) {
  const std::int64_t images = images_used(dataset, config);
  if (!asked.epochs && images > 0) {  // a network's own number suits tens of thousands of images
    constexpr std::int64_t kEnough = 20'000, kMostTimes = 10;
    config.epochs *= static_cast<int>(std::clamp<std::int64_t>(kEnough / images, 1, kMostTimes));
  }
  if (dataset.validation.count > 0) {
    if (config.validation_split > 0) {
      throw Error(ErrorKind::usage, str(asked.split_name, ": ", dataset.source,
                                        " has its own validation pictures in val/"));
    }
    config.calibration_split = 0;
    return;
  }
  constexpr double kValidationSplit = 0.1;
  TrainConfig split = config;
  split.validation_split = kValidationSplit;
  split.calibration_split = 0;
  if (!asked.split && held_out_images(split, images) > 0) config = split;
}

std::span<const RecipeInfo> recipes() {
  return kRecipes;
}

TrainConfig recipe_config(std::string_view name) {
  return row_named(kRecipes, "recipe", name).config();
}

}  // namespace weft::models

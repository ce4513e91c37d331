// SPDX-License-Identifier: MIT
// The flags of weft train, and the plan that --dry-run prints.
#pragma once

#include <cstdint>
#include <string>

#include "examples/flags.h"
#include "examples/load_data.h"
#include "examples/terminal.h"
#include "models/trainer.h"

namespace weft::cli {

struct TrainFlags {
  std::string recipe, model, schedule;  // empty, and below 0 or 0: as the recipe or network has it
  std::int64_t epochs = 0, batch_size = 0;
  double lr = 0, weight_decay = -1, momentum = -1, warmup = -1, ema = -1, smoothing = -1, gain = -1;
  bool nesterov = false, no_nesterov = false, augment = false, no_augment = false;

  std::string progress = "auto", out, resume;
  DataFlags data;
  DeviceFlags device;
  std::int64_t seed = 1, limit_train = 0, stop_after = 0;
  double val_split = 0, dropout = 0;
  bool dry_run = false, json = false;
};

void add_train_flags(CLI::App& app, TrainFlags& flags);
// What CLI11 cannot check: flags that exclude each other. Throws usage.
void check_train_flags(const CLI::App& app, const TrainFlags& flags);
models::TrainConfig config_from(const TrainFlags& flags);
// --precision and --impl for this device; without --precision a recipe's on a GPU.
layers::KernelChoice kernels_from(const TrainFlags& flags, Device device);
ProgressMode parse_progress(const std::string& text);

// Prints configuration, steps and memory; trains nothing and writes nothing.
int dry_run(const TrainFlags& flags, const models::TrainConfig& config, Device device);

}  // namespace weft::cli

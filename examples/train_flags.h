// SPDX-License-Identifier: MIT
// The flags of weft train, their defaults per network, and the plan that --dry-run prints.
#pragma once

#include <cstdint>
#include <string>

#include "examples/flags.h"
#include "examples/load_data.h"
#include "examples/terminal.h"
#include "models/trainer.h"

namespace weft::cli {

struct TrainFlags {
  std::string model = "lenet5", schedule = "one-cycle", progress = "auto", out, resume;
  DataFlags data;
  DeviceFlags device;
  std::int64_t epochs = 0;  // 0: the recipe's
  std::int64_t batch_size = 64, seed = 1, limit_train = 0, stop_after = 0;
  double lr = 0, weight_decay = -1;  // not above 0, below 0: the recipe's
  double momentum = 0.9, val_split = 0, dropout = 0;
  bool nesterov = false, no_nesterov = false, augment = false, dry_run = false, json = false;
};

void add_train_flags(CLI::App& app, TrainFlags& flags);
// What CLI11 cannot check: flags that exclude each other. Throws usage.
void check_train_flags(const CLI::App& app, const TrainFlags& flags);
models::TrainConfig config_from(const TrainFlags& flags);
ProgressMode parse_progress(const std::string& text);

// Prints configuration, steps and memory; trains nothing and writes nothing.
int dry_run(const TrainFlags& flags, const models::TrainConfig& config, Device device);

}  // namespace weft::cli

// SPDX-License-Identifier: MIT
// The flags of weft train, and the plan that --dry-run prints.
#pragma once

#include <cstdint>
#include <string>

#include "examples/weft/input/flags.h"
#include "examples/weft/input/load_data.h"
#include "examples/weft/input/ranks.h"
#include "examples/weft/output/terminal.h"
#include "examples/weft/train/augmentation.h"
#include "models/run_checks.h"
#include "models/trainer.h"

namespace weft::cli {

struct TrainFlags {
  // Empty, and below 0 or 0: as the file, the recipe or the network has it.
  std::string config, recipe, model, schedule, optimizer;
  std::int64_t epochs = 0, batch_size = 0, seed = -1, limit_train = 0, limit_test = 0;
  double lr = 0, weight_decay = -1, momentum = -1, warmup = -1, ema = -1, smoothing = -1, gain = -1;
  double beta1 = -1, beta2 = -1, epsilon = 0, clip_norm = -1;
  double val_split = -1, calibration_split = -1, dropout = -1;
  bool nesterov = false, no_nesterov = false;
  AugmentFlags augment;

  std::string progress = "auto", out, resume;
  DataFlags data;
  DeviceFlags device;
  std::int64_t stop_after = 0, log_every = 0;
  RankFlags ranks;
  bool sync_batch_norm = false;
  bool dry_run = false, json = false;
};

void add_train_flags(CLI::App& app, TrainFlags& flags);
// What CLI11 cannot check: flags that exclude each other. Throws usage.
void check_train_flags(const CLI::App& app, const TrainFlags& flags);
// The settings; of the kernels those of --config or --recipe. Its data set is empty when none was
// asked for. adopt_data_set() adds what depends on the images.
models::TrainConfig config_from(const TrainFlags& flags);
// Throws usage when --model is given beside --resume and is not the network of the run: a file may
// have changed since the run began.
void check_same_network(const TrainFlags& flags, const models::TrainConfig& run);
// The kernels of `config` with --precision and --impl for this device; a recipe's precision is left
// out on the CPU.
layers::KernelChoice kernels_from(const TrainFlags& flags, const models::TrainConfig& config,
                                  Device device);

// The data set's name and shape, the augmentation that suits it, and its validation split, which is
// a tenth for data of the user's own unless the flags or a folder val/ say otherwise. Throws usage
// when both say something.
void adopt_data_set(models::TrainConfig& config, const TrainFlags& flags,
                    const data::Dataset& dataset);

// What training takes of the device's memory, with all images there, and how to take less, as a
// clause: "training takes 1.5 GiB: ...".
std::string memory_clause(const models::TrainConfig& config, const data::Dataset& dataset,
                          Device device);

// Prints configuration, steps and memory of a run that was checked; trains and writes nothing.
void print_plan(const TrainFlags& flags, const models::RunPreview& run,
                const data::Dataset& dataset, Device device);

}  // namespace weft::cli

// SPDX-License-Identifier: MIT
// The flags of weft train, and the plan that --dry-run prints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "examples/weft/input/flags.h"
#include "examples/weft/input/load_data.h"
#include "examples/weft/input/ranks.h"
#include "examples/weft/output/terminal.h"
#include "models/training/runs/run_checks.h"
#include "models/training/trainer.h"

namespace weft::cli {

// The settings that flags gave, by their names in config.json, as texts that set() takes.
using GivenSettings = std::map<std::string_view, std::string>;

struct TrainFlags {
  std::optional<std::string> config, recipe, model, out, resume;
  GivenSettings settings;
  std::optional<bool> augment;

  std::string progress = "auto";
  DataFlags data;
  DeviceFlags device;
  std::optional<int> stop_after;  // none: after all epochs
  RankFlags ranks;
  bool dry_run = false, json = false;
};

void add_train_flags(CLI::App& app, TrainFlags& flags);
// Throws usage for a flag beside --resume that would change a setting of the run.
void check_resume_flags(const CLI::App& app);
std::optional<int> epochs_given(const GivenSettings& given);
// The settings; of the kernels those of --config or --recipe. `flags.data` gets the data set of
// --config, where no flag names one. adopt_data_set() adds what depends on the images. Throws usage
// for flags that exclude each other.
models::TrainConfig config_from(const CLI::App& app, TrainFlags& flags);
// What the flags make of the augmentation, once the channels are known.
void augment(models::TrainConfig& config, const TrainFlags& flags);
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

// SPDX-License-Identifier: MIT
// What a training run checks before it starts or goes on. All throw usage, unless said otherwise.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "data/sets/dataset.h"
#include "layers/network/sequential.h"
#include "models/training/runs/checkpoint.h"
#include "models/training/runs/run_state.h"
#include "models/training/split.h"

namespace weft::models {

// Do the images, the classes and the normalisation suit the network?
void check_dataset(const data::Dataset& dataset, const TrainConfig& config);

// A run that may begin: its network, and its data as they are split.
struct NewRun {
  std::unique_ptr<layers::Sequential> net;
  PreparedData prepared;
};
// All that can be told before a new run needs a device or a folder: do the settings make sense,
// suit the images, and leave images to train on? `prepared`: as for Trainer.
NewRun check_new_run(const TrainConfig& config, const data::Dataset& dataset,
                     std::optional<PreparedData> prepared = std::nullopt);

// The checkpoint of the run in `run_dir`, to be gone on with: is it whole, Error{data} if not, were
// its images those of `dataset`, and may it have so many epochs (replace_epochs)? `where`: the
// file that `content` comes from.
Checkpoint check_resume(const SafeTensors& content, const layers::Sequential& net,
                        const std::string& where, const std::filesystem::path& run_dir,
                        const data::Dataset& dataset, std::optional<int> epochs);

// What a run would do, told without writing anything. Both throw what the run itself would throw
// before its first step, but for a lack of memory.
struct RunPreview {
  TrainConfig config;
  std::int64_t train_images = 0, held_out_images = 0;  // of an epoch
  std::int64_t steps_done = 0;
};
RunPreview preview_new_run(const TrainConfig& config, const data::Dataset& dataset,
                           const std::filesystem::path& run_dir,
                           std::optional<PreparedData> prepared = std::nullopt);
RunPreview preview_resume(const std::filesystem::path& run_dir, const data::Dataset& dataset,
                          std::optional<int> epochs);

// Does the step follow from the history, of epochs of so many images, as Trainer::run() relies on?
// All steps of an epoch may be done before its evaluation is. Error{data}, prefixed by `where`, if
// not: the state may come from a file.
void check_position(const RunState& state, std::int64_t images, const std::string& where);

// Makes the run end after so many epochs, if any, as far as its schedule allows it.
void replace_epochs(RunState& state, std::optional<int> epochs);

}  // namespace weft::models

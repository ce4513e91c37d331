// SPDX-License-Identifier: MIT
#include "models/training/runs/run_checks.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/extent.h"
#include "models/answers/evaluate.h"
#include "models/files/state_dict.h"
#include "models/training/runs/run_directory.h"
#include "models/training/settings.h"
#include "models/training/start.h"

namespace weft::models {

namespace {

// An image that is moved by its own size, or covered by a square of it, has nothing left to see.
void check_augmentation(const TrainConfig& config) {
  const kernels::Augmentation& augmentation = config.augmentation;
  const std::int64_t height = config.network.height, width = config.network.width;
  const auto require_below = [&](const char* what, auto pixels, std::int64_t side) {
    if (pixels < static_cast<decltype(pixels)>(side) || pixels == 0) return;
    throw Error(ErrorKind::usage, str("expected a ", what, " of less than ", side, " pixels for ",
                                      "images of ", height, "x", width, ", found ", pixels));
  };
  require_below("shift", augmentation.shift, std::min(height, width));
  require_below("crop", augmentation.crop, std::min(height, width));
  require_below("cutout", augmentation.cutout, std::max(height, width));
}

}  // namespace

void check_dataset(const data::Dataset& dataset, const TrainConfig& config) {
  check_images(dataset.train, config.network, "training");
  check_images(dataset.test, config.network, "test");
  if (dataset.validation.count > 0) {
    check_images(dataset.validation, config.network, "validation");
  }
  if (static_cast<std::int64_t>(dataset.class_names.size()) != config.network.classes) {
    throw Error(ErrorKind::usage, str("the network has ", config.network.classes, " classes, ",
                                      dataset.name, " has ", dataset.class_names.size()));
  }
  const auto channels = static_cast<std::size_t>(config.network.channels);
  const bool sensible =
      dataset.mean.size() == channels && dataset.stddev.size() == channels &&
      all_finite(dataset.mean) && all_finite(dataset.stddev) &&
      std::ranges::all_of(dataset.stddev, [](float stddev) { return stddev > 0; });
  if (!sensible) {
    throw Error(ErrorKind::usage, str(dataset.name, ": expected a finite mean and a stddev > 0 of ",
                                      "the pixels of each of ", channels, " channels"));
  }
}

NewRun check_new_run(const TrainConfig& config, const data::Dataset& dataset,
                     std::optional<PreparedData> prepared) {
  validate(config);
  NewRun run{make_network(config.network), {}};
  check_dataset(dataset, config);
  check_augmentation(config);
  frozen_layers(*run.net, config.freeze);
  run.prepared = prepared ? std::move(*prepared) : prepare(dataset, config);
  return run;
}

Checkpoint check_resume(const SafeTensors& content, const layers::Sequential& net,
                        const std::string& where, const std::filesystem::path& run_dir,
                        const data::Dataset& dataset, std::optional<int> epochs) {
  Checkpoint start = checkpoint_of(content, net, where);
  const TrainConfig& config = start.state.config;
  check_dataset(dataset, config);
  if (dataset.name != config.dataset || fingerprint_of(dataset) != start.state.data) {
    throw Error(ErrorKind::usage,
                str("the run in ", run_dir.string(), " was trained on ", config.dataset, " with ",
                    start.state.data.train_images, " + ", start.state.data.test_images,
                    " images, found ", dataset.name, " with ", dataset.train.count, " + ",
                    dataset.test.count, dataset.name == config.dataset ? " other" : "", " images"));
  }
  replace_epochs(start.state, epochs);
  return start;
}

namespace {

RunPreview preview_of(const TrainConfig& config, const data::Dataset& dataset,
                      const std::optional<TrainSplit>& split) {
  RunPreview run{config, images_used(dataset, config)};
  if (split) run.train_images = split->train.count;
  if (split) run.held_out_images = split->validation.count;
  return run;
}

}  // namespace

RunPreview preview_new_run(const TrainConfig& config, const data::Dataset& dataset,
                           const std::filesystem::path& run_dir,
                           std::optional<PreparedData> prepared) {
  const NewRun run = check_new_run(config, dataset, std::move(prepared));
  RunDirectory::check_new(run_dir);
  return preview_of(config, dataset, run.prepared.split);
}

RunPreview preview_resume(const std::filesystem::path& run_dir, const data::Dataset& dataset,
                          std::optional<int> epochs) {
  const RunDirectory directory = RunDirectory::open(run_dir);
  directory.folder().require_free();
  const SafeTensors content = directory.read();
  const std::string where = directory.checkpoint_path().string();
  const auto net = make_network(run_state_of(content, where).config.network);
  const RunState state = check_resume(content, *net, where, run_dir, dataset, epochs).state;
  RunPreview run = preview_of(state.config, dataset, split_of(dataset, state.config));
  check_position(state, run.train_images, "the run");
  run.steps_done = state.step;
  return run;
}

void check_position(const RunState& state, std::int64_t images, const std::string& where) {
  const std::int64_t batch = state.config.batch_size, steps = divide_up(images, batch);
  const auto first = static_cast<std::int64_t>(state.history.size()) * steps;
  const std::int64_t within = state.step - first;
  const bool has_room = first < state.config.epochs * steps || within == 0;
  if (within < 0 || within > steps || !has_room ||
      state.totals.rows != std::min(within * batch, images)) {
    throw Error(ErrorKind::data,
                str(where, ": step ", state.step, " with ", state.totals.rows, " images done does ",
                    "not follow ", state.history.size(), " epochs of ", steps, " steps"));
  }
}

void replace_epochs(RunState& state, std::optional<int> epochs) {
  TrainConfig& config = state.config;
  if (!epochs || *epochs == config.epochs) return;
  if (!config.schedule.kind->may_lengthen) {
    Names others;
    for (const ScheduleKind& kind : schedules()) {
      if (kind.may_lengthen) others.push_back(kind.name);
    }
    throw Error(ErrorKind::usage,
                str("the ", config.schedule.kind->name, " schedule of this run ends after epoch ",
                    config.epochs, ", it cannot go on to ", *epochs, " (", joined(others, " and "),
                    " can)"));
  }
  const auto begun = static_cast<int>(state.history.size()) + (state.totals.rows > 0 ? 1 : 0);
  if (*epochs < begun) {
    throw Error(ErrorKind::usage,
                str("the run is in epoch ", begun, " already, it cannot end after ", *epochs));
  }
  config.epochs = *epochs;
}

}  // namespace weft::models

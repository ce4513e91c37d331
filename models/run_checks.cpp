// SPDX-License-Identifier: MIT
#include "models/run_checks.h"

#include <algorithm>

#include "engine/error.h"
#include "models/evaluate.h"
#include "models/state_dict.h"

namespace weft::models {

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

void check_position(const RunState& state, std::int64_t steps_per_epoch, const std::string& where) {
  const auto first = static_cast<std::int64_t>(state.history.size()) * steps_per_epoch;
  const std::int64_t within = state.step - first;
  const bool has_room = first < state.config.epochs * steps_per_epoch || within == 0;
  if (within < 0 || within >= steps_per_epoch || !has_room ||
      state.totals.rows != within * state.config.batch_size) {
    throw Error(ErrorKind::data,
                str(where, ": step ", state.step, " with ", state.totals.rows, " images done does ",
                    "not follow ", state.history.size(), " epochs of ", steps_per_epoch, " steps"));
  }
}

void replace_epochs(RunState& state, int epochs) {
  TrainConfig& config = state.config;
  if (epochs <= 0 || epochs == config.epochs) return;
  const ScheduleKind kind = config.schedule.kind;
  if (kind == ScheduleKind::cosine || kind == ScheduleKind::one_cycle) {
    throw Error(ErrorKind::usage,
                str("the ", name_of(kind), " schedule of this run ends after epoch ", config.epochs,
                    ", it cannot go on to ", epochs, " (constant and step can)"));
  }
  const auto begun = static_cast<int>(state.history.size()) + (state.totals.rows > 0 ? 1 : 0);
  if (epochs < begun) {
    throw Error(ErrorKind::usage,
                str("the run is in epoch ", begun, " already, it cannot end after ", epochs));
  }
  config.epochs = epochs;
}

}  // namespace weft::models

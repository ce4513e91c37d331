// SPDX-License-Identifier: MIT
// What a training run checks before it starts or goes on. All throw usage, unless said otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "models/records.h"

namespace weft::models {

// Do the images, the classes and the normalisation suit the network?
void check_dataset(const data::Dataset& dataset, const TrainConfig& config);

// Does the step follow from the history, as Trainer::run() relies on? Error{data}, prefixed by
// `where`, if not: the state may come from a file.
void check_position(const RunState& state, std::int64_t steps_per_epoch, const std::string& where);

// Makes the run end after so many epochs, as far as its schedule allows it; 0: as before.
void replace_epochs(RunState& state, int epochs);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// Training settings that are known to work: defaults for each network, and whole recipes by name.
#pragma once

#include <span>
#include <string_view>

#include "data/sets/dataset.h"
#include "models/training/train_config.h"

namespace weft::models {

// What suits this network at batch 64, in fp32; throws usage for an unknown one.
TrainConfig default_config(std::string_view network);

// Changes to this optimizer, with the defaults of its row, and those of the network where the row
// of the former one had others. Nothing changes when it has it already.
void choose_optimizer(TrainConfig& config, const Optimizer* optimizer);

// What the user has asked for, and calls the validation split.
struct Asked {
  bool epochs = false, split = false;
  const char* split_name = "";
};
// What data of the user's own changes beside that: few images are seen in more epochs, and a tenth
// of the training images is held out for validation. Throws usage, naming the split, when one is
// configured and the data has validation images of its own.
void suit_own_data(TrainConfig& config, const data::Dataset& dataset, const Asked& asked);

struct RecipeInfo {
  std::string_view name;
  std::string_view summary;  // one line for --help
  TrainConfig (*config)();
};

std::span<const RecipeInfo> recipes();

// All settings of a recipe; `name` is one of recipes(), else Error{usage}. Its precision is
// meant for a GPU.
TrainConfig recipe_config(std::string_view name);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// A run that begins from a model, and layers that it does not train.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "layers/network/sequential.h"
#include "models/model.h"
#include "models/training/runs/checkpoint.h"
#include "models/training/train_config.h"

namespace weft::models {

// The network of the model that `start_from` names, without the number of classes and the extents
// of its images, which are those of new data. Throws what load_model() does.
NetworkOptions network_of_start(const std::string& start_from);

// Gives a fresh checkpoint the weights of the model that its config names, if any, and its
// normalisation. Tensors of the same name and shape are taken over. Of the last layer, where it is
// linear, the rows of classes that both know by one name are taken over. Says so in sentences.
// Throws usage where nothing fits, and what load_model() does.
std::vector<std::string> start_from_model(Checkpoint& checkpoint, const layers::Sequential& net,
                                          const std::vector<std::string>& class_names);

// Makes mean and stddev those of TrainConfig::normalisation, if any. Throws data for another text.
void adopt_normalisation(ModelInfo& info, const TrainConfig& config);

// For each layer, is it named by one of the patterns, which commas separate? `*` stands for any
// text and `?` for a letter. Empty without a pattern. Throws usage for a pattern that names no
// layer with parameters, where nothing is left to train, and for a batch normalisation behind a
// layer that is trained.
std::vector<bool> frozen_layers(const layers::Sequential& net, std::string_view patterns);

// FlatRun is a run of neighbours among the flat parameters: [first, first + count).
struct FlatRun {
  std::int64_t first = 0, count = 0;
};
// Returns the parameters of layers that are not frozen, in as few runs as possible.
std::vector<FlatRun> trained_runs(const layers::Sequential& net, const std::vector<bool>& frozen);

}  // namespace weft::models

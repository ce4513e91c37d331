// SPDX-License-Identifier: MIT
// The tensors of another program's file as those of a network: it is told which of them is which.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/model.h"
#include "models/weights/weights.h"

namespace weft::models {

// The network and the file's name of something: a layer ("conv1", "features.0") or a tensor of one
// ("conv1.weight", "features.0.weight").
using NamePair = std::pair<std::string, std::string>;

// "conv1=features.0,fc1=head"; throws usage for other text.
std::vector<NamePair> parse_map(const std::string& text);

struct WeightsImport {
  std::string network;  // the name of a built-in one, or a file that ends in ".net"
  std::optional<std::array<std::int64_t, 3>> input = {};  // else 1 x 28 x 28, which is assumed
  std::vector<std::string> class_names = {};              // else "0", "1", ...
  std::vector<NamePair> map = {};
};

struct MatchedModel {
  Model model;  // whose pixels are assumed to be pixel / 255
  // The network's and the file's names of all tensors, where they differ.
  std::vector<NamePair> map = {};
  std::vector<std::string> notices = {};
};

// Gives each tensor of the network one of the file, and each of the file is given. Those that
// --map names come first, then those that have the same names. Where a name is missing, the rest
// are matched by their order: layer by layer, and each tensor must have the shape that the network
// wants. The number of classes is what the last layer of the file has.
//
// Throws data, naming `where` and the tensor, where the file is of another network, and usage for a
// map that does not fit.
MatchedModel matched_model(const Weights& weights, const WeightsImport& wish,
                           const std::string& where);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// What the layers of a network make of typical pictures: the least and the largest value of each.
// Arithmetic in bytes needs it.
#pragma once

#include "data/sets/dataset.h"
#include "models/model.h"

namespace weft::models {

inline constexpr std::int64_t kRangeImages = 1000;

// A range for each layer of model.net, over the first kRangeImages images of the set, in fp32 on
// the CPU. Throws usage for images that do not fit the network, and data where a value is not a
// number.
std::vector<ValueRange> measure_ranges(const Model& model, const data::ImageSet& images);

}  // namespace weft::models

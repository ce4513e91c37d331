// SPDX-License-Identifier: MIT
// What a data set makes one doubt, before a network is trained on it.
#pragma once

#include <string>
#include <vector>

#include "data/sets/dataset.h"

namespace weft::data {

// A line for each of these, or none: classes with fewer than 10 training images, named with their
// numbers; test and validation images that are, pixel for pixel, in the training set as well, which
// are counted. Images of one colour alone, as blank ones, do not count as repeated.
std::vector<std::string> doubts_about(const Dataset& dataset);

}  // namespace weft::data

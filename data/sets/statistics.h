// SPDX-License-Identifier: MIT
// Mean and standard deviation of a data set's pixels, channel by channel.
#pragma once

#include "data/sets/dataset.h"

namespace weft::data {

// Sets mean and stddev of every channel from the training images, rounded to 4 digits. They are 0
// and 1 when there are none, and stddev is 1 for a channel whose pixels are all equal.
void set_statistics(Dataset& dataset);

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Mean and standard deviation of a data set's pixels.
#pragma once

#include "data/dataset.h"

namespace weft::data {

// Sets mean and stddev from the training images, rounded to 4 digits; 0 and 1 when there are none
// or all pixels are equal.
void set_statistics(Dataset& dataset);

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Several data sets as one.
#pragma once

#include <vector>

#include "data/sets/dataset.h"

namespace weft::data {

// The images of all, set by set, in the order of the data sets. Classes of one name are one class;
// they are in the order of the first data set, and new ones follow. Throws data, with both sources,
// when images have another size or other channels than those of the first.
Dataset joined(std::vector<Dataset> datasets);

}  // namespace weft::data

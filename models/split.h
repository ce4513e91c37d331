// SPDX-License-Identifier: MIT
// Holding out part of the training images for validation.
#pragma once

#include <cstdint>

#include "data/dataset.h"

namespace weft::models {

struct TrainSplit {
  data::ImageSet train, validation;
};

// Deals the first `count` images into two sets by a permutation drawn from the seed; round(count *
// share) of them go to validation. Error{usage} when one of the sets would be empty.
TrainSplit split_images(const data::ImageSet& set, std::int64_t count, double share,
                        std::uint64_t seed);

}  // namespace weft::models

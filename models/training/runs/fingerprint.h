// SPDX-License-Identifier: MIT
// A checksum of a data set.
#pragma once

#include <cstdint>

#include "data/sets/dataset.h"

namespace weft::models {

// Identifies the images that a run was trained on, so that a resume can refuse others.
struct DataFingerprint {
  std::int64_t train_images = 0, test_images = 0;
  std::uint64_t checksum = 0;
  friend bool operator==(const DataFingerprint&, const DataFingerprint&) = default;
};

DataFingerprint fingerprint_of(const data::Dataset& dataset);

}  // namespace weft::models

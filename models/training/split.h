// SPDX-License-Identifier: MIT
// Holding out part of the training images for validation.
#pragma once

#include <cstdint>
#include <optional>

#include "data/sets/dataset.h"
#include "models/training/runs/fingerprint.h"
#include "models/training/train_config.h"

namespace weft::models {

struct TrainSplit {
  data::ImageSet train, validation;
};

// Deals the first `count` images into two sets by a permutation drawn from the seed; round(count *
// share) of them go to validation. `is_stratified` takes that share of each class, to an image.
// Error{usage} when one of the sets would be empty.
TrainSplit split_images(const data::ImageSet& set, std::int64_t count, double share,
                        std::uint64_t seed, bool is_stratified = false);

// Repeats the images of each class, in turn, until it has as many as the largest one. Throws data
// when they need more memory than is free.
void balance_classes(data::ImageSet& set);

// How many of the training images the run uses: all, or limit_train.
std::int64_t images_used(const data::Dataset& dataset, const TrainConfig& config);

// Leaves only the first so many images and labels of a set that has more.
void keep_first(data::ImageSet& set, std::optional<std::int64_t> count);

// Training and held-out images: those of the data set's own validation set, or a share of the
// training images, of the user's own data that share of each class; nothing when none are held out.
// With config.balance the training images are balanced, and there is always a split, where none are
// held out with an empty validation set.
std::optional<TrainSplit> split_of(const data::Dataset& dataset, const TrainConfig& config);

// What a trainer makes of a data set before it needs a device.
struct PreparedData {
  DataFingerprint fingerprint;
  std::optional<TrainSplit> split;  // as from split_of()
};
PreparedData prepare(const data::Dataset& dataset, const TrainConfig& config);

}  // namespace weft::models

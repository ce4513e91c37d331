// SPDX-License-Identifier: MIT
// Digits as more hands write them than those whose digits are in MNIST.
#pragma once

#include <cstdint>
#include <vector>

#include "data/sets/dataset.h"

namespace weft::data {

// Adds training images to a data set of digits, 28 x 28 with 10 classes: each of its own with
// another pen, and two drawn ones (digits.h) for three of its own. The images that were there stay
// first, and the test images and statistics as they are. Throws usage for another data set.
void add_hands(Dataset& dataset, std::uint64_t seed = 1);

// Pictures that a classifier has to be unsure of, or may be.
struct HardPictures {
  ImageSet images;                     // (count, 28, 28); a picture without a digit has label 0
  std::vector<std::uint8_t> is_digit;  // (count,)
};

// As many damaged digits as `digits` has, at most `most`, each once from the first on, and as many
// pictures without a digit. Each picture follows from the seed and its index. Throws usage unless
// `digits` are 28 x 28 with one channel.
HardPictures hard_pictures(const ImageSet& digits, std::uint64_t seed, std::int64_t most);

}  // namespace weft::data

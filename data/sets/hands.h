// SPDX-License-Identifier: MIT
// Digits as more hands write them than those whose digits are in MNIST.
#pragma once

#include <cstdint>

#include "data/sets/dataset.h"

namespace weft::data {

// Makes the strokes of an image (28, 28) of a digit wider or narrower by `change` pixels, as
// another pen would, and places it by MNIST's convention again. Narrower strokes stay connected.
void change_pen(const std::uint8_t* image, double change, std::uint8_t* result);

// Adds training images to a data set of digits, 28 x 28 with 10 classes: each of its own with
// another pen, and two drawn ones (digits.h) for three of its own. The images that were there stay
// first, and the test images and statistics as they are. Throws usage for another data set.
void add_hands(Dataset& dataset, std::uint64_t seed = 1);

}  // namespace weft::data

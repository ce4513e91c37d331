// SPDX-License-Identifier: MIT
// Procedural handwritten digits: strokes drawn and distorted by code, in MNIST's format.
//
// An image is a pure function of (seed, index): the same on every machine with the same floating
// point, in any order and on any number of threads. Only + - * / and square roots are used, so no
// mathematics library can change a bit of it.
#pragma once

#include <cstdint>

#include "data/sets/dataset.h"

namespace weft::data {

struct DigitsOptions {
  std::int64_t train = 60000, test = 10000;  // images
  std::uint64_t seed = 1;
};

// The data set "digits": train and test never share an image. Uses every core for about a second.
Dataset generate_digits(const DigitsOptions& options = {});

// Draws one `digit` as other hands than MNIST's write: every second one in a rare style, with a pen
// from a hairline to a thick marker, and up to twice the slant.
void draw_rare_digit(int digit, std::uint64_t seed, std::uint64_t index, std::uint8_t* image);

// Draws one `digit` (0..9) into `image` (28, 28); `index` picks the handwriting.
void draw_digit(int digit, std::uint64_t seed, std::uint64_t index, std::uint8_t* image);

}  // namespace weft::data

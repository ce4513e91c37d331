// SPDX-License-Identifier: MIT
// Procedural coloured shapes, 32 x 32 in red, green and blue: a disc, a ring, a square, a triangle
// or a cross, warm on cold or cold on warm. Ten classes.
//
// Brightness says nothing about the colours: it is drawn apart from the chroma, so a network that
// sees grey can tell the five shapes and no more. An image is a pure function of (seed, index), as
// in digits.h.
#pragma once

#include <cstdint>

#include "data/sets/dataset.h"

namespace weft::data {

struct ShapesOptions {
  std::int64_t train = 20000, test = 2000;  // images
  std::uint64_t seed = 1;
};

// The data set "shapes": train and test never share an image.
Dataset generate_shapes(const ShapesOptions& options = {});

// Draws a shape of class `label` (0..9, as class_names of the data set) into `image`, the planes
// (3, 32, 32).
void draw_shape(int label, std::uint64_t seed, std::uint64_t index, std::uint8_t* image);

}  // namespace weft::data

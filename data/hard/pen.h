// SPDX-License-Identifier: MIT
// Ink of 28 x 28 pixels by another pen, and in MNIST's place.
#pragma once

#include <cstdint>

#include "data/picture/plane.h"

namespace weft::data {

// Scales the ink of a plane of values 0..255 into 20 x 20 and brings its centre of mass to the
// middle of `result` (28, 28). Without ink that is empty.
void place_ink(const Plane& plane, std::uint8_t* result);

// Makes the strokes of an image (28, 28) of a digit wider or narrower by `change` pixels, as
// another pen would, and places it by MNIST's convention again. Narrower strokes stay connected.
void change_pen(const std::uint8_t* image, double change, std::uint8_t* result);

}  // namespace weft::data

// SPDX-License-Identifier: MIT
// Finding the ink in a picture: polarity, background, contrast, and which marks belong to it.
#pragma once

#include "data/plane.h"

namespace weft::data {

// True when the picture is dark on light: its extreme values lie further below the typical border
// pixel than above it.
bool is_dark_on_light(const Plane& picture);

// The median of the outermost pixels.
float border_level(const Plane& picture);

// Takes a picture that is light ink on a dark ground, values 0..255, and returns the ink alone:
// 0 where there is ground, about 255 in the middle of a stroke. Slow changes of the light, noise
// and small specks are removed. Returns an empty plane when nothing stands out from the ground.
Plane extract_ink(const Plane& picture);

}  // namespace weft::data

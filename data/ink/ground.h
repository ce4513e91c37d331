// SPDX-License-Identifier: MIT
// The ground under the ink: the paper with its shadows, the table beside it. Internal to ink.cpp.
#pragma once

#include <optional>

#include "data/picture/plane.h"

namespace weft::data {

// The value below which this share of the values lies; `values` must not be empty.
float percentile(std::vector<float> values, double share);

// The median of a plane of which most is ground, and the noise around it (standard deviation).
struct GroundLevel {
  float level = 0, noise = 0;
};
GroundLevel ground_level(const Plane& plane);

// How dark the ink is, 0 (ground) to 1 (black on white), of a picture with dark ink.
struct Darkness {
  Plane ink;
  float noise = 0;       // standard deviation on the ground
  Plane is_table;        // 1 where the ground is too dark for paper; empty for a drawing
  bool is_crop = false;  // cut out at the edge of the ink: what comes to all sides is no table
};
// Where the light is reflected, as from paper, darkness is a share of it: then ink in the shade is
// as dark as elsewhere. Dark parts that are wider than `widest` pixels are shadow or table.
Darkness darkness_of(const Plane& picture, bool is_light_reflected, std::int64_t widest);

// Wider than any stroke of a picture of this size.
std::int64_t widest_stroke(const Plane& picture);

// The level of the ground of a picture that was cut out at the edge of its dark ink, which comes to
// all four sides. None for other pictures.
std::optional<float> ground_of_crop(const Plane& picture);

// The level of most pixels and of most of the border, as drawings and screenshots have it; negative
// when there is none.
float flat_level(const Plane& picture);

}  // namespace weft::data

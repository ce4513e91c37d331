// SPDX-License-Identifier: MIT
// Pictures of bodies: each is a point of light, lights add, and the sum is shown by its logarithm.
//
// A body's light is spread over the four nearest pixels (cloud in cell), blurred to a round spot,
// and surrounded by a faint glow. An asinh curve then shows single bodies and the crowded centres
// of galaxies in one picture, and keeps their colours.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/nbody/bodies.h"

namespace weft::models {

enum class BodyColour { speed, galaxy };  // slow red to fast blue; warm and cool by Bodies::group

// The view along the z axis, x to the right, y up. Fixed for a series of pictures, so that they
// flicker neither in place nor in brightness.
struct Camera {
  double x = 0, y = 0;    // in the middle of the picture
  double half_width = 1;  // from there to its edge
  double faint = 1;       // light of a pixel where the curve turns from linear to logarithmic
  double bright = 10;     // light of a pixel that is shown white
  double speed = 1;       // with the colour in the middle
};

struct PictureStyle {
  std::int64_t size = 768;  // pixels, both ways
  BodyColour colour = BodyColour::speed;
};

// Nearly all of the bodies in view and well exposed.
Camera fitted_camera(const Bodies& bodies, const PictureStyle& style);

// (size, size, 3): RGB, the top row first.
std::vector<std::uint8_t> draw_bodies(const Bodies& bodies, const Camera& camera,
                                      const PictureStyle& style);

std::string_view name_of(BodyColour colour);
BodyColour parse_body_colour(std::string_view name);  // throws data for an unknown one

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// A shape is where its signed distance, in pixels, is negative; an edge fades over one pixel. Only
// + - * / and square roots are used, so no mathematics library can change a bit of it.
#include "data/sets/shapes.h"

#include <algorithm>
#include <cmath>

#include "data/sets/drawn_set.h"

namespace weft::data {
namespace {

constexpr int kSide = 32;
constexpr const char* kShapes[] = {"disc", "ring", "square", "triangle", "cross"};

// The colour space of JPEG: brightness, and two differences of colour without brightness.
struct Colour {
  float y, cb, cr;
};

// Warm colours are red to yellow, cold ones green to blue.
Colour draw_colour(Draw& draw, bool warm, float brightness) {
  const float strength = draw.uniform(18, 38), turn = draw.uniform(-0.6f, 0.6f);
  const float main = strength / std::sqrt(1 + turn * turn);
  const float sign = warm ? 1.0f : -1.0f;
  // The axis from cold to warm is (-1, 1); `turn` leads away from it.
  return {brightness, sign * main * (turn - 0.7f), sign * main * (turn + 0.7f)};
}

// How far (x, y) is outside of a shape of about this radius around the origin.
float distance_to(int shape, float x, float y, float radius) {
  const float from_centre = std::sqrt(x * x + y * y);
  const auto box = [&](float wide, float high) {
    return std::max(std::fabs(x) - wide, std::fabs(y) - high);
  };
  switch (shape) {
    case 0:
      return from_centre - 0.95f * radius;
    case 1:
      return std::fabs(from_centre - 0.75f * radius) - 0.25f * radius;
    case 2:
      return box(0.8f * radius, 0.8f * radius);
    case 3: {
      constexpr float kSine = 0.8660254f;  // of 60 degrees
      const float sides = std::max(kSine * x - 0.5f * y, -kSine * x - 0.5f * y);
      return std::max(sides, y) - 0.55f * radius;
    }
    default:
      return std::min(box(radius, 0.3f * radius), box(0.3f * radius, radius));
  }
}

std::uint8_t byte_of(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
}

}  // namespace

void draw_shape(int label, std::uint64_t seed, std::uint64_t index, std::uint8_t* image) {
  Draw draw(seed, index);
  const int shape = label / 2;
  const bool warm = label % 2 == 0;
  // Light on dark or dark on light, as likely for warm shapes as for cold ones.
  const float dark = draw.uniform(90, 115), light = dark + draw.uniform(35, 65);
  const bool shines = draw.chance(0.5f);
  const Colour front = draw_colour(draw, warm, shines ? light : dark);
  const Colour back = draw_colour(draw, !warm, shines ? dark : light);
  const float radius = draw.uniform(7, 12);
  const float reach = 0.5f * static_cast<float>(kSide) - radius;
  const float centre = 0.5f * static_cast<float>(kSide - 1);
  const float centre_x = centre + draw.uniform(-reach, reach);
  const float centre_y = centre + draw.uniform(-reach, reach);
  const float turn = draw.uniform(-0.5f, 0.5f);  // the tangent of an angle
  const float cosine = 1 / std::sqrt(1 + turn * turn), sine = turn * cosine;
  const float slope_x = draw.uniform(-0.5f, 0.5f), slope_y = draw.uniform(-0.5f, 0.5f);  // of light
  const float grain = draw.uniform(1, 6);
  constexpr int kPlane = kSide * kSide;
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) {
      const float x = static_cast<float>(j) - centre_x, y = static_cast<float>(i) - centre_y;
      const float distance =
          distance_to(shape, cosine * x + sine * y, cosine * y - sine * x, radius);
      const float share = std::clamp(0.5f - distance, 0.0f, 1.0f);
      const auto blend = [share](float f, float b) { return b + share * (f - b); };
      const float lit = blend(front.y, back.y) + slope_x * (static_cast<float>(j) - centre) +
                        slope_y * (static_cast<float>(i) - centre) + draw.uniform(-grain, grain);
      const float cb = blend(front.cb, back.cb), cr = blend(front.cr, back.cr);
      std::uint8_t* pixel = image + i * kSide + j;
      pixel[0] = byte_of(lit + 1.402f * cr);
      pixel[kPlane] = byte_of(lit - 0.344136f * cb - 0.714136f * cr);
      pixel[2 * kPlane] = byte_of(lit + 1.772f * cb);
    }
  }
}

Dataset generate_shapes(const ShapesOptions& options) {
  Dataset dataset;
  dataset.name = "shapes";
  for (const char* shape : kShapes) {
    for (const char* temperature : {"warm ", "cold "}) {
      dataset.class_names.push_back(std::string(temperature) + shape);
    }
  }
  draw_sets(dataset, {.channels = 3, .height = kSide, .width = kSide}, options.train, options.test,
            options.seed, draw_shape);
  return dataset;
}

}  // namespace weft::data

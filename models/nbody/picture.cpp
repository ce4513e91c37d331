// SPDX-License-Identifier: MIT
#include "models/nbody/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/error.h"

namespace weft::models {
namespace {

using Colour = std::array<float, 3>;

constexpr Colour kGalaxyColours[] = {{1.0f, 0.62f, 0.28f}, {0.30f, 0.60f, 1.0f}};
constexpr Colour kSlow = {1.0f, 0.30f, 0.12f}, kMiddle = {1.0f, 0.74f, 0.44f};
constexpr Colour kFast = {0.36f, 0.58f, 1.0f};
constexpr Colour kSky = {0.016f, 0.022f, 0.043f};

// RGB light of a square of pixels.
struct Light {
  explicit Light(std::int64_t side)
      : size(side), values(static_cast<std::size_t>(3 * side * side)) {}
  float* row(std::int64_t y) { return values.data() + 3 * y * size; }
  const float* row(std::int64_t y) const { return values.data() + 3 * y * size; }

  std::int64_t size;
  std::vector<float> values;
};

Colour mixed(const Colour& a, const Colour& b, float share) {
  Colour out;
  for (std::size_t c = 0; c < 3; ++c) out[c] = a[c] + share * (b[c] - a[c]);
  return out;
}

Colour colour_of(const Bodies& bodies, std::size_t i, const Camera& camera, BodyColour by) {
  if (by == BodyColour::galaxy) return kGalaxyColours[bodies.group[i] > 0 ? 1 : 0];
  const double* v = bodies.velocity.data() + 4 * i;
  const double speed = std::hypot(v[0], v[1], v[2]) / camera.speed;
  const float place = static_cast<float>(std::min(speed, 2.0));
  return place < 1 ? mixed(kSlow, kMiddle, place) : mixed(kMiddle, kFast, place - 1);
}

void add_bodies(Light& light, const Bodies& bodies, const Camera& camera, BodyColour by) {
  const double half = 0.5 * static_cast<double>(light.size), scale = half / camera.half_width;
  for (std::size_t i = 0; i < bodies.group.size(); ++i) {
    const double* position = bodies.position.data() + 4 * i;
    const double x = half + (position[0] - camera.x) * scale - 0.5;
    const double y = half - (position[1] - camera.y) * scale - 0.5;
    const double last = static_cast<double>(light.size - 1);
    if (!(x >= 0 && x < last && y >= 0 && y < last)) continue;
    const std::int64_t column = static_cast<std::int64_t>(x), line = static_cast<std::int64_t>(y);
    const float right = static_cast<float>(x - static_cast<double>(column));
    const float low = static_cast<float>(y - static_cast<double>(line));
    const Colour colour = colour_of(bodies, i, camera, by);
    for (int corner = 0; corner < 4; ++corner) {
      const int dx = corner % 2, dy = corner / 2;
      const float share = (dx == 1 ? right : 1 - right) * (dy == 1 ? low : 1 - low);
      float* pixel = light.row(line + dy) + 3 * (column + dx);
      for (std::size_t c = 0; c < 3; ++c) pixel[c] += share * colour[c];
    }
  }
}

// Weighted sum of the rows above and below, then of the pixels left and right; weights[k] is for
// distance k. What lies outside is dark.
Light blurred(const Light& light, const std::vector<float>& weights) {
  const std::int64_t size = light.size, reach = static_cast<std::int64_t>(weights.size()) - 1;
  Light vertical(size), out(size);
#pragma omp parallel for schedule(static)
  for (std::int64_t y = 0; y < size; ++y) {
    float* to = vertical.row(y);
    for (std::int64_t d = -reach; d <= reach; ++d) {
      if (y + d < 0 || y + d >= size) continue;
      const float* from = light.row(y + d);
      const float weight = weights[static_cast<std::size_t>(std::abs(d))];
      for (std::int64_t x = 0; x < 3 * size; ++x) to[x] += weight * from[x];
    }
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t y = 0; y < size; ++y) {
    float* to = out.row(y);
    const float* from = vertical.row(y);
    for (std::int64_t d = -reach; d <= reach; ++d) {
      const float weight = weights[static_cast<std::size_t>(std::abs(d))];
      const std::int64_t begin = std::max<std::int64_t>(0, -3 * d);
      const std::int64_t end = std::min(3 * size, 3 * (size - d));
      for (std::int64_t x = begin; x < end; ++x) to[x] += weight * from[x + 3 * d];
    }
  }
  return out;
}

std::vector<float> gaussian(double sigma) {
  std::vector<double> weights;
  double sum = 0;
  for (int d = 0; d <= std::ceil(3 * sigma); ++d) {
    weights.push_back(std::exp(-0.5 * d * d / (sigma * sigma)));
    sum += (d == 0 ? 1 : 2) * weights.back();
  }
  std::vector<float> out;
  for (const double weight : weights) out.push_back(static_cast<float>(weight / sum));
  return out;
}

// Few bodies get large spots, many get fine ones.
double spot_sigma(std::int64_t bodies, std::int64_t size) {
  const double n = static_cast<double>(std::max<std::int64_t>(bodies, 1));
  return std::max(0.5,
                  static_cast<double>(size) / 768 * std::clamp(7 * std::pow(n, -0.2), 0.9, 4.0));
}

Light light_of(const Bodies& bodies, const Camera& camera, const PictureStyle& style) {
  Light points(style.size);
  add_bodies(points, bodies, camera, style.colour);
  const double sigma = spot_sigma(bodies.count(), style.size);
  Light light = blurred(points, gaussian(sigma));
  const Light glow = blurred(light, gaussian(6 * sigma));
  constexpr float kGlow = 1.5f;
  for (std::size_t i = 0; i < light.values.size(); ++i) light.values[i] += kGlow * glow.values[i];
  return light;
}

double percentile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<std::size_t>(place)];
}

double mean(const float* pixel) {
  return (double{pixel[0]} + double{pixel[1]} + double{pixel[2]}) / 3;
}

}  // namespace

Camera fitted_camera(const Bodies& bodies, const PictureStyle& style) {
  constexpr double kInView = 0.98, kMargin = 1.15;
  Camera camera;
  const MassSums sums = mass_sums(bodies);
  camera.x = sums.centre[0];
  camera.y = sums.centre[1];
  std::vector<double> offsets, speeds;
  for (std::size_t i = 0; i < bodies.group.size(); ++i) {
    const double *x = bodies.position.data() + 4 * i, *v = bodies.velocity.data() + 4 * i;
    offsets.push_back(std::max(std::fabs(x[0] - camera.x), std::fabs(x[1] - camera.y)));
    speeds.push_back(std::hypot(v[0], v[1], v[2]));
  }
  const double most = percentile(offsets, offsets.size() < 100 ? 1 : kInView);
  camera.half_width = std::min(kMargin * most, 3.2 * std::max(percentile(offsets, 0.5), most / 4));
  if (!(camera.half_width > 0)) camera.half_width = 1;
  camera.speed = percentile(speeds, 0.5);
  if (!(camera.speed > 0)) camera.speed = 1;

  const Light light = light_of(bodies, camera, style);
  const double sigma = spot_sigma(bodies.count(), style.size);
  const double spot = 0.5 / (2 * 3.14159 * sigma * sigma);  // the peak of one body
  std::vector<double> lit;
  for (std::int64_t y = 0; y < light.size; ++y) {
    for (std::int64_t x = 0; x < light.size; ++x) {
      const double value = mean(light.row(y) + 3 * x);
      if (value > 0.5 * spot) lit.push_back(value);
    }
  }
  camera.faint = 0.5 * std::max(percentile(lit, 0.5), spot);
  camera.bright = std::max(1.3 * percentile(lit, 0.999), 2 * camera.faint);
  return camera;
}

std::vector<std::uint8_t> draw_bodies(const Bodies& bodies, const Camera& camera,
                                      const PictureStyle& style) {
  if (style.size < 1) throw Error(ErrorKind::usage, "draw_bodies: the picture has no pixels");
  const Light light = light_of(bodies, camera, style);
  const double whole = std::asinh(camera.bright / camera.faint);
  std::vector<std::uint8_t> out(light.values.size());
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < style.size * style.size; ++i) {
    const float* pixel = light.values.data() + 3 * i;
    const double value = mean(pixel);
    const double shown = std::asinh(value / camera.faint) / whole;
    Colour colour = kSky;
    for (std::size_t c = 0; c < 3; ++c) {
      if (value > 0) colour[c] += static_cast<float>(shown * double{pixel[c]} / value);
    }
    // What is too bright for its colour goes to white, not to another hue.
    const float most = std::max({colour[0], colour[1], colour[2]});
    const float grey = std::min(1.0f, static_cast<float>(shown));
    for (std::size_t c = 0; c < 3; ++c) {
      if (most > 1) colour[c] = grey + (colour[c] - grey) * (1 - grey) / (most - grey + 1e-6f);
      out[3 * static_cast<std::size_t>(i) + c] =
          static_cast<std::uint8_t>(255 * std::clamp(colour[c], 0.0f, 1.0f) + 0.5f);
    }
  }
  return out;
}

std::string_view name_of(BodyColour colour) {
  return colour == BodyColour::speed ? "speed" : "galaxy";
}

BodyColour parse_body_colour(std::string_view name) {
  for (const BodyColour colour : {BodyColour::speed, BodyColour::galaxy}) {
    if (name == name_of(colour)) return colour;
  }
  throw Error(ErrorKind::data, str("expected the colour speed or galaxy, found ", name));
}

}  // namespace weft::models

// SPDX-License-Identifier: MIT
#include "models/nbody/orbits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>

namespace weft::models {
namespace {

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
double length(const Vector& a) {
  return std::hypot(a[0], a[1], a[2]);
}
Vector difference(const std::vector<double>& of, std::size_t a, std::size_t b) {
  return {of[4 * a] - of[4 * b], of[4 * a + 1] - of[4 * b + 1], of[4 * a + 2] - of[4 * b + 2]};
}

double degrees(double radians) {
  const double turned = radians * 180 / std::numbers::pi;
  return turned < 0 ? turned + 360 : turned;
}

// The angle from a to b, seen from the side that `normal` points to.
double angle(const Vector& a, const Vector& b, const Vector& normal) {
  return degrees(std::atan2(dot(normal, cross(a, b)) / length(normal), dot(a, b)));
}

// r and v: of a body beside the heaviest one; mu: G times both masses.
Orbit orbit_of(const Vector& r, const Vector& v, double mu) {
  constexpr double kNone = 1e-11;  // of an angle or an eccentricity: below it a direction is noise
  Orbit orbit;
  const double distance = length(r), speed2 = dot(v, v);
  const Vector spin = cross(r, v);
  Vector shape{};  // of length e, towards the periapsis
  const Vector lead = cross(v, spin);
  for (std::size_t axis = 0; axis < 3; ++axis) shape[axis] = lead[axis] / mu - r[axis] / distance;
  orbit.eccentricity = length(shape);
  const double energy = speed2 / 2 - mu / distance;
  orbit.semi_major = std::fabs(energy) < kNone * mu / distance ? HUGE_VAL : -mu / (2 * energy);
  orbit.period = orbit.semi_major > 0 && std::isfinite(orbit.semi_major)
                     ? 2 * std::numbers::pi * std::sqrt(std::pow(orbit.semi_major, 3) / mu)
                     : HUGE_VAL;
  const double in_plane = length({spin[0], spin[1], 0});
  orbit.inclination = degrees(std::atan2(in_plane, spin[2]));
  Vector node = {-spin[1], spin[0], 0};
  if (in_plane <= kNone * length(spin)) {
    node = {1, 0, 0};
  } else {
    orbit.node = degrees(std::atan2(node[1], node[0]));
  }
  if (orbit.eccentricity > kNone) {
    orbit.periapsis = angle(node, shape, spin);
    orbit.anomaly = angle(shape, r, spin);
  } else {
    orbit.anomaly = angle(node, r, spin);
  }
  return orbit;
}

}  // namespace

std::int64_t heaviest(const Bodies& bodies) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < bodies.count(); ++i) {
    const auto mass = [&](std::int64_t of) {
      return bodies.position[static_cast<std::size_t>(4 * of + 3)];
    };
    if (mass(i) > mass(best)) best = i;
  }
  return best;
}

std::vector<Orbit> orbits_of(const Bodies& bodies, double gravity) {
  std::vector<Orbit> orbits;
  const std::int64_t n = bodies.count();
  if (n < 2 || n > kMostOrbits) return orbits;
  const auto centre = static_cast<std::size_t>(heaviest(bodies));
  const double mass = bodies.position[4 * centre + 3];
  if (!(mass > 0)) return orbits;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    const Vector r = difference(bodies.position, i, centre);
    const Vector v = difference(bodies.velocity, i, centre);
    // A body that falls straight down has no plane.
    if (i == centre || length(r) == 0 || length(cross(r, v)) == 0) continue;
    orbits.push_back(orbit_of(r, v, gravity * (mass + bodies.position[4 * i + 3])));
    orbits.back().body = static_cast<std::int64_t>(i);
  }
  return orbits;
}

std::string orbits_csv(const std::vector<Orbit>& orbits) {
  std::string text = "id,semi_major,eccentricity,inclination,node,periapsis,anomaly,period\n";
  for (const Orbit& orbit : orbits) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", orbit.body,
                   orbit.semi_major, orbit.eccentricity, orbit.inclination, orbit.node,
                   orbit.periapsis, orbit.anomaly, orbit.period);
  }
  return text;
}

}  // namespace weft::models

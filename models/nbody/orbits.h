// SPDX-License-Identifier: MIT
// Orbital elements: the conic on which a body would go around the heaviest one, if these two were
// alone (Murray and Dermott, Solar System Dynamics, section 2.8).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/nbody/bodies.h"

namespace weft::models {

inline constexpr std::int64_t kMostOrbits = 64;  // bodies of which elements are told

// Angles are in degrees, 0 to 360, and the inclination 0 to 180. The reference plane is x y, and
// its direction x. Without an inclination the node is 0, and on a circle the periapsis is at the
// node.
struct Orbit {
  std::int64_t body = 0;  // its row in the file of the start, from 0
  double semi_major = 0;  // negative: it leaves (a hyperbola); infinite: a parabola
  double eccentricity = 0;
  double inclination = 0, node = 0, periapsis = 0, anomaly = 0;  // the true anomaly
  double period = 0;                                             // infinite where it leaves
};

// All bodies but the heaviest have one, the first of equals. There are none for fewer than two or
// more than kMostOrbits bodies, around one without mass, and for bodies that are at its place or
// fall straight to it.
std::vector<Orbit> orbits_of(const Bodies& bodies, double gravity);
// The row of the body around which they go.
std::int64_t heaviest(const Bodies& bodies);
// A line each with their names on top, for other programs.
std::string orbits_csv(const std::vector<Orbit>& orbits);

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// Initial conditions drawn at random: a star cluster in equilibrium, and two galaxies that collide.
//
// A body depends on the seed and its index alone. All bodies have the same mass unless said
// otherwise, and the centre of mass rests at the origin.
#pragma once

#include <cstdint>

#include "models/nbody/bodies.h"

namespace weft::models {

// Plummer's sphere (Plummer 1911), density ~ (1 + r^2/a^2)^(-5/2), sampled as in the appendix of
// Aarseth, Henon and Wielen, "A comparison of numerical methods for the study of star cluster
// dynamics", Astronomy and Astrophysics 37 (1974): the radius from the mass within it, the speed by
// rejection from the distribution function, both in random directions. The outermost 0.1 % of the
// mass, which lies beyond 38 a, is left out. Half of the mass lies within 1.305 a.
//
// The default a is that of Henon's units (G = M = 1, total energy -1/4), in which a crossing takes
// 2 sqrt(2).
struct PlummerOptions {
  double mass = 1, gravity = 1;
  double radius = 0.5890486225480862;  // a = 3 pi / 16
};
Bodies plummer_sphere(std::int64_t n, std::uint64_t seed, const PlummerOptions& options = {});

// A disc galaxy: a bulge, which is a Plummer sphere with isotropic velocities, and an exponential
// disc, surface density ~ exp(-r / length) out to 5 lengths, height ~ sech^2(z / height).
//
// Disc bodies circle at v_c(r)^2 = G M(r) / r, with M(r) the mass of bulge and disc within r as if
// the disc were spherical too. To that come random velocities with Toomre's Q = 3.36 G Sigma /
// (kappa sigma_r) at `toomre`, which keeps the disc from breaking up; sigma_phi = sigma_r kappa /
// (2 Omega); sigma_z^2 = pi G Sigma height. Speeds in the bulge are raised by sqrt(M(r) /
// M_bulge(r)). All this is near equilibrium, not in it: a lone galaxy rings for a turn, then it
// lives quietly.
struct GalaxyOptions {
  double mass = 1;
  double bulge_share = 0.45;  // of the mass
  double bulge_radius = 0.2, length = 0.45, height = 0.04;
  double toomre = 1.2;
  double inclination = 0, node = 0;  // of the disc to the xy plane, about which axis; degrees
};

// Two galaxies on a Kepler orbit in the xy plane that has eccentricity 1 (a parabola) or less, from
// `distance` to `pericentre`. Bodies are dealt out by mass; group 0 and 1 tell them apart.
struct CollisionOptions {
  double gravity = 1;
  double distance = 3.2, pericentre = 0.7, eccentricity = 0.9;
  GalaxyOptions first{}, second{};
};
CollisionOptions default_collision();
Bodies colliding_galaxies(std::int64_t n, std::uint64_t seed,
                          const CollisionOptions& options = default_collision());

}  // namespace weft::models

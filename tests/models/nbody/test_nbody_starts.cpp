// SPDX-License-Identifier: MIT
// Initial conditions against what their models say.
#include "models/nbody/starts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "models/nbody/simulation.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using test::throws;

constexpr double kUnitRadius = 0.5890486225480862;  // a in Henon's units

double radius(const double* x) {
  return std::hypot(x[0], x[1], x[2]);
}

// The radius that holds `part` of the bodies.
double radius_of(const Bodies& bodies, double part) {
  std::vector<double> radii;
  for (std::size_t i = 0; i < bodies.position.size(); i += 4) {
    radii.push_back(radius(bodies.position.data() + i));
  }
  std::sort(radii.begin(), radii.end());
  return radii[static_cast<std::size_t>(part * static_cast<double>(radii.size()))];
}

kernels::NbodyTotals totals_of(const Bodies& bodies) {
  return NbodySimulation(bodies, {0.01, {.softening = 1e-3}}, Stream(Device::cpu())).totals();
}

TEST(Plummer, IsInEquilibriumInHenonsUnits) {
  const Bodies bodies = plummer_sphere(8192, 1);
  const kernels::NbodyTotals totals = totals_of(bodies);
  EXPECT_NEAR(virial_ratio(totals), 1, 0.03);
  EXPECT_NEAR(totals.energy(), -0.25, 0.01);
  const MassSums sums = mass_sums(bodies);
  EXPECT_NEAR(sums.mass, 1, 1e-6);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(sums.centre[axis], 0, 1e-7);
    EXPECT_NEAR(sums.velocity[axis], 0, 1e-7);
  }
}

// Half of the mass within 1.305 a; m(r) = r^3 / (r^2 + a^2)^(3/2) gives the others.
TEST(Plummer, HasItsMassWhereItShould) {
  for (const double a : {1.0, 2.5}) {
    const Bodies bodies = plummer_sphere(20000, 7, {.radius = a});
    EXPECT_NEAR(radius_of(bodies, 0.5) / a, 1.305, 0.04);
    EXPECT_NEAR(radius_of(bodies, 0.1) / a, 0.524, 0.03);
    EXPECT_NEAR(radius_of(bodies, 0.9) / a, 3.71, 0.2);
  }
}

TEST(Plummer, SpeedsFollowTheDistributionFunction) {
  // Within the sphere <v^2> = G M / (2 a) (1 + r^2/a^2)^(-1/2), and no body escapes.
  const Bodies bodies = plummer_sphere(20000, 3);
  double share = 0;
  for (std::size_t i = 0; i < bodies.position.size(); i += 4) {
    const double r = radius(bodies.position.data() + i) / kUnitRadius;
    const double v2 = std::pow(radius(bodies.velocity.data() + i), 2);
    const double depth = 1 / (kUnitRadius * std::sqrt(1 + r * r));
    EXPECT_LE(v2, 2.01 * depth);
    share += v2 / (0.5 * depth);
  }
  EXPECT_NEAR(share / 20000, 1, 0.02);
}

TEST(Plummer, DependsOnTheSeedAloneAndScales) {
  const Bodies a = plummer_sphere(100, 1);
  EXPECT_EQ(a.position, plummer_sphere(100, 1).position);
  EXPECT_NE(a.position, plummer_sphere(100, 2).position);
  const double before = virial_ratio(totals_of(a));
  const Bodies heavy = plummer_sphere(100, 1, {.mass = 3, .gravity = 1});
  EXPECT_NEAR(virial_ratio(totals_of(heavy)), before, 1e-3);
}

// Two of the innermost bodies, whose radius the last bits of a random number move most. Without
// half of its bits it would be off by 1e-6.
TEST(Plummer, ASeedGoesOnGivingTheSameBodies) {
  const Bodies bodies = plummer_sphere(20000, 7);
  const auto expect_body = [&](std::size_t index, const std::array<double, 3>& position) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(bodies.position[4 * index + axis], position[axis], 1e-7) << index;
    }
  };
  expect_body(2813, {-0.0246966444, 0.0375242494, -0.0185281057});
  expect_body(17193, {-0.0335061066, 0.0150356842, 0.0242956448});
}

TEST(Galaxies, ComeInTwoThatMeetOnAParabola) {
  CollisionOptions options = default_collision();
  options.eccentricity = 1;
  const Bodies bodies = colliding_galaxies(6000, 1, options);
  EXPECT_EQ(std::count(bodies.group.begin(), bodies.group.end(), 0.0f), 4000);
  EXPECT_EQ(std::count(bodies.group.begin(), bodies.group.end(), 1.0f), 2000);
  Bodies parts[2] = {Bodies(4000), Bodies(2000)};
  for (int g = 0; g < 2; ++g) {
    const std::ptrdiff_t begin = g == 0 ? 0 : 4 * 4000, count = 4 * parts[g].count();
    std::copy_n(bodies.position.begin() + begin, count, parts[g].position.begin());
    std::copy_n(bodies.velocity.begin() + begin, count, parts[g].velocity.begin());
  }
  const MassSums first = mass_sums(parts[0]), second = mass_sums(parts[1]);
  EXPECT_NEAR(first.mass, 1, 1e-4);
  EXPECT_NEAR(second.mass, 0.5, 1e-4);
  double distance2 = 0, speed2 = 0, approach = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double x = second.centre[axis] - first.centre[axis];
    const double v = second.velocity[axis] - first.velocity[axis];
    distance2 += x * x, speed2 += v * v, approach += x * v;
  }
  EXPECT_NEAR(std::sqrt(distance2), options.distance, 0.05);
  EXPECT_NEAR(speed2, 2 * 1.5 / options.distance, 0.1);  // escape speed: energy 0
  EXPECT_LT(approach, -0.5);
}

// About its own centre a galaxy turns in the plane of its disc.
TEST(Galaxies, AreTippedByTheirInclinations) {
  const CollisionOptions options = default_collision();
  const Bodies bodies = colliding_galaxies(6000, 1, options);
  const auto tip = [&](float group) {
    Bodies galaxy(std::count(bodies.group.begin(), bodies.group.end(), group));
    std::size_t to = 0;
    for (std::size_t i = 0; i < bodies.group.size(); ++i) {
      if (bodies.group[i] != group) continue;
      std::copy_n(&bodies.position[4 * i], 4, &galaxy.position[to]);
      std::copy_n(&bodies.velocity[4 * i], 4, &galaxy.velocity[to]);
      to += 4;
    }
    centre(galaxy);
    const kernels::NbodyTotals totals = totals_of(galaxy);
    const double* spin = totals.angular_momentum;
    return std::acos(spin[2] / std::hypot(spin[0], spin[1], spin[2])) * 180 / std::numbers::pi;
  };
  EXPECT_NEAR(tip(0), 25, 2);
  EXPECT_NEAR(tip(1), 60, 2);
}

// A lone galaxy stays what it is: near virial equilibrium, and its disc thin and turning.
TEST(Galaxies, ALoneOneIsNearEquilibriumAndTurns) {
  CollisionOptions options;
  options.first.mass = 1;
  options.second.mass = 1e-9;
  options.distance = 1000;
  options.pericentre = 500;
  const Bodies bodies = colliding_galaxies(8000, 3, options);
  const kernels::NbodyTotals totals = totals_of(bodies);
  EXPECT_NEAR(virial_ratio(totals), 1, 0.12);
  EXPECT_GT(totals.angular_momentum[2], 0.1);
  const double half = radius_of(bodies, 0.5);
  NbodySimulation simulation(bodies, {0.025, {.softening = 0.03}}, Stream(Device::cpu()));
  simulation.advance(100);
  EXPECT_NEAR(radius_of(simulation.bodies(), 0.5) / half, 1, 0.15);
}

TEST(Starts, RefuseImpossibleOnes) {
  EXPECT_TRUE(throws(ErrorKind::usage, "found 0", [] { plummer_sphere(0, 1); }));
  EXPECT_TRUE(throws(ErrorKind::usage, "found -1", [] { colliding_galaxies(-1, 1); }));
  CollisionOptions hyperbola = default_collision();
  hyperbola.eccentricity = 2;
  EXPECT_TRUE(
      throws(ErrorKind::usage, "eccentricity", [&] { colliding_galaxies(10, 1, hyperbola); }));
  EXPECT_EQ(plummer_sphere(1, 1).count(), 1);
  EXPECT_EQ(colliding_galaxies(1, 1).count(), 1);
}

}  // namespace
}  // namespace weft::models

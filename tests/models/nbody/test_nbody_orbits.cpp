// SPDX-License-Identifier: MIT
// Orbital elements of known orbits, and the units that bodies are in.
#include "models/nbody/orbits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "models/nbody/units.h"

namespace weft::models {
namespace {

// A heavy body at a place of its own, and one on the conic with these elements around it.
Bodies on_orbit(const Orbit& of, double mu) {
  const auto radians = [](double degrees) { return degrees * std::numbers::pi / 180; };
  const double e = of.eccentricity, p = of.semi_major * (1 - e * e), f = radians(of.anomaly);
  const double r = p / (1 + e * std::cos(f)), speed = std::sqrt(mu / p);
  const double plane[2][2] = {{r * std::cos(f), r * std::sin(f)},
                              {-speed * std::sin(f), speed * (e + std::cos(f))}};
  const double w = radians(of.periapsis), i = radians(of.inclination), n = radians(of.node);
  Bodies bodies(2);
  bodies.position[3] = mu;
  const double at[3] = {1, -2, 3};
  for (int what = 0; what < 2; ++what) {
    const double x = plane[what][0] * std::cos(w) - plane[what][1] * std::sin(w);
    const double y = plane[what][0] * std::sin(w) + plane[what][1] * std::cos(w);
    const double turned[3] = {x * std::cos(n) - y * std::cos(i) * std::sin(n),
                              x * std::sin(n) + y * std::cos(i) * std::cos(n), y * std::sin(i)};
    for (int axis = 0; axis < 3; ++axis) {
      auto& values = what == 0 ? bodies.position : bodies.velocity;
      values[static_cast<std::size_t>(axis)] = at[axis];
      values[static_cast<std::size_t>(4 + axis)] = at[axis] + turned[axis];
    }
  }
  return bodies;
}

TEST(Orbits, ElementsComeBack) {
  const double mu = 2.5;
  for (const Orbit& wanted :
       {Orbit{1, 3, 0.4, 30, 70, 200, 123}, Orbit{1, 1, 0.01, 150, 300, 10, 350},
        Orbit{1, -2, 1.7, 60, 20, 40, 30}, Orbit{1, 5, 0.9, 90, 0, 0, 180}}) {
    const std::vector<Orbit> found = orbits_of(on_orbit(wanted, mu), 1);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].body, 1);
    EXPECT_NEAR(found[0].semi_major, wanted.semi_major, 1e-9);
    EXPECT_NEAR(found[0].eccentricity, wanted.eccentricity, 1e-9);
    EXPECT_NEAR(found[0].inclination, wanted.inclination, 1e-7);
    const auto near = [](double a, double b) {  // 359.9999999 is near 0
      return std::fabs(std::remainder(a - b, 360)) < 1e-7;
    };
    EXPECT_TRUE(near(found[0].node, wanted.node)) << found[0].node;
    EXPECT_TRUE(near(found[0].periapsis, wanted.periapsis)) << found[0].periapsis;
    EXPECT_TRUE(near(found[0].anomaly, wanted.anomaly)) << found[0].anomaly;
    if (wanted.semi_major > 0) {
      const double period = 2 * std::numbers::pi * std::sqrt(std::pow(wanted.semi_major, 3) / mu);
      EXPECT_NEAR(found[0].period, period, 1e-9 * period);
    } else {
      EXPECT_EQ(found[0].period, HUGE_VAL);
    }
  }
}

TEST(Orbits, ACircleInThePlaneHasItsAnomalyFromX) {
  Bodies bodies(2);
  bodies.position = {0, 0, 0, 1, 0, 2, 0, 0};
  bodies.velocity = {0, 0, 0, 0, -std::sqrt(0.5), 0, 0, 0};
  const std::vector<Orbit> found = orbits_of(bodies, 1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NEAR(found[0].semi_major, 2, 1e-12);
  EXPECT_NEAR(found[0].eccentricity, 0, 1e-12);
  EXPECT_EQ(found[0].node, 0);
  EXPECT_NEAR(found[0].anomaly, 90, 1e-9);
  // A parabola: the speed to get away.
  bodies.velocity[4] = -1;
  EXPECT_EQ(orbits_of(bodies, 1)[0].semi_major, HUGE_VAL);
  EXPECT_NEAR(orbits_of(bodies, 1)[0].eccentricity, 1, 1e-12);
}

TEST(Orbits, NoneWhereThereAreNone) {
  EXPECT_TRUE(orbits_of(Bodies(1), 1).empty());
  EXPECT_TRUE(orbits_of(Bodies(3), 1).empty()) << "no body has a mass";
  Bodies falling(2);
  falling.position = {0, 0, 0, 1, 1, 0, 0, 0};
  EXPECT_TRUE(orbits_of(falling, 1).empty()) << "it has no plane";
  Bodies many(kMostOrbits + 1);
  many.position[3] = 1;
  EXPECT_TRUE(orbits_of(many, 1).empty());
  EXPECT_EQ(orbits_csv({}),
            "id,semi_major,eccentricity,inclination,node,periapsis,anomaly,period\n");
}

TEST(Units, TheEarthTakesAYearInEach) {
  for (const Units& of : units()) {
    if (of.name == "natural") continue;
    const bool si = of.name == "si";
    const double mass = si ? 1.98841e30 : 1, distance = si ? 149597870700.0 : 1;
    const double year = si ? 365.25 * 86400 : 1;
    const double period =
        2 * std::numbers::pi * std::sqrt(distance * distance * distance / (of.gravity * mass));
    EXPECT_NEAR(period / year, 1.0000174, 1e-4) << of.name;
  }
}

}  // namespace
}  // namespace weft::models

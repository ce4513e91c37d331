// SPDX-License-Identifier: MIT
// The physics: orbits with known answers, what the motion conserves, and the order of the leapfrog.
#include "models/nbody/simulation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "models/nbody/starts.h"
#include "tests/support/device_test.h"
#include "tests/support/folder.h"
#include "tests/support/small.h"

namespace weft::models {
namespace {

using test::throws;

// Two bodies of masses 1 and 3 that circle their centre of mass in the xy plane; the relative orbit
// has semi-major axis 1 and starts at its far end. G = 1, so that the period is 2 pi / sqrt(4) =
// pi.
constexpr double kPeriod = std::numbers::pi;

Bodies kepler(double eccentricity) {
  Bodies bodies(2);
  const double distance = 1 + eccentricity;
  const double speed = std::sqrt(4 * (1 - eccentricity) / (1 + eccentricity));
  bodies.position = {-0.75 * distance, 0, 0, 1, 0.25 * distance, 0, 0, 3};
  bodies.velocity = {0, -0.75 * speed, 0, 0, 0, 0.25 * speed, 0, 0};
  return bodies;
}

NbodyStep step_of(double dt, double softening = 1e-4) {
  return {dt, {.softening = softening}};
}

double distance(const Bodies& a, const Bodies& b) {
  double worst = 0;
  EXPECT_EQ(a.position.size(), b.position.size());
  for (std::size_t i = 0; i < std::min(a.position.size(), b.position.size()); ++i) {
    const double difference = std::fabs(a.position[i] - b.position[i]);
    if (!(difference <= worst)) worst = difference;  // NaN stays
  }
  return worst;
}

class Simulation : public test::DeviceTest {
 protected:
  // How far the bodies are from where they began after one period of an eccentric orbit.
  double error_after_a_period(int steps) const {
    const Bodies start = kepler(0.5);
    NbodySimulation simulation(start, step_of(kPeriod / steps), stream());
    simulation.advance(steps);
    return distance(simulation.bodies(), start);
  }
};

TEST_P(Simulation, AKeplerOrbitKeepsItsEnergyAndReturns) {
  const Bodies start = kepler(0.3);
  const MassSums sums = mass_sums(start);
  NbodySimulation simulation(start, step_of(kPeriod / 2000), stream());
  const kernels::NbodyTotals before = simulation.totals();
  // E = -G m1 m2 / 2a
  EXPECT_NEAR(before.energy(), -1.5, 1e-5);
  for (int quarter = 0; quarter < 4; ++quarter) {
    simulation.advance(500);
    EXPECT_LE(std::fabs(drift(before, simulation.totals(), sums).energy), 2e-5) << quarter;
  }
  EXPECT_LE(distance(simulation.bodies(), start), 2e-4);
  // Halfway it was somewhere else: the test above can fail.
  NbodySimulation half(start, step_of(kPeriod / 2000), stream());
  half.advance(1000);
  EXPECT_GE(distance(half.bodies(), start), 0.5);
}

TEST_P(Simulation, LeapfrogIsOfSecondOrder) {
  const double coarse = error_after_a_period(200), fine = error_after_a_period(400);
  EXPECT_GE(coarse, 1e-3);  // far above rounding
  EXPECT_GE(coarse / fine, 3.6);
  EXPECT_LE(coarse / fine, 4.4);
}

TEST_P(Simulation, GoesBackTheWayItCame) {
  const Bodies start = plummer_sphere(300, 5);
  NbodySimulation forth(start, step_of(0.01, 0.05), stream());
  forth.advance(100);
  const Bodies there = forth.bodies();
  EXPECT_GE(distance(there, start), 0.1);
  NbodySimulation back(there, step_of(-0.01, 0.05), stream());
  back.advance(100);
  EXPECT_LE(distance(back.bodies(), start), 1e-4);
}

TEST_P(Simulation, MomentumIsKeptToRoundingAndEnergyNearly) {
  const std::int64_t n = test::small_tests() ? 200 : 1500;
  for (const bool galaxies : {false, true}) {
    const Bodies start = galaxies ? colliding_galaxies(n, 2) : plummer_sphere(n, 2);
    const MassSums sums = mass_sums(start);
    NbodySimulation simulation(start, step_of(0.01, 0.05), stream());
    const kernels::NbodyTotals before = simulation.totals();
    simulation.advance(100);
    const NbodyDrift moved = drift(before, simulation.totals(), sums);
    EXPECT_LE(moved.momentum, 1e-6);
    EXPECT_LE(moved.angular_momentum, 1e-6);
    EXPECT_LE(std::fabs(moved.energy), 1e-3);
  }
}

TEST_P(Simulation, StepsMayBeDividedAnyWay) {
  for (const std::int64_t n : {64, 700}) {
    const Bodies start = plummer_sphere(n, 3);
    NbodySimulation whole(start, step_of(0.01), stream());
    whole.advance(20);
    NbodySimulation first(start, step_of(0.01), stream());
    first.advance(3);
    static_cast<void>(first.totals());
    first.advance(6);
    NbodySimulation second(first.bodies(), step_of(0.01), stream());
    second.advance(11);
    EXPECT_EQ(whole.bodies().position, second.bodies().position);
    EXPECT_EQ(whole.bodies().velocity, second.bodies().velocity);
    EXPECT_NE(whole.bodies().position, start.position);
  }
}

TEST_P(Simulation, EveryKernelMovesTheBodiesAlike) {
  const Bodies start = plummer_sphere(500, 4);
  NbodySimulation reference(start, step_of(0.01), stream());
  reference.advance(5);
  EXPECT_TRUE(forces_in_double({}, 64));
  for (const kernels::Rung& rung : kernels::nbody_rungs()) {
    EXPECT_FALSE(forces_in_double({.variant = rung.name}, 2)) << "what is named is what runs";
    if (!kernels::nbody_takes(rung.name, {500}, device())) continue;
    NbodyStep step = step_of(0.01);
    step.force.variant = rung.name;
    NbodySimulation simulation(start, step, stream());
    simulation.advance(5);
    EXPECT_LE(distance(simulation.bodies(), reference.bodies()), 1e-5) << rung.name;
  }
}

// The earth around the sun in astronomical units, years and solar masses, and so many bodies
// without mass far away.
Bodies sun_and_earth(std::int64_t others) {
  Bodies bodies(2 + others);
  const double mass = 3.003e-6, speed = 2 * std::numbers::pi;
  bodies.position[3] = 1;
  bodies.velocity[1] = -mass * speed;
  bodies.position[4] = 1;
  bodies.position[7] = mass;
  bodies.velocity[5] = speed;
  for (std::int64_t i = 2; i < bodies.count(); ++i) {
    bodies.position[static_cast<std::size_t>(4 * i)] = 100 + static_cast<double>(i);
  }
  return bodies;
}

// A path so small that fp32 does not see its steps, for every number of bodies.
TEST_P(Simulation, AFreeBodyGoesWhereItsSpeedLeads) {
  for (const std::int64_t n : {1, 65}) {
    Bodies start(n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      start.position[4 * i] = 1000;
      start.velocity[4 * i] = 1;
    }
    const MassSums sums = mass_sums(start);
    NbodySimulation simulation(start, step_of(1e-5), stream());
    const int steps = test::small_tests() ? 10 : 1000;
    simulation.advance(steps);
    const Bodies end = simulation.bodies();
    EXPECT_NEAR(end.position[0], 1000 + 1e-5 * steps, 1e-10) << n;
    const CentreMotion centre = centre_motion(sums, mass_sums(end).centre, 1e-5 * steps);
    EXPECT_NEAR(centre.moved, 1e-5 * steps, 1e-10) << n;
    EXPECT_LE(centre.off, 1e-10) << n;
  }
}

// Rounding does not rule, so the drift does not grow when the step gets shorter: with forces in
// fp32, where it is theirs, and in double, where it is that of the method.
TEST_P(Simulation, ACircleKeepsItsEnergyAtEveryStep) {
  const bool small = test::small_tests() || built_for_host_cuda();
  for (const bool in_double : {true, false}) {
    const Bodies start = sun_and_earth(in_double ? 0 : 63);
    const MassSums sums = mass_sums(start);
    for (const int parts : {1, 2, 4}) {
      const kernels::NbodyOptions force{.softening = 1e-6,
                                        .gravity = 4 * std::numbers::pi * std::numbers::pi};
      ASSERT_EQ(forces_in_double(force, start.count()), in_double);
      NbodySimulation simulation(start, {0.001 / parts, force}, stream());
      const kernels::NbodyTotals before = simulation.totals();
      double worst = 0;
      for (int sample = 0; sample < 20; ++sample) {
        simulation.advance(small ? 5 * parts : 500 * parts);
        const double moved = std::fabs(drift(before, simulation.totals(), sums).energy);
        if (!(moved <= worst)) worst = moved;  // NaN stays
      }
      EXPECT_LE(worst, in_double ? 1e-9 : 2e-7) << "dt 0.001 / " << parts;
      EXPECT_GT(worst, 1e-16) << "nothing was measured";
    }
  }
}

TEST(CentreMotion, IsAgainstAStraightLine) {
  MassSums start;
  start.centre[0] = 1;
  start.velocity[1] = 2;
  const CentreMotion motion = centre_motion(start, {1, 6, 4}, 3);
  EXPECT_DOUBLE_EQ(motion.moved, std::sqrt(36 + 16));
  EXPECT_DOUBLE_EQ(motion.off, 4);
}

TEST_P(Simulation, SuggestionsSuitTwoBodies) {
  const Bodies start = kepler(0);
  const double softening = suggested_softening(start);
  EXPECT_GT(softening, 1e-3);
  EXPECT_LT(softening, 0.1);
  const double dt = suggested_dt(start, {.softening = softening}, stream());
  EXPECT_GT(dt, 1e-3);
  EXPECT_LT(dt, kPeriod / 50);
  Bodies massless = start;
  massless.position[3] = massless.position[7] = 0;
  const double free = suggested_dt(massless, {.softening = softening}, stream());
  EXPECT_GT(free, 1e-4);
  EXPECT_LT(free, 0.1);
}

TEST_P(Simulation, SuggestedStepsFollowTheStrongestPull) {
  // 3 / 2.25 on the lighter of two bodies 1.5 apart, along x; the softening takes 1e-4 of it.
  const double softening = 0.01;
  const kernels::NbodyOptions force{.softening = softening};
  const double dt = suggested_dt(kepler(0.5), force, stream());
  EXPECT_NEAR(dt / std::sqrt(softening / (20 * 3 / 2.25)), 1, 1e-3);
  // Bodies without mass that rest, and one that moves alone.
  EXPECT_EQ(suggested_dt(Bodies(1), force, stream()), 0.01);
  EXPECT_EQ(suggested_dt(Bodies(5), force, stream()), 0.01);
  Bodies alone(1);
  alone.velocity[0] = 3;
  EXPECT_EQ(suggested_dt(alone, force, stream()), 0.01);
}

// The snippet of models/nbody/README.md.
TEST(NbodyPage, ItsExampleRuns) {
  const test::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const weft::Stream stream(weft::parse_device("auto"));
  const weft::models::Bodies cluster = weft::models::plummer_sphere(4096, /*seed=*/1);
  weft::models::NbodySimulation simulation(cluster, {.dt = 0.01, .force = {.softening = 0.02}},
                                           stream);
  simulation.advance(10);
  weft::models::write_bodies("later.npy", simulation.bodies());
  std::filesystem::current_path(before);
  EXPECT_EQ(read_bodies(folder.path() / "later.npy").count(), 4096);
}

TEST_P(Simulation, RefusesWhatCannotBeComputed) {
  const Bodies good = kepler(0);
  Bodies uneven = good;
  uneven.velocity.pop_back();
  const auto build = [&](const Bodies& bodies, const NbodyStep& step) {
    return [&] { NbodySimulation(bodies, step, stream()); };
  };
  EXPECT_TRUE(throws(ErrorKind::usage, "n > 0 bodies", build({}, step_of(0.1))));
  EXPECT_TRUE(throws(ErrorKind::usage, "4 n velocities", build(uneven, step_of(0.1))));
  EXPECT_TRUE(throws(ErrorKind::usage, "dt", build(good, step_of(std::nan("")))));
  EXPECT_TRUE(throws(ErrorKind::usage, "softening", build(good, step_of(0.1, 1e-13))));
  Bodies heavy = good;
  heavy.position[3] = 1e30;
  EXPECT_TRUE(throws(ErrorKind::usage, "overflows", build(heavy, step_of(0.1, 1e-4))));
}

WEFT_ON_EACH_DEVICE(Simulation);

}  // namespace
}  // namespace weft::models

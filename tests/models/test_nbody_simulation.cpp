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
  bodies.position = {static_cast<float>(-0.75 * distance), 0, 0, 1,
                     static_cast<float>(0.25 * distance),  0, 0, 3};
  bodies.velocity = {0, static_cast<float>(-0.75 * speed), 0, 0,
                     0, static_cast<float>(0.25 * speed),  0, 0};
  return bodies;
}

NbodyStep step_of(double dt, float softening = 1e-4f) {
  return {static_cast<float>(dt), {.softening = softening}};
}

double distance(const Bodies& a, const Bodies& b) {
  double worst = 0;
  EXPECT_EQ(a.position.size(), b.position.size());
  for (std::size_t i = 0; i < std::min(a.position.size(), b.position.size()); ++i) {
    const double difference = std::fabs(static_cast<double>(a.position[i] - b.position[i]));
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
  NbodySimulation forth(start, step_of(0.01, 0.05f), stream());
  forth.advance(100);
  const Bodies there = forth.bodies();
  EXPECT_GE(distance(there, start), 0.1);
  NbodySimulation back(there, step_of(-0.01, 0.05f), stream());
  back.advance(100);
  EXPECT_LE(distance(back.bodies(), start), 1e-4);
}

TEST_P(Simulation, MomentumIsKeptToRoundingAndEnergyNearly) {
  const std::int64_t n = test::small_tests() ? 200 : 1500;
  for (const bool galaxies : {false, true}) {
    const Bodies start = galaxies ? colliding_galaxies(n, 2) : plummer_sphere(n, 2);
    const MassSums sums = mass_sums(start);
    NbodySimulation simulation(start, step_of(0.01, 0.05f), stream());
    const kernels::NbodyTotals before = simulation.totals();
    simulation.advance(100);
    const NbodyDrift moved = drift(before, simulation.totals(), sums);
    EXPECT_LE(moved.momentum, 1e-6);
    EXPECT_LE(moved.angular_momentum, 1e-6);
    EXPECT_LE(std::fabs(moved.energy), 1e-3);
  }
}

TEST_P(Simulation, StepsMayBeDividedAnyWay) {
  const Bodies start = plummer_sphere(700, 3);
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
}

TEST_P(Simulation, EveryKernelMovesTheBodiesAlike) {
  const Bodies start = plummer_sphere(500, 4);
  NbodySimulation reference(start, step_of(0.01), stream());
  reference.advance(5);
  for (const kernels::Rung& rung : kernels::nbody_rungs()) {
    if (!kernels::nbody_takes(rung.name, {500}, device())) continue;
    NbodyStep step = step_of(0.01);
    step.force.variant = rung.name;
    NbodySimulation simulation(start, step, stream());
    simulation.advance(5);
    EXPECT_LE(distance(simulation.bodies(), reference.bodies()), 1e-5) << rung.name;
  }
}

TEST_P(Simulation, SuggestionsSuitTwoBodies) {
  const Bodies start = kepler(0);
  const float softening = suggested_softening(start);
  EXPECT_GT(softening, 1e-3f);
  EXPECT_LT(softening, 0.1f);
  const float dt = suggested_dt(start, {.softening = softening}, stream());
  EXPECT_GT(dt, 1e-3f);
  EXPECT_LT(dt, static_cast<float>(kPeriod / 50));
  Bodies massless = start;
  massless.position[3] = massless.position[7] = 0;
  const float free = suggested_dt(massless, {.softening = softening}, stream());
  EXPECT_GT(free, 1e-4f);
  EXPECT_LT(free, 0.1f);
}

TEST_P(Simulation, SuggestedStepsFollowTheStrongestPull) {
  // 3 / 2.25 on the lighter of two bodies 1.5 apart, along x; the softening takes 1e-4 of it.
  const double softening = 0.01;
  const kernels::NbodyOptions force{.softening = static_cast<float>(softening)};
  const double dt = suggested_dt(kepler(0.5), force, stream());
  EXPECT_NEAR(dt / std::sqrt(softening / (20 * 3 / 2.25)), 1, 1e-3);
  // Bodies without mass that rest, and one that moves alone.
  EXPECT_EQ(suggested_dt(Bodies(1), force, stream()), 0.01f);
  EXPECT_EQ(suggested_dt(Bodies(5), force, stream()), 0.01f);
  Bodies alone(1);
  alone.velocity[0] = 3;
  EXPECT_EQ(suggested_dt(alone, force, stream()), 0.01f);
}

// The snippet of models/nbody/README.md.
TEST(NbodyPage, ItsExampleRuns) {
  const test::TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const weft::Stream stream(weft::parse_device("auto"));
  const weft::models::Bodies cluster = weft::models::plummer_sphere(4096, /*seed=*/1);
  weft::models::NbodySimulation simulation(cluster, {.dt = 0.01f, .force = {.softening = 0.02f}},
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
  EXPECT_TRUE(throws(ErrorKind::usage, "softening", build(good, step_of(0.1, 1e-13f))));
  Bodies heavy = good;
  heavy.position[3] = 1e30f;
  EXPECT_TRUE(throws(ErrorKind::usage, "overflows", build(heavy, step_of(0.1, 1e-4f))));
}

WEFT_ON_EACH_DEVICE(Simulation);

}  // namespace
}  // namespace weft::models

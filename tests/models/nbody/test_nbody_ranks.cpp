// SPDX-License-Identifier: MIT
// A simulation that ranks share: the trajectory, the totals and the end of one rank. Threads are
// the ranks, on the CPU only: two of them on a GPU would wait for each other's work on the host,
// which CUDA does one after the other for all threads of a process.
#include <algorithm>
#include <cmath>
#include <utility>

#include "models/nbody/simulation.h"
#include "models/nbody/starts.h"
#include "tests/distributed/threads_transport.h"
#include "tests/support/folder.h"

namespace weft::models {
namespace {

using distributed::Communicator;
using test::run_ranks;

constexpr int kSteps = 20;

struct Outcome {
  Bodies bodies;
  kernels::NbodyTotals before, after;
};

Outcome outcome_of(const Bodies& start, std::string_view variant,
                   Communicator& ranks = distributed::alone()) {
  const Stream stream(Device::cpu());
  ranks.attach(stream);
  NbodySimulation simulation(start, {.dt = 0.01, .force = {.variant = variant, .softening = 0.05}},
                             stream, ranks);
  Outcome outcome;
  outcome.before = simulation.totals();
  simulation.advance(kSteps / 2);
  static_cast<void>(simulation.totals());
  simulation.advance(kSteps - kSteps / 2);
  outcome.after = simulation.totals();
  outcome.bodies = simulation.bodies();
  return outcome;
}

// The outcome on every rank.
std::vector<Outcome> outcomes_of(int ranks, const Bodies& start, std::string_view variant) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  run_ranks(ranks, [&](Communicator& mine) {
    outcomes[static_cast<std::size_t>(mine.rank())] = outcome_of(start, variant, mine);
  });
  return outcomes;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;  // NaN stays
  }
  return largest;
}

void expect_the_run_of_one_rank(const Bodies& start, std::string_view variant, int ranks) {
  const std::string what = str(variant, ", ", start.count(), " bodies, ", ranks, " ranks");
  const Outcome one = outcome_of(start, variant);
  ASSERT_GT(largest_difference(one.bodies.position, start.position), 1e-2) << "nothing moved";
  const std::vector<Outcome> all = outcomes_of(ranks, start, variant);
  for (const Outcome& outcome : all) {
    EXPECT_EQ(outcome.bodies.position, one.bodies.position) << what;
    EXPECT_EQ(outcome.bodies.velocity, one.bodies.velocity) << what;
    EXPECT_EQ(outcome.bodies.group, start.group) << what;
    EXPECT_EQ(outcome.after.potential, all[0].after.potential) << what;
    for (const auto& [found, expected] :
         {std::pair(outcome.before, one.before), std::pair(outcome.after, one.after)}) {
      const double energy = std::fabs(expected.potential);
      EXPECT_NEAR(found.kinetic, expected.kinetic, 1e-12 * energy) << what;
      EXPECT_NEAR(found.potential, expected.potential, 1e-12 * energy) << what;
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_NEAR(found.momentum[axis], expected.momentum[axis], 1e-14) << what;
        EXPECT_NEAR(found.angular_momentum[axis], expected.angular_momentum[axis], 1e-14) << what;
      }
    }
  }
}

TEST(NbodyRanks, FollowTheTrajectoryOfOne) {
  int shared = 0;
  for (const kernels::Rung& rung : kernels::nbody_rungs()) {
    if (!kernels::nbody_takes(rung.name, {1, 2}, Device::cpu())) continue;
    ++shared;
    for (const int ranks : {1, 2, 3}) {
      expect_the_run_of_one_rank(plummer_sphere(601, 6), rung.name, ranks);
    }
  }
  EXPECT_GT(shared, 0);
}

TEST(NbodyRanks, MayBeMoreThanTheBodies) {
  expect_the_run_of_one_rank(plummer_sphere(3, 1), kernels::kAutomatic, 5);
  expect_the_run_of_one_rank(plummer_sphere(3, 1), "struct_of_arrays", 5);
}

TEST(NbodyRanks, MayBeOthersInTheMiddle) {
  const Bodies start = plummer_sphere(400, 7);
  const std::vector<Outcome> three = outcomes_of(3, start, kernels::kAutomatic);
  const std::vector<Outcome> two = outcomes_of(2, three[2].bodies, kernels::kAutomatic);
  const Outcome half = outcome_of(start, kernels::kAutomatic);
  const Outcome whole = outcome_of(half.bodies, kernels::kAutomatic);
  EXPECT_EQ(two[1].bodies.position, whole.bodies.position);
}

TEST(NbodyRanks, RefuseARungThatDoesNotShare) {
  const auto run = [&] { outcomes_of(2, plummer_sphere(10, 1), "naive"); };
  EXPECT_TRUE(test::throws(ErrorKind::usage, "does not share its work among 2 ranks", run));
}

}  // namespace
}  // namespace weft::models

// SPDX-License-Identifier: MIT
#include "kernels/nbody/nbody.h"

#include <functional>
#include <limits>

#include "kernels/nbody/cpu/table.h"
#include "kernels/nbody/cpu/templates.h"
#include "tests/cases/cpu_isas.h"
#include "tests/cases/nbody_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

WEFT_CPU_TABLES(NbodyCpu, nbody_cpu)

namespace weft::test {
namespace {

using namespace weft::kernels;

constexpr double kEps = std::numeric_limits<float>::epsilon();

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// Bodies in the cube [-1, 1]^3 with masses in [0.1, 1), as quads.
std::vector<float> random_bodies(std::int64_t n, std::uint64_t seed) {
  std::vector<float> bodies = random_floats(4 * n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    float& mass = bodies[at(4 * i + 3)];
    mass = 0.1f + 0.45f * (mass + 1);
  }
  return bodies;
}

std::vector<double> oracle(const std::vector<float>& bodies, const NbodyOptions& options) {
  const std::vector<double> exact = to_double(bodies);
  std::vector<double> acceleration(exact.size());
  const double softening2 = static_cast<double>(options.softening * options.softening);
  cpu::nbody_naive<double>(acceleration.data(), exact.data(),
                           static_cast<std::int64_t>(exact.size() / 4), softening2,
                           static_cast<double>(options.gravity));
  return acceleration;
}

// For each body the sum of the absolute pulls on it: rounding errors scale with it, not with the
// acceleration, in which pulls cancel.
std::vector<double> sums_of_pulls(const std::vector<float>& bodies, const NbodyOptions& options) {
  const std::int64_t n = static_cast<std::int64_t>(bodies.size()) / 4;
  const double softening2 = static_cast<double>(options.softening * options.softening);
  std::vector<double> pulls(at(n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double d2 = 0;
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        const double d = static_cast<double>(bodies[at(4 * j + axis)]) -
                         static_cast<double>(bodies[at(4 * i + axis)]);
        d2 += d * d;
      }
      pulls[at(i)] += static_cast<double>(std::fabs(options.gravity) * bodies[at(4 * j + 3)]) *
                      std::sqrt(d2) / std::pow(d2 + softening2, 1.5);
    }
  }
  return pulls;
}

// A pull is wrong by up to 8 roundings; n of them are added in fp32, which random signs let grow
// like the square root.
double relative_bound(std::int64_t n) {
  return kEps * (8 + 2 * std::sqrt(static_cast<double>(n)));
}

testing::AssertionResult close(const std::vector<float>& actual,
                               const std::vector<double>& expected,
                               const std::vector<double>& pulls, const std::string& what) {
  const std::int64_t n = static_cast<std::int64_t>(pulls.size());
  if (actual.size() != at(4 * n) || expected.size() != at(4 * n) || n == 0) {
    return testing::AssertionFailure() << what << ": " << actual.size() << " values for " << n;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const double found = static_cast<double>(actual[at(4 * i + axis)]);
      const double error = std::fabs(found - expected[at(4 * i + axis)]);
      if (!(error <= relative_bound(n) * pulls[at(i)])) {
        return testing::AssertionFailure()
               << what << ": body " << i << " of " << n << ", axis " << axis << ": found " << found
               << ", expected " << expected[at(4 * i + axis)] << ", error is "
               << error / (relative_bound(n) * pulls[at(i)]) << " times the bound";
      }
    }
    if (actual[at(4 * i + 3)] != 0) {
      return testing::AssertionFailure() << what << ": fourth value of " << i << " is not 0";
    }
  }
  return testing::AssertionSuccess();
}

// The bodies of a rank: contiguous, shares differ by one at most, empty when there are more ranks.
NbodyRange share(std::int64_t n, int rank, int ranks) {
  const std::int64_t first = n * rank / ranks;
  return {first, n * (rank + 1) / ranks - first};
}

class Nbody : public DeviceTest {
 protected:
  void for_each_variant(const std::function<void(const std::string&, NbodyOptions)>& body) const {
    int variants = 0;
    for (const Rung& rung : nbody_rungs()) {
      if (!taken(rung, device(), nbody_takes(rung.name, {}, device()))) continue;
      ++variants;
      NbodyOptions options;
      options.variant = rung.name;
      options.softening = 0.05f;
      options.gravity = 0.75f;
      body(std::string(rung.name), options);
    }
    EXPECT_GT(variants, 0);
    body("automatic", {});
  }

  Guarded<std::uint8_t> scratch(const NbodyProblem& problem, const NbodyOptions& options) const {
    return Guarded<std::uint8_t>(
        static_cast<std::int64_t>(nbody_workspace_bytes(problem, options.variant, device())),
        stream());
  }
  Guarded<std::uint8_t> scratch(std::int64_t n, const NbodyOptions& options) const {
    return scratch(NbodyProblem{n}, options);
  }

  // Every rung that shares its work in this way. Fails when there is none.
  void for_each_that_splits(NbodySplit split,
                            const std::function<void(const NbodyOptions&)>& body) const {
    int rungs = 0;
    for (const Rung& rung : nbody_rungs()) {
      if (!nbody_takes(rung.name, {1, 2}, device())) continue;
      if (nbody_split(rung.name, {1, 2}, device()) != split) continue;
      ++rungs;
      body({.variant = rung.name, .softening = 0.05f, .gravity = 0.75f});
    }
    EXPECT_GT(rungs, 0);
  }

  // The targets of all ranks, one rank after the other, with the sources in one call: all of them
  // from `first` on, or in two: the rank's own and those after it.
  std::vector<float> by_targets(const std::vector<float>& bodies, int ranks, bool two_calls,
                                std::int64_t first, const NbodyOptions& options) const {
    const std::int64_t n = static_cast<std::int64_t>(bodies.size()) / 4;
    const NbodyProblem problem{n, ranks};
    Guarded<float> in(bodies, stream());
    Guarded<std::uint8_t> memory = scratch(problem, options);
    const Workspace workspace{memory.data(), at(memory.size())};
    std::vector<float> all;
    for (int rank = 0; rank < ranks; ++rank) {
      const NbodyRange own = share(n, rank, ranks);
      Guarded<float> out(4 * own.count, stream());
      const auto part = [&](const NbodyRange& sources, GradientMode mode) {
        nbody_part(out.data(), in.data(), problem, {own, sources, mode}, options, workspace,
                   stream());
      };
      if (two_calls) {
        part(own, GradientMode::overwrite);
        part({own.first + own.count, n - own.count}, GradientMode::accumulate);
      } else {
        part({first, n}, GradientMode::overwrite);
      }
      const std::vector<float> found = out.get();
      all.insert(all.end(), found.begin(), found.end());
    }
    static_cast<void>(memory.get());
    return all;
  }

  // The sums of all ranks over their pairs.
  std::vector<float> by_pairs(const std::vector<float>& bodies, int ranks,
                              const NbodyOptions& options) const {
    const std::int64_t n = static_cast<std::int64_t>(bodies.size()) / 4;
    const NbodyProblem problem{n, ranks};
    Guarded<float> in(bodies, stream());
    Guarded<std::uint8_t> memory = scratch(problem, options);
    std::vector<float> sum(bodies.size());
    for (int rank = 0; rank < ranks; ++rank) {
      Guarded<float> out(4 * n, stream());
      nbody_pairs(out.data(), in.data(), problem, rank, options, {memory.data(), at(memory.size())},
                  stream());
      const std::vector<float> found = out.get();
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += found[i];
    }
    static_cast<void>(memory.get());
    return sum;
  }

  std::vector<float> accelerations(const std::vector<float>& bodies,
                                   const NbodyOptions& options) const {
    const std::int64_t n = static_cast<std::int64_t>(bodies.size()) / 4;
    Guarded<float> in(bodies, stream()), out(4 * n, stream());
    Guarded<std::uint8_t> memory = scratch(n, options);
    nbody_accelerations(out.data(), in.data(), n, options, {memory.data(), at(memory.size())},
                        stream());
    static_cast<void>(memory.get());  // checks its guard bands
    return out.get();
  }

  NbodyTotals totals(const std::vector<float>& bodies, const std::vector<float>& velocity,
                     const NbodyOptions& options) const {
    const std::int64_t n = static_cast<std::int64_t>(bodies.size()) / 4;
    Guarded<float> in(bodies, stream()), v(velocity, stream());
    Guarded<double> out(kNbodyTotals, stream());
    Guarded<std::uint8_t> memory = scratch(n, options);
    nbody_totals(out.data(), in.data(), v.data(), n, options, {memory.data(), at(memory.size())},
                 stream());
    static_cast<void>(memory.get());
    const std::vector<double> values = out.get();
    NbodyTotals result{values[0], values[1], {}, {}};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      result.momentum[axis] = values[2 + axis];
      result.angular_momentum[axis] = values[5 + axis];
    }
    return result;
  }
};

TEST_P(Nbody, MatchesTheOracle) {
  for (const cases::NbodyCase& c : all_or_few(cases::kNbodyCases, cases::kFewNbodyCases)) {
    const std::vector<float> bodies = random_bodies(c.n, 1);
    for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
      EXPECT_TRUE(close(accelerations(bodies, options), oracle(bodies, options),
                        sums_of_pulls(bodies, options), variant));
    });
    if (HasFailure()) return;
  }
}

// More ranks than bodies are among the cases.
TEST_P(Nbody, RanksShareTheTargets) {
  for (const std::int64_t n : sizes_here({1, 2, 3, 33, 127, 256, 1025, 2048, 3001}, {2, 257})) {
    const std::vector<float> bodies = random_bodies(n, 15);
    for_each_that_splits(NbodySplit::targets, [&](const NbodyOptions& options) {
      const std::vector<double> expected = oracle(bodies, options);
      const std::vector<double> pulls = sums_of_pulls(bodies, options);
      const std::vector<float> whole = accelerations(bodies, options);
      for (const int ranks : {1, 2, 3, 7}) {
        const std::string what = str(options.variant, ", ", ranks, " ranks");
        const std::vector<float> one = by_targets(bodies, ranks, false, 0, options);
        EXPECT_TRUE(close(one, expected, pulls, what));
        if (device().is_cpu() || ranks == 1) {
          EXPECT_TRUE(same_bits(one, whole)) << what;
        }
        EXPECT_TRUE(close(by_targets(bodies, ranks, false, n - 1, options), expected, pulls,
                          what + ", from the last"));
        EXPECT_TRUE(
            close(by_targets(bodies, ranks, true, 0, options), expected, pulls, what + ", twice"));
      }
    });
    if (HasFailure()) return;
  }
}

TEST_P(Nbody, RanksShareThePairs) {
  if (device().is_cpu()) GTEST_SKIP() << "no rung for the CPU takes pairs";
  for (const std::int64_t n : sizes_here({1, 2, 3, 33, 127, 256, 1025, 2048, 3001}, {2, 257})) {
    const std::vector<float> bodies = random_bodies(n, 16);
    for_each_that_splits(NbodySplit::pairs, [&](const NbodyOptions& options) {
      const std::vector<double> expected = oracle(bodies, options);
      const std::vector<double> pulls = sums_of_pulls(bodies, options);
      for (const int ranks : {1, 2, 3, 7}) {
        EXPECT_TRUE(close(by_pairs(bodies, ranks, options), expected, pulls,
                          str(options.variant, ", ", ranks, " ranks")));
      }
    });
    if (HasFailure()) return;
  }
}

TEST_P(Nbody, RanksShareTheTotals) {
  for (const std::int64_t n : sizes_here({1, 2, 63, 64, 65, 129, 1009}, {2, 129})) {
    const std::vector<float> bodies = random_bodies(n, 17), velocity = random_floats(4 * n, 18);
    const NbodyOptions options{.softening = 0.05f, .gravity = 0.75f};
    const NbodyTotals whole = totals(bodies, velocity, options);
    for (const int ranks : {1, 2, 3, 7}) {
      const NbodyProblem problem{n, ranks};
      Guarded<float> in(bodies, stream());
      Guarded<std::uint8_t> memory = scratch(problem, options);
      std::vector<double> sum(kNbodyTotals);
      for (int rank = 0; rank < ranks; ++rank) {
        const NbodyRange own = share(n, rank, ranks);
        Guarded<float> v(std::vector<float>(velocity.begin() + 4 * own.first,
                                            velocity.begin() + 4 * (own.first + own.count)),
                         stream());
        Guarded<double> out(kNbodyTotals, stream());
        nbody_totals_part(out.data(), in.data(), v.data(), problem, own, options,
                          {memory.data(), at(memory.size())}, stream());
        const std::vector<double> found = out.get();
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += found[k];
      }
      static_cast<void>(memory.get());
      const std::vector<double> expected = {whole.kinetic,
                                            whole.potential,
                                            whole.momentum[0],
                                            whole.momentum[1],
                                            whole.momentum[2],
                                            whole.angular_momentum[0],
                                            whole.angular_momentum[1],
                                            whole.angular_momentum[2]};
      const double scale = static_cast<double>(n);
      for (std::size_t k = 0; k < sum.size(); ++k) {
        // Terms of the potential are added in float, in other groups.
        const double bound = k == 1 ? 8 * kEps * std::fabs(whole.potential) : 1e-12 * scale;
        EXPECT_TRUE(std::fabs(sum[k] - expected[k]) <= bound)
            << k << " of " << n << " bodies, " << ranks << " ranks: " << sum[k] << ", expected "
            << expected[k];
      }
    }
  }
}

// Forces come in opposite pairs, so the total of m a is zero up to rounding.
TEST_P(Nbody, ConservesMomentum) {
  for (const std::int64_t n : sizes_here({257, 5000}, {257})) {
    const std::vector<float> bodies = random_bodies(n, 2);
    for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
      const std::vector<float> a = accelerations(bodies, options);
      const std::vector<double> pulls = sums_of_pulls(bodies, options);
      double magnitude = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        magnitude += static_cast<double>(bodies[at(4 * i + 3)]) * pulls[at(i)];
      }
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          sum +=
              static_cast<double>(bodies[at(4 * i + 3)]) * static_cast<double>(a[at(4 * i + axis)]);
        }
        EXPECT_TRUE(std::fabs(sum) <= relative_bound(n) * magnitude)
            << variant << " of " << n << " bodies, axis " << axis << ": " << sum << " of "
            << magnitude;
      }
    });
  }
}

// Masses over twelve and distances over six orders of magnitude, and pairs that almost touch.
TEST_P(Nbody, MatchesTheOracleAtEveryScale) {
  std::vector<float> bodies = random_bodies(259, 12);
  for (std::size_t i = 0; i < 259; ++i) {
    const float scale = std::pow(10.0f, static_cast<float>(i % 7) - 3);
    for (std::size_t axis = 0; axis < 3; ++axis) bodies[4 * i + axis] *= scale;
    bodies[4 * i + 3] *= std::pow(10.0f, static_cast<float>(i % 13) - 6);
    if (i % 10 == 9) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        bodies[4 * i + axis] = bodies[4 * i - 4 + axis] * (1 + 1e-6f);
      }
    }
  }
  for_each_variant([&](const std::string& variant, NbodyOptions options) {
    options.softening = 1e-3f;
    EXPECT_TRUE(close(accelerations(bodies, options), oracle(bodies, options),
                      sums_of_pulls(bodies, options), variant));
  });
}

TEST_P(Nbody, ConservesMomentumOverManySteps) {
  const std::int64_t n = small_tests() ? 65 : 515;
  const int steps = small_tests() ? 4 : 40;
  const float dt = 1e-3f;
  const std::vector<float> start = random_bodies(n, 13), start_velocity = random_floats(4 * n, 14);
  for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
    Guarded<float> bodies(start, stream()), velocity(start_velocity, stream());
    Guarded<float> a(4 * n, stream());
    Guarded<std::uint8_t> memory = scratch(n, options);
    const Workspace workspace{memory.data(), at(memory.size())};
    nbody_accelerations(a.data(), bodies.data(), n, options, workspace, stream());
    for (int step = 0; step < steps; ++step) {
      nbody_step(bodies.data(), velocity.data(), a.data(), n, dt, options, workspace, stream());
    }
    const NbodyTotals before = totals(start, start_velocity, options);
    const NbodyTotals after = totals(bodies.get(), velocity.get(), options);
    // Rounding of the pulls, and of every velocity in the two kicks of a step.
    const std::vector<double> pulls = sums_of_pulls(bodies.get(), options);
    double kicks = 0, momenta = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double mass = static_cast<double>(start[at(4 * i + 3)]);
      kicks += 2 * mass * pulls[at(i)] * static_cast<double>(dt) * steps;
      momenta += 2 * mass * steps;
    }
    const double bound =
        relative_bound(n) * kicks + kEps * momenta / std::sqrt(static_cast<double>(n));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_TRUE(std::fabs(after.momentum[axis] - before.momentum[axis]) <= bound)
          << variant << ": " << after.momentum[axis] - before.momentum[axis] << " of " << bound;
      EXPECT_NE(velocity.get()[axis], start_velocity[axis]) << variant << " does not move";
    }
  });
}

TEST_P(Nbody, BodiesWithoutNeighboursOrInOnePlaceFeelNothing) {
  std::vector<float> bodies;
  for (int i = 0; i < 300; ++i) bodies.insert(bodies.end(), {0.25f, -3, 7, 2});
  for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
    for (const float value : accelerations(bodies, options)) EXPECT_EQ(value, 0) << variant;
    for (const float value : accelerations({1, 2, 3, 4}, options)) EXPECT_EQ(value, 0) << variant;
  });
}

TEST_P(Nbody, TwoBodiesAttractEachOther) {
  for_each_variant([&](const std::string& variant, NbodyOptions options) {
    options.softening = 1e-6f;
    options.gravity = 3;
    const std::vector<float> a = accelerations({0, 0, 0, 8, 0, 2, 0, 4}, options);
    const std::vector<double> expected = {0, 3, 0, 0, 0, -6, 0, 0};  // G m / 2^2
    EXPECT_TRUE(compare(a, expected, {0, 8 * kEps, false}, variant));
  });
}

TEST_P(Nbody, GivesTheSameBitsTwice) {
  const std::vector<float> bodies = random_bodies(small_tests() ? 257 : 3001, 3);
  for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
    EXPECT_TRUE(same_bits(accelerations(bodies, options), accelerations(bodies, options)))
        << variant;
  });
}

TEST_P(Nbody, NoBodiesWriteNothing) {
  for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
    EXPECT_EQ(nbody_workspace_bytes(0, options.variant, device()), 0u) << variant;
    Guarded<float> out(4, stream());
    nbody_accelerations(out.data(), nullptr, 0, options, {}, stream());
    nbody_step(out.data(), out.data(), out.data(), 0, 1, options, {}, stream());
    for (const float value : out.get()) EXPECT_TRUE(std::isnan(value)) << variant;
    const NbodyTotals none = totals({}, {}, options);
    EXPECT_EQ(none.energy(), 0);
    EXPECT_EQ(none.momentum[0], 0);
  });
}

TEST_P(Nbody, AdvanceKicksThenDrifts) {
  for (const std::int64_t n : {1, 255, 256, 257, 1009}) {
    const std::vector<float> x = random_bodies(n, 4), v = random_floats(4 * n, 5);
    const std::vector<float> a = random_floats(4 * n, 6);
    Guarded<float> bodies(x, stream()), velocity(v, stream()), acceleration(a, stream());
    nbody_advance(bodies.data(), velocity.data(), acceleration.data(), n, 0.5f, 0.25f, stream());
    std::vector<double> exact_v = to_double(v), exact_x = to_double(x);
    for (std::int64_t i = 0; i < 4 * n; ++i) {
      if (i % 4 == 3) continue;
      exact_v[at(i)] += 0.5 * static_cast<double>(a[at(i)]);
      exact_x[at(i)] += 0.25 * exact_v[at(i)];
    }
    EXPECT_TRUE(compare(velocity.get(), exact_v, {2 * kEps, kEps, false}));
    EXPECT_TRUE(compare(bodies.get(), exact_x, {2 * kEps, kEps, false}));
  }
}

TEST_P(Nbody, TotalsMatchTheOracle) {
  for (const std::int64_t n : sizes_here({1, 2, 63, 64, 65, 127, 128, 129, 1009}, {1, 129})) {
    const std::vector<float> bodies = random_bodies(n, 7), velocity = random_floats(4 * n, 8);
    NbodyOptions options;
    options.softening = 0.05f;
    options.gravity = 0.75f;
    const NbodyTotals found = totals(bodies, velocity, options);
    NbodyTotals expected;
    double scale = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double m = static_cast<double>(bodies[at(4 * i + 3)]);
      double p[3], v[3];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        p[axis] = static_cast<double>(bodies[at(4 * i) + axis]);
        v[axis] = static_cast<double>(velocity[at(4 * i) + axis]);
        expected.kinetic += 0.5 * m * v[axis] * v[axis];
        expected.momentum[axis] += m * v[axis];
      }
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t y = (axis + 1) % 3, z = (axis + 2) % 3;
        expected.angular_momentum[axis] += m * (p[y] * v[z] - p[z] * v[y]);
      }
      scale += m;
      for (std::int64_t j = 0; j < i; ++j) {
        double d2 = static_cast<double>(options.softening * options.softening);
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double d = static_cast<double>(bodies[at(4 * j) + axis]) - p[axis];
          d2 += d * d;
        }
        expected.potential -= 0.75 * m * static_cast<double>(bodies[at(4 * j + 3)]) / std::sqrt(d2);
      }
    }
    EXPECT_TRUE(std::fabs(found.kinetic - expected.kinetic) <= 1e-12 * scale) << n;
    EXPECT_TRUE(std::fabs(found.potential - expected.potential) <=
                8 * kEps * std::fabs(expected.potential))
        << n << ": " << found.potential << ", expected " << expected.potential;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_TRUE(std::fabs(found.momentum[axis] - expected.momentum[axis]) <= 1e-12 * scale) << n;
      EXPECT_TRUE(std::fabs(found.angular_momentum[axis] - expected.angular_momentum[axis]) <=
                  1e-12 * scale)
          << n;
    }
  }
}

// Two bodies on a circle: after a period they are back, up to an error of second order in the step,
// and energy and momentum have not drifted.
TEST_P(Nbody, LeapfrogKeepsAnOrbit) {
  if (small_tests()) GTEST_SKIP() << "WEFT_SMALL_TESTS is set: thousands of launches";
  const std::vector<float> start = {0.5f, 0, 0, 1, -0.5f, 0, 0, 1};
  const float speed = std::sqrt(0.5f);  // v^2 / 0.5 = G m / 1^2
  const std::vector<float> start_velocity = {0, speed, 0, 0, 0, -speed, 0, 0};
  const float period = 2 * 3.14159265f * 0.5f / speed;
  NbodyOptions options;
  options.softening = 1e-4f;
  const auto error_after = [&](int steps) {
    Guarded<float> bodies(start, stream()), velocity(start_velocity, stream()), a(8, stream());
    Guarded<std::uint8_t> memory = scratch(2, options);
    const Workspace workspace{memory.data(), at(memory.size())};
    nbody_accelerations(a.data(), bodies.data(), 2, options, workspace, stream());
    for (int step = 0; step < steps; ++step) {
      nbody_step(bodies.data(), velocity.data(), a.data(), 2, period / static_cast<float>(steps),
                 options, workspace, stream());
    }
    const double before = totals(start, start_velocity, options).energy();
    const NbodyTotals after = totals(bodies.get(), velocity.get(), options);
    EXPECT_TRUE(std::fabs(after.energy() - before) <= 1e-5 * std::fabs(before)) << steps;
    for (const double momentum : after.momentum) EXPECT_TRUE(std::fabs(momentum) <= 1e-6);
    const std::vector<float> end = bodies.get();
    return std::hypot(static_cast<double>(end[0]) - 0.5, static_cast<double>(end[1]));
  };
  const double coarse = error_after(200), fine = error_after(400);
  EXPECT_TRUE(fine <= 1e-3) << fine;
  EXPECT_NEAR(coarse / fine, 4, 0.5);
}

TEST_P(Nbody, RefusesWhatItCannotDo) {
  const auto with = [](std::string_view variant, float softening) {
    NbodyOptions options;
    options.variant = variant;
    options.softening = softening;
    return options;
  };
  const auto run = [&](std::int64_t n, const NbodyOptions& options) {
    nbody_accelerations(nullptr, nullptr, n, options, {}, stream());
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_USAGE_ERROR(run(-1, {}), "negative");
  EXPECT_USAGE_ERROR(run(std::int64_t{1} << 60, {}), "2^63");
  for (const float softening : {0.0f, -1.0f, 1e13f, nan}) {
    EXPECT_USAGE_ERROR(run(1, with(kAutomatic, softening)), "softening");
  }
  EXPECT_USAGE_ERROR(run(1000, {}), "workspace");
  for (const Rung& rung : nbody_rungs()) {
    if (nbody_takes(rung.name, {}, device())) continue;
    EXPECT_USAGE_ERROR(run(1, with(rung.name, 1)), "does not run on");
  }
  EXPECT_USAGE_ERROR(run(1, with("fast", 1)), "pair_symmetric");
}

TEST_P(Nbody, RefusesSharesThatItCannotDo) {
  for (const Rung& rung : nbody_rungs()) {
    const NbodyOptions options{.variant = rung.name};
    const auto pairs = [&](const NbodyProblem& problem, int rank) {
      nbody_pairs(nullptr, nullptr, problem, rank, options, {}, stream());
    };
    const auto part = [&](const NbodyProblem& problem, const NbodyRange& targets,
                          const NbodyRange& sources) {
      Guarded<std::uint8_t> memory = scratch(problem, options);
      nbody_part(nullptr, nullptr, problem, {targets, sources}, options,
                 {memory.data(), at(memory.size())}, stream());
    };
    if (!nbody_takes(rung.name, {}, device())) continue;
    if (!nbody_takes(rung.name, {100, 2}, device())) {
      EXPECT_USAGE_ERROR(pairs({100, 2}, 0), "does not share its work among 2 ranks");
      EXPECT_USAGE_ERROR(part({100, 2}, {0, 50}, {0, 100}), "does not share its work");
      continue;
    }
    EXPECT_USAGE_ERROR(pairs({0, 0}, 0), "0 ranks");
    if (nbody_split(rung.name, {100, 2}, device()) == NbodySplit::pairs) {
      EXPECT_USAGE_ERROR(pairs({0, 2}, 2), "rank 2 of 2");
      EXPECT_USAGE_ERROR(pairs({100, 2}, 0), "workspace");
      EXPECT_USAGE_ERROR(part({100, 2}, {0, 50}, {0, 100}), "does not share its work so");
      continue;
    }
    EXPECT_USAGE_ERROR(pairs({0, 2}, 0), "does not share its work so");
    EXPECT_USAGE_ERROR(part({100, 2}, {0, 51}, {0, 100}), "50 at most for one of 2 ranks");
    EXPECT_USAGE_ERROR(part({100, 2}, {60, 41}, {0, 100}), "the range of 41 bodies from 60");
    EXPECT_USAGE_ERROR(part({100, 2}, {0, 50}, {1, 101}), "the range of 101 bodies from 1");
    EXPECT_USAGE_ERROR(part({100, 2}, {0, -1}, {0, 100}), "the range of -1 bodies from 0");
  }
}

WEFT_ON_EACH_DEVICE(Nbody);

TEST(NbodyCpuIsas, MatchTheOracle) {
  NbodyOptions options;
  options.softening = 0.05f;
  for (const auto& [isa, table] : nbody_cpu_tables()) {
    for (const cases::NbodyCase& c : all_or_few(cases::kNbodyCases, cases::kFewNbodyCases)) {
      const std::vector<float> bodies = random_bodies(c.n, 9);
      const std::vector<double> expected = oracle(bodies, options);
      const std::vector<double> pulls = sums_of_pulls(bodies, options);
      const float softening2 = options.softening * options.softening;
      std::vector<float> out(bodies.size()), scratch(at(table->struct_of_arrays_scratch(c.n)));
      table->naive(out.data(), bodies.data(), c.n, softening2, options.gravity);
      EXPECT_TRUE(close(out, expected, pulls, str(isa, " naive")));
      table->struct_of_arrays(out.data(), bodies.data(), c.n, {{0, c.n}, {0, c.n}}, softening2,
                              options.gravity, scratch.data());
      EXPECT_TRUE(close(out, expected, pulls, str(isa, " struct_of_arrays")));
    }
  }
}

TEST(NbodyCpu, DoesNotDependOnThreads) {
  const std::int64_t n = 1009;
  const std::vector<float> bodies = random_bodies(n, 10), velocity = random_floats(4 * n, 11);
  const NbodyCpu& cpu = select_nbody_cpu();
  std::vector<float> scratch(at(cpu.struct_of_arrays_scratch(n)));
  std::vector<double> partials(at(nbody_totals_scratch(n)));
  const auto [one, three] = with_thread_counts([&] {
    std::vector<float> out(at(4 * n));
    cpu.struct_of_arrays(out.data(), bodies.data(), n, {{0, n}, {0, n}}, 0.01f, 1, scratch.data());
    return out;
  });
  EXPECT_TRUE(same_bits(one, three));
  const auto [totals_one, totals_three] = with_thread_counts([&] {
    std::vector<double> out(at(kNbodyTotals));
    cpu.totals(out.data(), bodies.data(), velocity.data(), n, {0, n}, 0.01f, 1, partials.data());
    return out;
  });
  EXPECT_TRUE(same_bits(totals_one, totals_three));
}

}  // namespace
}  // namespace weft::test

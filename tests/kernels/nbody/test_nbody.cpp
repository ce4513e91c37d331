// SPDX-License-Identifier: MIT
#include "tests/kernels/nbody/nbody_problem.h"

#include "kernels/nbody/cpu/table.h"
#include "tests/cases/cpu_isas.h"

WEFT_CPU_TABLES(NbodyCpu, nbody_cpu)

namespace weft::test::nbody_tests {
namespace {

TEST_P(Nbody, MatchesTheOracle) {
  for (const problems::Nbody& c : all_or_few(cases::kNbodyCases, cases::kFewNbodyCases)) {
    const std::vector<float> bodies = random_bodies(c.n, 1);
    for_each_variant([&](const std::string& variant, const NbodyOptions& options) {
      EXPECT_TRUE(close(accelerations(bodies, options), oracle(bodies, options),
                        sums_of_pulls(bodies, options), variant));
    });
    if (HasFailure()) return;
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
    options.softening = 1e-3;
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
    options.softening = 1e-6;
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
    options.softening = 0.05;
    options.gravity = 0.75;
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
        double d2 = options.softening * options.softening;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double d = static_cast<double>(bodies[at(4 * j) + axis]) - p[axis];
          d2 += d * d;
        }
        expected.potential -= 0.75 * m * static_cast<double>(bodies[at(4 * j + 3)]) / std::sqrt(d2);
      }
    }
    EXPECT_TRUE(std::fabs(found.kinetic - expected.kinetic) <= 1e-12 * scale) << n;
    EXPECT_TRUE(std::fabs(found.potential - expected.potential) <=
                1e-13 * std::fabs(expected.potential))
        << n << ": " << found.potential << ", expected " << expected.potential;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_TRUE(std::fabs(found.momentum[axis] - expected.momentum[axis]) <= 1e-12 * scale) << n;
      EXPECT_TRUE(std::fabs(found.angular_momentum[axis] - expected.angular_momentum[axis]) <=
                  1e-12 * scale)
          << n;
    }
  }
}

// All pairs are as far apart as the softening says, 1, and sums of the masses need more than the 24
// bits of a float: what is added in float shows.
TEST_P(Nbody, TheTotalsAreComputedInDouble) {
  const std::int64_t n = 300;
  const double mass = 1 + std::ldexp(1, -18);
  std::vector<float> bodies;
  for (int i = 0; i < n; ++i) bodies.insert(bodies.end(), {0.5f, 2, -1, static_cast<float>(mass)});
  NbodyOptions options;
  options.softening = 1;
  options.gravity = 1;
  const NbodyTotals found = totals(bodies, std::vector<float>(bodies.size(), 0.0f), options);
  const double expected = -0.5 * mass * mass * static_cast<double>(n * (n - 1));
  EXPECT_TRUE(std::fabs(found.potential - expected) <= 1e-14 * std::fabs(expected))
      << found.potential << ", expected " << expected;
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
  options.softening = 1e-4;
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
  const auto with = [](std::string_view variant, double softening) {
    NbodyOptions options;
    options.variant = variant;
    options.softening = softening;
    return options;
  };
  const auto run = [&](std::int64_t n, const NbodyOptions& options) {
    nbody_accelerations(nullptr, nullptr, n, options, {}, stream());
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_USAGE_ERROR(run(-1, {}), "negative");
  EXPECT_USAGE_ERROR(run(std::int64_t{1} << 60, {}), "2^63");
  for (const double softening : {0.0, -1.0, 1e13, nan}) {
    EXPECT_USAGE_ERROR(run(1, with(kAutomatic, softening)), "softening");
  }
  EXPECT_USAGE_ERROR(run(1000, {}), "workspace");
  for (const Rung& rung : nbody_rungs()) {
    if (nbody_takes(rung.name, {}, device())) continue;
    EXPECT_USAGE_ERROR(run(1, with(rung.name, 1)), "does not run on");
  }
  EXPECT_USAGE_ERROR(run(1, with("fast", 1)), "pair_symmetric");
}

WEFT_ON_EACH_DEVICE(Nbody);

TEST(NbodyCpuIsas, MatchTheOracle) {
  NbodyOptions options;
  options.softening = 0.05;
  for (const auto& [isa, table] : nbody_cpu_tables()) {
    for (const problems::Nbody& c : all_or_few(cases::kNbodyCases, cases::kFewNbodyCases)) {
      const std::vector<float> bodies = random_bodies(c.n, 9);
      const std::vector<double> expected = oracle(bodies, options);
      const std::vector<double> pulls = sums_of_pulls(bodies, options);
      const auto softening2 = static_cast<float>(options.softening * options.softening);
      const auto gravity = static_cast<float>(options.gravity);
      std::vector<float> out(bodies.size()), scratch(at(table->struct_of_arrays_scratch(c.n)));
      table->naive(out.data(), bodies.data(), c.n, softening2, gravity);
      EXPECT_TRUE(close(out, expected, pulls, str(isa, " naive")));
      table->struct_of_arrays(out.data(), bodies.data(), c.n, {{0, c.n}, {0, c.n}}, softening2,
                              gravity, scratch.data());
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
    cpu.totals(out.data(), bodies.data(), velocity.data(), n, {0, n}, 0.01, 1, partials.data());
    return out;
  });
  EXPECT_TRUE(same_bits(totals_one, totals_three));
}

}  // namespace
}  // namespace weft::test::nbody_tests

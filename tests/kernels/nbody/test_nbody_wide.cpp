// SPDX-License-Identifier: MIT
// n-body with a state in double: nothing is lost that double can hold, and a few bodies follow the
// path that the oracle steps.
#include "kernels/nbody/cpu/table.h"
#include "tests/cases/cpu_isas.h"
#include "tests/kernels/nbody/nbody_problem.h"

WEFT_CPU_TABLES(NbodyCpu, nbody_cpu)

namespace weft::test::nbody_tests {
namespace {

class NbodyWide : public Nbody {
 protected:
  // Values with more digits than fp32 has.
  static std::vector<double> wide(const std::vector<float>& values) {
    std::vector<double> all = to_double(values);
    for (double& value : all) value /= 3;
    return all;
  }

  struct State {
    std::vector<double> position, velocity;
  };
  State stepped(const State& start, std::int64_t steps, double dt,
                const NbodyOptions& options) const {
    Guarded<double> position(start.position, stream()), velocity(start.velocity, stream());
    nbody_few_steps(position.data(), velocity.data(),
                    static_cast<std::int64_t>(start.position.size()) / 4, steps, dt, options,
                    stream());
    return {position.get(), velocity.get()};
  }
};

TEST_P(NbodyWide, AdvanceLosesNothing) {
  for (const std::int64_t n : {1, 255, 256, 257, 1009}) {
    std::vector<double> x = wide(random_bodies(n, 4)), v = wide(random_floats(4 * n, 5));
    const std::vector<float> a = random_floats(4 * n, 6), before = random_floats(4 * n, 7);
    Guarded<double> position(x, stream()), velocity(v, stream());
    Guarded<float> bodies(before, stream()), acceleration(a, stream());
    const double kick = 1e-9 / 3, drift = 1e-8 / 7;  // vanish in fp32
    const auto advance = [&](double length) {
      nbody_advance_wide(position.data(), velocity.data(), bodies.data(), acceleration.data(), n,
                         kick, length, stream());
      for (std::int64_t i = 0; i < 4 * n; ++i) {
        if (i % 4 == 3) continue;
        v[at(i)] += kick * static_cast<double>(a[at(i)]);
        x[at(i)] += length * v[at(i)];
      }
      EXPECT_TRUE(compare(velocity.get(), v, {1e-16, 3e-16, false})) << n;
      EXPECT_TRUE(compare(position.get(), x, {1e-16, 3e-16, false})) << n;
    };
    advance(0);
    EXPECT_TRUE(same_bits(bodies.get(), before)) << n;
    advance(drift);
    const std::vector<double> moved = position.get();
    EXPECT_TRUE(same_bits(bodies.get(), std::vector<float>(moved.begin(), moved.end()))) << n;
  }
}

TEST_P(NbodyWide, FewStepsFollowTheOracle) {
  const NbodyOptions options{.softening = 0.05, .gravity = 0.75};
  const double dt = 0.01;
  for (const std::int64_t n : {1, 2, 3, 9, 31, 32, 33, 63, 64}) {
    const State start{wide(random_bodies(n, 31)), wide(random_floats(4 * n, 32))};
    State expected = start;
    std::vector<double> a(start.position.size());
    const auto kick_and_drift = [&](double drift) {
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (i % 4 == 3) continue;
        expected.velocity[i] += dt / 2 * a[i];
        expected.position[i] += drift * expected.velocity[i];
      }
    };
    for (int step = 0; step < 3; ++step) {
      for (const double drift : {dt, 0.0}) {
        cpu::nbody_naive<double>(a.data(), expected.position.data(), n,
                                 options.softening * options.softening, options.gravity);
        kick_and_drift(drift);
      }
    }
    const State found = stepped(start, 3, dt, options);
    EXPECT_TRUE(compare(found.position, expected.position, {1e-13, 1e-13, false})) << n;
    EXPECT_TRUE(compare(found.velocity, expected.velocity, {1e-13, 1e-13, false})) << n;
    const State parts = stepped(stepped(start, 1, dt, options), 2, dt, options);
    EXPECT_TRUE(same_bits(parts.position, found.position)) << n;
    EXPECT_TRUE(same_bits(parts.velocity, found.velocity)) << n;
    EXPECT_TRUE(same_bits(stepped(start, 0, dt, options).velocity, start.velocity)) << n;
  }
}

TEST_P(NbodyWide, FewBodiesKeepTheirMomentum) {
  const State start{wide(random_bodies(64, 33)), wide(random_floats(256, 34))};
  const State end = stepped(start, small_tests() ? 5 : 200, 0.01, {});
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double before = 0, after = 0, scale = 0;
    for (std::size_t i = 0; i < 256; i += 4) {
      const double mass = start.position[i + 3];
      before += mass * start.velocity[i + axis];
      after += mass * end.velocity[i + axis];
      scale += mass * std::fabs(end.velocity[i + axis]);
    }
    EXPECT_TRUE(std::fabs(after - before) <= 1e-13 * scale) << after - before << " of " << scale;
  }
}

TEST_P(NbodyWide, FewStepsRefuseMany) {
  const auto run = [&](std::int64_t n, const NbodyOptions& options) {
    nbody_few_steps(nullptr, nullptr, n, 1, 0.1, options, stream());
  };
  EXPECT_USAGE_ERROR(run(65, {}), "expected at most 64 bodies, found 65");
  EXPECT_USAGE_ERROR(run(-1, {}), "negative");
  EXPECT_USAGE_ERROR(run(2, {.softening = 0}), "softening");
  EXPECT_USAGE_ERROR(nbody_few_steps(nullptr, nullptr, 1, -1, 0.1, {}, stream()), "found -1");
  run(0, {});
}

// The potential of two bodies, whose distance fp32 cannot tell from another.
TEST_P(NbodyWide, TotalsKeepTheDigitsOfTheState) {
  const NbodyOptions options{.softening = 1e-12};
  const double x = 1.0 / 3, speed = 1 + 1e-12;
  Guarded<double> position({0, 0, 0, 2, x, 0, 0, 3}, stream());
  Guarded<double> velocity({0, 0, 0, 0, 0, speed, 0, 0}, stream());
  Guarded<double> out(kNbodyTotals, stream());
  Guarded<std::uint8_t> memory = scratch(2, options);
  nbody_totals_wide(out.data(), position.data(), velocity.data(), {2}, {0, 2}, options,
                    {memory.data(), at(memory.size())}, stream());
  const std::vector<double> expected = {1.5 * speed * speed, -6 / x, 0, 3 * speed, 0, 0, 0,
                                        3 * x * speed};
  EXPECT_TRUE(compare(out.get(), expected, {0, 4e-16, false}));
}

// Each pair once, whoever's it is.
TEST_P(NbodyWide, RanksShareTheTotals) {
  for (const std::int64_t n : sizes_here({1, 2, 3, 64, 127, 128, 129, 257, 258, 1009}, {2, 129})) {
    const std::vector<double> x = wide(random_bodies(n, 35)), v = wide(random_floats(4 * n, 36));
    const NbodyOptions options{.softening = 0.05, .gravity = 0.75};
    double potential = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < i; ++j) {
        double d2 = options.softening * options.softening;
        for (std::int64_t axis = 0; axis < 3; ++axis) {
          const double d = x[at(4 * i + axis)] - x[at(4 * j + axis)];
          d2 += d * d;
        }
        potential -= options.gravity * x[at(4 * i + 3)] * x[at(4 * j + 3)] / std::sqrt(d2);
      }
    }
    for (const int ranks : {1, 2, 3, 7}) {
      Guarded<double> in(x, stream());
      Guarded<std::uint8_t> memory = scratch({n, ranks}, options);
      double sum = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const NbodyRange own = share(n, rank, ranks);
        Guarded<double> speeds(
            std::vector<double>(v.begin() + 4 * own.first, v.begin() + 4 * (own.first + own.count)),
            stream());
        Guarded<double> out(kNbodyTotals, stream());
        nbody_totals_wide(out.data(), in.data(), speeds.data(), {n, ranks}, own, options,
                          {memory.data(), at(memory.size())}, stream());
        sum += out.get()[1];
      }
      EXPECT_TRUE(std::fabs(sum - potential) <= 1e-13 * std::fabs(potential))
          << n << " bodies, " << ranks << " ranks: " << sum << ", expected " << potential;
    }
  }
}

WEFT_ON_EACH_DEVICE(NbodyWide);

TEST(NbodyWideIsas, FollowEachOther) {
  const std::int64_t n = 61;
  const std::vector<double> x = to_double(random_bodies(n, 37));
  const std::vector<double> v = to_double(random_floats(4 * n, 38));
  const auto end_of = [&](const NbodyCpu& cpu) {
    std::vector<double> position = x, velocity = v;
    cpu.few_steps(position.data(), velocity.data(), n, 5, 0.01, 0.0025, 0.75);
    return position;
  };
  const std::vector<double> expected = end_of(select_nbody_cpu());
  for (const auto& [isa, table] : nbody_cpu_tables()) {
    EXPECT_TRUE(compare(end_of(*table), expected, {1e-13, 1e-13, false}, std::string(isa)));
  }
}

}  // namespace
}  // namespace weft::test::nbody_tests

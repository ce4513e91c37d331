// SPDX-License-Identifier: MIT
// n-body over ranks: their shares of targets, pairs and totals make up the whole.
#include "tests/kernels/nbody/nbody_problem.h"

namespace weft::test::nbody_tests {
namespace {

class NbodyShares : public Nbody {};

// More ranks than bodies are among the cases.
TEST_P(NbodyShares, RanksShareTheTargets) {
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

TEST_P(NbodyShares, RanksShareThePairs) {
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

TEST_P(NbodyShares, RanksShareTheTotals) {
  for (const std::int64_t n : sizes_here({1, 2, 63, 64, 65, 129, 1009}, {2, 129})) {
    const std::vector<float> bodies = random_bodies(n, 17), velocity = random_floats(4 * n, 18);
    const NbodyOptions options{.softening = 0.05, .gravity = 0.75};
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
        const double bound = k == 1 ? 1e-13 * std::fabs(whole.potential) : 1e-12 * scale;
        EXPECT_TRUE(std::fabs(sum[k] - expected[k]) <= bound)
            << k << " of " << n << " bodies, " << ranks << " ranks: " << sum[k] << ", expected "
            << expected[k];
      }
    }
  }
}

TEST_P(NbodyShares, RefusesSharesThatItCannotDo) {
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

WEFT_ON_EACH_DEVICE(NbodyShares);

}  // namespace
}  // namespace weft::test::nbody_tests

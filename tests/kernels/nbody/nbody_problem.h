// SPDX-License-Identifier: MIT
// What the tests of n-body share: bodies, the oracle, and calls with guarded memory.
#pragma once

#include <functional>
#include <limits>

#include "kernels/nbody/cpu/templates.h"
#include "kernels/nbody/nbody.h"
#include "tests/cases/nbody_cases.h"
#include "tests/kernels/kernel_test.h"
#include "tests/support/combinations.h"
#include "tests/support/small.h"

namespace weft::test::nbody_tests {

using namespace weft::kernels;

constexpr double kEps = std::numeric_limits<float>::epsilon();

// Bodies in the cube [-1, 1]^3 with masses in [0.1, 1), as quads.
inline std::vector<float> random_bodies(std::int64_t n, std::uint64_t seed) {
  std::vector<float> bodies = random_floats(4 * n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    float& mass = bodies[at(4 * i + 3)];
    mass = 0.1f + 0.45f * (mass + 1);
  }
  return bodies;
}

inline std::vector<double> oracle(const std::vector<float>& bodies, const NbodyOptions& options) {
  const std::vector<double> exact = to_double(bodies);
  std::vector<double> acceleration(exact.size());
  cpu::nbody_naive<double>(acceleration.data(), exact.data(),
                           static_cast<std::int64_t>(exact.size() / 4),
                           options.softening * options.softening, options.gravity);
  return acceleration;
}

// For each body the sum of the absolute pulls on it: rounding errors scale with it, not with the
// acceleration, in which pulls cancel.
inline std::vector<double> sums_of_pulls(const std::vector<float>& bodies,
                                         const NbodyOptions& options) {
  const std::int64_t n = static_cast<std::int64_t>(bodies.size()) / 4;
  const double softening2 = options.softening * options.softening;
  std::vector<double> pulls(at(n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double d2 = 0;
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        const double d = static_cast<double>(bodies[at(4 * j + axis)]) -
                         static_cast<double>(bodies[at(4 * i + axis)]);
        d2 += d * d;
      }
      pulls[at(i)] += std::fabs(options.gravity) * static_cast<double>(bodies[at(4 * j + 3)]) *
                      std::sqrt(d2) / std::pow(d2 + softening2, 1.5);
    }
  }
  return pulls;
}

// A pull is wrong by up to 8 roundings; n of them are added in fp32, which random signs let grow
// like the square root.
inline double relative_bound(std::int64_t n) {
  return kEps * (8 + 2 * std::sqrt(static_cast<double>(n)));
}

inline testing::AssertionResult close(const std::vector<float>& actual,
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
inline NbodyRange share(std::int64_t n, int rank, int ranks) {
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
      options.softening = 0.05;
      options.gravity = 0.75;
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
      body({.variant = rung.name, .softening = 0.05, .gravity = 0.75});
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

}  // namespace weft::test::nbody_tests

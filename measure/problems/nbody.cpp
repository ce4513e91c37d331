// SPDX-License-Identifier: MIT
// Accelerations of all pairs of bodies.
#include <cmath>

#include "kernels/nbody/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

// Positions in a cube of side 2, masses that add up to about 1.
std::vector<float> random_bodies(std::int64_t n, std::uint64_t seed) {
  std::vector<float> bodies = random_values(4 * n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    float& mass = bodies[static_cast<std::size_t>(4 * i + 3)];
    mass = (1 + 0.5f * mass) / static_cast<float>(n);
  }
  return bodies;
}

class NbodyWork final : public ProblemWork<problems::Nbody> {
 public:
  using ProblemWork::ProblemWork;

  void call(std::string_view variant, int set) override {
    kernels::nbody_accelerations(
        accelerations_[set], bodies_[set], p.n, {.variant = variant, .softening = p.kSoftening},
        scratch(kernels::nbody_workspace_bytes(p.n, variant, device())), context.stream);
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return nbody_facts(p.n, variant);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> found = accelerations_.found(set);
    for (const std::int64_t i : sample_indices(p.n, 32, seed())) {
      double sum[3] = {}, magnitude = 0;
      for (std::int64_t j = 0; j < p.n; ++j) {
        double d[3], square = static_cast<double>(p.kSoftening) * static_cast<double>(p.kSoftening);
        for (int k = 0; k < 3; ++k) {
          d[k] = bodies_(4 * j + k) - bodies_(4 * i + k);
          square += d[k] * d[k];
        }
        const double factor = bodies_(4 * j + 3) / (square * std::sqrt(square));
        for (int k = 0; k < 3; ++k) sum[k] += factor * d[k];
        magnitude += factor * std::sqrt(square);
      }
      // Each term is off by a few roundings, a sum one by one by the root of their number.
      const double roundings = 16 + std::sqrt(static_cast<double>(p.n)) / 2;
      const double bound = std::ldexp(1.0, -23) * magnitude * roundings;
      for (int k = 0; k < 3; ++k) {
        comparison.add(found[static_cast<std::size_t>(4 * i + k)], sum[k], bound);
      }
    }
  }

  Array<float>& bodies_ = input("bodies", random_bodies(p.n, seed()));
  Array<float>& accelerations_ = output("accelerations", 4 * p.n);
};

std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return made_of<NbodyWork>({{2048}, {8192}});
  return made_of<NbodyWork>({{4096}, {16384}, {262144}});
}

}  // namespace

extern const FamilyBench nbody_bench = {
    .family = "nbody",
    .size_meaning = "bodies",
    .default_size = 4096,
    .largest_size = std::int64_t{1} << 22,
    .sized = of_size<NbodyWork>,
    .problems = problems_on,
    .choices = [](std::span<const std::int64_t> size, Device device) {
      return std::vector<NamedChoice>{{"bodies", kernels::nbody_choice({size[0]}, device)}};
    }};

}  // namespace weft::measure

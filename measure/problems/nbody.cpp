// SPDX-License-Identifier: MIT
// Accelerations of all pairs of bodies.
#include <algorithm>
#include <cmath>

#include "kernels/nbody/nbody.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

constexpr float kSoftening = 0.05f;

// Positions in a cube of side 2, masses that add up to about 1.
std::vector<float> random_bodies(std::int64_t n, std::uint64_t seed) {
  std::vector<float> bodies = random_values(4 * n, seed);
  for (std::int64_t i = 0; i < n; ++i) {
    float& mass = bodies[static_cast<std::size_t>(4 * i + 3)];
    mass = (1 + 0.5f * mass) / static_cast<float>(n);
  }
  return bodies;
}

class NbodyWork final : public Work {
 public:
  NbodyWork(std::int64_t n, const Context& made_with)
      : Work(made_with),
        n_(n),
        host_(random_bodies(n, made_with.seed)),
        bodies_(host_, 1, made_with.stream),
        accelerations_(4 * n, 1, made_with.stream) {
    problem = str(n, " bodies");
    bytes = kernels::nbody_bytes(n);
    flops = kernels::nbody_flops(n);
    by_flops = true;
  }

  bool can_run(std::string_view) const override { return true; }

  void call(std::string_view variant, int set) override {
    kernels::NbodyOptions options;
    options.variant = variant;
    options.softening = kSoftening;
    const std::size_t needed =
        kernels::nbody_workspace_bytes(n_, options.variant, context.stream.device());
    if (scratch_.bytes() < needed) {
      scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, context.stream);
    }
    kernels::nbody_accelerations(accelerations_[set], bodies_[set], n_, options,
                                 {scratch_.raw(), scratch_.bytes()}, context.stream);
  }

  void reset() override { accelerations_.clear(); }
  std::vector<Fact> facts(std::string_view variant) const override {
    return nbody_facts(n_, variant);
  }
  std::vector<Bytes> written(int set) override { return {accelerations_.bytes(set)}; }

  Verdict check(int set, Arithmetic) override {
    const std::vector<float> found = accelerations_.host(set);
    Comparison comparison;
    for (const std::int64_t i : sample_indices(n_, 32, context.seed)) {
      double sum[3] = {}, magnitude = 0;
      for (std::int64_t j = 0; j < n_; ++j) {
        double d[3], square = static_cast<double>(kSoftening) * static_cast<double>(kSoftening);
        for (int k = 0; k < 3; ++k) {
          d[k] = value(j, k) - value(i, k);
          square += d[k] * d[k];
        }
        const double factor = value(j, 3) / (square * std::sqrt(square));
        for (int k = 0; k < 3; ++k) sum[k] += factor * d[k];
        magnitude += factor * std::sqrt(square);
      }
      // Each term is off by a few roundings, a sum one by one by the root of their number.
      const double roundings = 16 + std::sqrt(static_cast<double>(n_)) / 2;
      const double bound = std::ldexp(1.0, -23) * magnitude * roundings;
      for (int k = 0; k < 3; ++k) {
        comparison.add(found[static_cast<std::size_t>(4 * i + k)], sum[k], bound);
      }
    }
    return comparison.verdict();
  }

 private:
  double value(std::int64_t body, int k) const {
    return static_cast<double>(host_[static_cast<std::size_t>(4 * body + k)]);
  }

  std::int64_t n_;
  std::vector<float> host_;
  Rotated<float> bodies_, accelerations_;
  Tensor scratch_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<NbodyWork>(size, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const auto sizes = device.is_cuda() ? std::vector<std::int64_t>{4096, 16384, 262144}
                                      : std::vector<std::int64_t>{2048, 8192};
  for (const std::int64_t n : sizes) {
    all.push_back([n](const Context& c) { return std::make_unique<NbodyWork>(n, c); });
  }
  return all;
}

}  // namespace

extern const FamilyBench nbody_bench = {
    .family = "nbody",
    .size_meaning = "bodies",
    .default_size = 4096,
    .largest_size = std::int64_t{1} << 22,
    .sized = sized,
    .problems = problems,
    .choices = [](std::span<const std::int64_t> size, Device device) {
      return std::vector<NamedChoice>{{"bodies", kernels::nbody_choice({size[0]}, device)}};
    }};

}  // namespace weft::measure

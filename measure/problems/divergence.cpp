// SPDX-License-Identifier: MIT
// Squares or cubes, with enough rounds that arithmetic is what a call waits for.
#include "engine/random.h"
#include "kernels/divergence/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

constexpr int kRounds = 256;

std::vector<std::int32_t> random_words(std::int64_t n, std::uint64_t seed) {
  std::vector<std::int32_t> words(static_cast<std::size_t>(n));
#pragma omp parallel for schedule(static) if (n > 65536)
  for (std::int64_t i = 0; i < n; ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 9, static_cast<std::uint64_t>(i / 4));
    words[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(bits.value[i % 4]);
  }
  return words;
}

class DivergenceWork final : public ProblemWork<problems::Divergence> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::divergence_takes(variant, p.n, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::sq_or_cube(y_[set], x_[set], p.n, p.rounds, variant, context.stream);
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return divergence_facts(p.n, p.rounds, variant);
  }

 private:
  std::vector<std::int32_t> powers() const {
    std::vector<std::int32_t> all(x_.host.size());
#pragma omp parallel for schedule(static) if (p.n > 65536)
    for (std::int64_t i = 0; i < p.n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      all[at] = p.expected(i, x_.host[at]);
    }
    return all;
  }
  void compare(Comparison& comparison, int set, Arithmetic) override {
    compare_each(comparison, y_, set,
                 [&](std::size_t i) { return Exact{static_cast<double>(expected_[i])}; });
  }

  Array<std::int32_t>& x_ = input("x", random_words(p.n, seed()));
  Array<std::int32_t>& y_ = output<std::int32_t>("y", p.n);
  const std::vector<std::int32_t> expected_ = powers();
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<DivergenceWork>({size, kRounds})(context);
}
std::vector<MakeWork> problems_on(Device device) {
  const std::int64_t n = std::int64_t{1} << (device.is_cuda() ? 25 : 18);
  return {made<DivergenceWork>({n, kRounds}), made<DivergenceWork>({n, 1})};
}

}  // namespace

extern const FamilyBench divergence_bench = {
    "divergence", "words, 256 rounds each", 1 << 16, std::int64_t{1} << 30, sized, problems_on};

}  // namespace weft::measure

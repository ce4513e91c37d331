// SPDX-License-Identifier: MIT
// Squares or cubes, with enough rounds that arithmetic is what a call waits for. Integers, so no
// FLOPs are counted.
#include "kernels/divergence/divergence.h"

#include "engine/random.h"
#include "measure/families.h"

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

std::vector<std::int32_t> powers_of(const std::vector<std::int32_t>& words, int rounds) {
  std::vector<std::int32_t> powers(words.size());
#pragma omp parallel for schedule(static) if (words.size() > 65536)
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto v = static_cast<std::uint32_t>(words[i]);
    for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(rounds); ++r) {
      v = i % 2 == 0 ? v * v + r : v * v * v + r;
    }
    powers[i] = static_cast<std::int32_t>(v);
  }
  return powers;
}

class DivergenceWork final : public Work {
 public:
  DivergenceWork(std::int64_t n, int rounds, const Context& made_with)
      : Work(made_with),
        rounds_(rounds),
        host_x_(random_words(n, made_with.seed)),
        expected_(powers_of(host_x_, rounds)),
        x_(host_x_, sets_of(n, made_with), made_with.stream),
        y_(n, sets_of(n, made_with), made_with.stream) {
    problem = str(n, " words, ", rounds, rounds == 1 ? " round" : " rounds");
    bytes = kernels::sq_or_cube_bytes_moved(n);
    sets = sets_of(n, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::divergence_takes(variant, x_.size(), context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::sq_or_cube(y_[set], x_[set], x_.size(), rounds_, variant, context.stream);
  }
  void reset() override { y_.clear(); }
  std::vector<Fact> facts(std::string_view variant) const override {
    return divergence_facts(x_.size(), rounds_, variant);
  }
  Verdict check(int set, Arithmetic) override {
    const std::vector<std::int32_t> found = y_.host(set);
    Comparison comparison;
    for (std::size_t i = 0; i < found.size(); ++i) comparison.add(found[i], expected_[i], 0);
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {y_.bytes(set)}; }

 private:
  static int sets_of(std::int64_t n, const Context& c) {
    return sets_for(kernels::sq_or_cube_bytes_moved(n), c.stream.device());
  }

  int rounds_;
  std::vector<std::int32_t> host_x_, expected_;
  Rotated<std::int32_t> x_, y_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<DivergenceWork>(size, kRounds, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const std::int64_t n = std::int64_t{1} << (device.is_cuda() ? 25 : 18);
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  for (const int rounds : {kRounds, 1}) {
    all.push_back([=](const Context& c) { return std::make_unique<DivergenceWork>(n, rounds, c); });
  }
  return all;
}

}  // namespace

extern const FamilyBench divergence_bench = {
    "divergence", "words, 256 rounds each", 1 << 16, std::int64_t{1} << 30, sized, problems};

}  // namespace weft::measure

// SPDX-License-Identifier: MIT
// Histograms of bytes (256 bins) and of floats (even bins).
#include <algorithm>
#include <functional>

#include "engine/extent.h"
#include "engine/random.h"
#include "kernels/histogram/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using problems::HistogramInput;

std::vector<std::uint8_t> make_bytes(std::int64_t n, HistogramInput input, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  const std::int64_t groups = divide_up(n, 16);
#pragma omp parallel for schedule(static) if (groups > 4096)
  for (std::int64_t g = 0; g < groups; ++g) {
    const Random4 bits = philox(seed, RandomStream::data, 2, static_cast<std::uint64_t>(g));
    for (std::int64_t i = 16 * g; i < n && i < 16 * g + 16; ++i) {
      std::uint32_t byte = bits.value[i % 16 / 4] >> (8 * (i % 4)) & 255;
      // The cube of a uniform value crowds the dark end, as pictures do.
      if (input == HistogramInput::skewed) byte = byte * byte * byte >> 16;
      if (input == HistogramInput::one_value) byte = 77;
      bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(byte);
    }
  }
  return bytes;
}

template <class T>
class HistogramWork final : public ProblemWork<problems::Histogram> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    const double n = static_cast<double>(p.n);
    return !takes_minutes(kernels::histogram_rungs(), variant, n, device()) &&
           kernels::histogram_takes(variant, {p.n, p.bins, p.of_bytes(), context.block}, device());
  }
  bool takes_block() const override { return device().is_cuda(); }
  void call(std::string_view variant, int set) override {
    const kernels::HistogramOptions options{variant, context.block};
    if constexpr (std::is_same_v<T, float>) {
      kernels::histogram(counts_[set], x_[set], p.n, {0, 1, p.bins}, options, context.stream);
    } else {
      kernels::histogram(counts_[set], x_[set], p.n, options, context.stream);
    }
  }
  std::vector<Fact> facts(std::string_view variant) const override {
    return histogram_facts(p.n, p.bins, *std::ranges::max_element(expected_),
                           device_properties(device()).multiprocessors, variant);
  }

 private:
  std::vector<T> values() const {
    if constexpr (std::is_same_v<T, float>) {
      return random_values(p.n, seed(), 0, 1);
    } else {
      return make_bytes(p.n, p.input, seed());
    }
  }
  std::vector<std::int64_t> counted() const {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(p.bins));
#pragma omp parallel
    {
      std::vector<std::int64_t> own(counts.size());
#pragma omp for schedule(static) nowait
      for (std::int64_t i = 0; i < p.n; ++i) ++own[p.bin(x_.host[static_cast<std::size_t>(i)])];
#pragma omp critical
      std::ranges::transform(counts, own, counts.begin(), std::plus());
    }
    return counts;
  }
  void compare(Comparison& comparison, int set, Arithmetic) override {
    compare_each(comparison, counts_, set,
                 [&](std::size_t bin) { return Exact{static_cast<double>(expected_[bin])}; });
  }

  Array<T>& x_ = input("x", values());
  Array<std::int64_t>& counts_ = output<std::int64_t>("counts", p.bins);
  const std::vector<std::int64_t> expected_ = counted();
};

std::vector<MakeWork> problems_on(Device device) {
  const bool gpu = device.is_cuda();
  const std::int64_t n = std::int64_t{1} << (gpu ? 30 : 24);
  std::vector<MakeWork> all = made_of<HistogramWork<std::uint8_t>>(
      {{n}, {n, HistogramInput::one_value}, {n, HistogramInput::skewed}});
  if (gpu) all.push_back(made<HistogramWork<std::uint8_t>>({1 << 24}));
  const std::int64_t floats = std::int64_t{1} << (gpu ? 28 : 22);
  all.push_back(made<HistogramWork<float>>({floats, HistogramInput::floats, 4096}));
  return all;
}

}  // namespace

extern const FamilyBench histogram_bench = {
    .family = "histogram",
    .size_meaning = "bytes, in 256 bins",
    .default_size = 1 << 22,
    .largest_size = std::int64_t{1} << 33,
    .sized = of_size<HistogramWork<std::uint8_t>>,
    .problems = problems_on,
    .choices = [](std::span<const std::int64_t> size, Device device) {
      return std::vector<NamedChoice>{{"bytes", kernels::histogram_choice({size[0]}, device)}};
    }};

}  // namespace weft::measure

// SPDX-License-Identifier: MIT
#include "measure/problems/histogram.h"

#include <algorithm>

#include "engine/extent.h"
#include "engine/random.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

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

const char* name_of(HistogramInput input) {
  return input == HistogramInput::uniform     ? "uniform"
         : input == HistogramInput::one_value ? "one value"
                                              : "skewed";
}

bool takes(const Work& work, std::string_view variant, const kernels::HistogramProblem& problem) {
  const Device device = work.context.stream.device();
  return !takes_minutes(kernels::histogram_rungs(), variant, static_cast<double>(problem.n),
                        device) &&
         kernels::histogram_takes(variant, problem, device);
}

Verdict compare(const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& expected) {
  Comparison comparison;
  for (std::size_t bin = 0; bin < expected.size(); ++bin) {
    comparison.add(static_cast<double>(found[bin]), static_cast<double>(expected[bin]), 0);
  }
  return comparison.verdict();
}

std::vector<Fact> facts_of(std::int64_t n, const std::vector<std::int64_t>& counts, Device device,
                           std::string_view variant) {
  const std::int64_t fullest = *std::max_element(counts.begin(), counts.end());
  return histogram_facts(n, static_cast<std::int64_t>(counts.size()), fullest,
                         device_properties(device).multiprocessors, variant);
}

}  // namespace

ByteHistogramWork::ByteHistogramWork(std::int64_t n, HistogramInput input, const Context& made_with)
    : Work(made_with),
      host_x_(make_bytes(n, input, made_with.seed)),
      x_(host_x_, sets_for(static_cast<double>(n), made_with.stream.device()), made_with.stream),
      counts_(kernels::kHistogramByteBins,
              sets_for(static_cast<double>(n), made_with.stream.device()), made_with.stream) {
  problem = str(n, " bytes, ", name_of(input));
  bytes = kernels::histogram_bytes_moved(n, 1);
  sets = sets_for(bytes, made_with.stream.device());
  expected_.resize(kernels::kHistogramByteBins);
  for (const std::uint8_t byte : host_x_) ++expected_[byte];
}

bool ByteHistogramWork::can_run(std::string_view variant) const {
  return takes(*this, variant, {.n = x_.size(), .block = context.block});
}

void ByteHistogramWork::call(std::string_view variant, int set) {
  kernels::histogram(counts_[set], x_[set], x_.size(), {variant, context.block}, context.stream);
}

std::vector<Fact> ByteHistogramWork::facts(std::string_view variant) const {
  return facts_of(x_.size(), expected_, context.stream.device(), variant);
}

Verdict ByteHistogramWork::check(int set, Arithmetic) {
  return compare(counts_.host(set), expected_);
}

FloatHistogramWork::FloatHistogramWork(std::int64_t n, std::int64_t bins, const Context& made_with)
    : Work(made_with),
      host_x_(random_values(n, made_with.seed, 0, 1)),
      x_(host_x_, sets_for(4 * static_cast<double>(n), made_with.stream.device()),
         made_with.stream),
      counts_(bins, sets_for(4 * static_cast<double>(n), made_with.stream.device()),
              made_with.stream) {
  problem = str(n, " floats, ", bins, " even bins");
  bytes = kernels::histogram_bytes_moved(n, 4);
  sets = sets_for(bytes, made_with.stream.device());
  // The number of bins is a power of two over [0, 1): the arithmetic is exact in float too.
  expected_.resize(static_cast<std::size_t>(bins));
  for (const float x : host_x_) {
    ++expected_[static_cast<std::size_t>(static_cast<double>(x) * static_cast<double>(bins))];
  }
}

bool FloatHistogramWork::can_run(std::string_view variant) const {
  return takes(*this, variant, {x_.size(), counts_.size(), false, context.block});
}

void FloatHistogramWork::call(std::string_view variant, int set) {
  const kernels::EvenBins even{0, 1, counts_.size()};
  kernels::histogram(counts_[set], x_[set], x_.size(), even, {variant, context.block},
                     context.stream);
}

std::vector<Fact> FloatHistogramWork::facts(std::string_view variant) const {
  return facts_of(x_.size(), expected_, context.stream.device(), variant);
}

Verdict FloatHistogramWork::check(int set, Arithmetic) {
  return compare(counts_.host(set), expected_);
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<ByteHistogramWork>(size, HistogramInput::uniform, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const bool gpu = device.is_cuda();
  const std::int64_t n = std::int64_t{1} << (gpu ? 30 : 24);
  for (const HistogramInput input :
       {HistogramInput::uniform, HistogramInput::one_value, HistogramInput::skewed}) {
    all.push_back(
        [=](const Context& c) { return std::make_unique<ByteHistogramWork>(n, input, c); });
  }
  if (gpu) {
    all.push_back([](const Context& c) {
      return std::make_unique<ByteHistogramWork>(1 << 24, HistogramInput::uniform, c);
    });
  }
  const std::int64_t floats = std::int64_t{1} << (gpu ? 28 : 22);
  all.push_back(
      [=](const Context& c) { return std::make_unique<FloatHistogramWork>(floats, 4096, c); });
  return all;
}

}  // namespace

extern const FamilyBench histogram_bench = {
    .family = "histogram",
    .size_meaning = "bytes, in 256 bins",
    .default_size = 1 << 22,
    .largest_size = std::int64_t{1} << 33,
    .sized = sized,
    .problems = problems,
    .choices = [](std::span<const std::int64_t> size, Device device) {
      return std::vector<NamedChoice>{{"bytes", kernels::histogram_choice({size[0]}, device)}};
    }};

}  // namespace weft::measure

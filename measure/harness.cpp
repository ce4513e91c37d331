// SPDX-License-Identifier: MIT
#include "measure/harness.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/extent.h"
#include "engine/random.h"

namespace weft::measure {
namespace {

constexpr int kMaxSets = 64;

double percentile(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const std::size_t low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace

Timing timing_of(std::vector<double> seconds) {
  if (seconds.empty()) throw Error(ErrorKind::usage, "no sample was taken");
  std::sort(seconds.begin(), seconds.end());
  Timing timing;
  timing.least = seconds.front();
  timing.median = percentile(seconds, 0.5);
  timing.p10 = percentile(seconds, 0.1);
  timing.p90 = percentile(seconds, 0.9);
  timing.count = static_cast<int>(seconds.size());
  return timing;
}

void forget_bytes(void* data, std::size_t bytes, const Stream& stream) {
  // A seed of ones from the host, then doubled on the device.
  const std::vector<unsigned char> ones(std::min<std::size_t>(bytes, 4096), 0xff);
  copy_bytes(data, stream.device(), ones.data(), Device::cpu(), ones.size(), stream);
  stream.synchronize();
  for (std::size_t done = ones.size(); done < bytes; done *= 2) {
    copy_bytes(static_cast<unsigned char*>(data) + done, stream.device(), data, stream.device(),
               std::min(done, bytes - done), stream);
  }
}

double cache_bytes(Device device) {
  const std::size_t known = device_properties(device).l2_bytes;
  return known > 0 ? static_cast<double>(known) : 32e6;
}

int sets_for(double footprint, Device device) {
  const DeviceProperties& properties = device_properties(device);
  const double cache = cache_bytes(device);
  const double memory =
      properties.memory_bytes > 0 ? static_cast<double>(properties.memory_bytes) : 8e9;
  const double wanted = std::floor(3 * cache / std::max(footprint, 1.0)) + 1;
  const double room = std::max(1.0, std::floor(memory / 4 / std::max(footprint, 1.0)));
  return static_cast<int>(std::min({wanted, room, static_cast<double>(kMaxSets)}));
}

void Comparison::add(double actual, double expected, double bound) {
  ++compared_;
  const bool both_nan = std::isnan(actual) && std::isnan(expected);
  if (both_nan || actual == expected) return;  // also equal infinities
  const double error = std::fabs(actual - expected);
  if (error <= bound) {
    worst_ = std::max(worst_, error / bound);
    return;
  }
  if (failed_++ == 0) {
    first_failure_ = str("found ", actual, ", expected ", expected, " within ", bound);
  }
  worst_ = std::isfinite(error) && bound > 0 ? std::max(worst_, error / bound) : HUGE_VAL;
}

Verdict Comparison::verdict() const {
  Verdict verdict;
  verdict.ok = compared_ > 0 && failed_ == 0;
  verdict.worst = worst_;
  verdict.compared = compared_;
  if (compared_ == 0) {
    verdict.text = "nothing was compared";
  } else if (failed_ > 0) {
    verdict.text = str(failed_, " of ", compared_, " values differ; ", first_failure_);
  } else {
    std::ostringstream worst;
    worst.precision(2);
    worst << worst_;
    verdict.text = str(compared_, " values, worst error ", worst.str(), " of its bound");
  }
  return verdict;
}

kernels::ComputeMode mode_of(const kernels::Rung& rung) {
  using kernels::ComputeMode;
  for (const ComputeMode mode : {ComputeMode::fp32, ComputeMode::tf32}) {
    if (rung.arithmetic.in(mode)) return mode;
  }
  return ComputeMode::bf16;
}

Arithmetic Work::arithmetic_of(const kernels::Rung& rung) const {
  return *rung.arithmetic.in(mode_of(rung));
}

std::string_view Work::configured_rung(std::string_view variant) const {
  const Parameters& asked = context.parameters;
  return context.block > 0 || !asked.tile.empty() || asked.results > 0 ? "" : variant;
}

bool takes_minutes(kernels::Rungs rungs, std::string_view name, double work, Device device) {
  const kernels::Rung* rung = rungs.find(name);
  if (rung == nullptr) return false;
  return work > (device.is_cpu() ? rung->bench_up_to.cpu : rung->bench_up_to.gpu);
}

RungInMode rung_in_mode(kernels::Rungs rungs, std::string_view name) {
  for (const kernels::Rung& rung : rungs) {
    for (const kernels::NamedMode& mode : rung.modes) {
      if (mode.name == name) return {rung.name, mode.mode};
    }
  }
  return {name};
}

double product_error(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::tf32:
      return std::ldexp(1.0, -10);  // 10 mantissa bits, two operands
    case Arithmetic::bf16:
      return std::ldexp(1.0, -7);
    default:
      return std::ldexp(1.0, -23);
  }
}

std::vector<float> random_values(std::int64_t n, std::uint64_t seed, float low, float high) {
  std::vector<float> values(static_cast<std::size_t>(n));
  const std::int64_t quads = divide_up(n, 4);
#pragma omp parallel for schedule(static) if (quads > 4096)
  for (std::int64_t q = 0; q < quads; ++q) {
    const Random4 bits = philox(seed, RandomStream::data, 0, static_cast<std::uint64_t>(q));
    for (std::int64_t i = 4 * q; i < std::min(n, 4 * q + 4); ++i) {
      values[static_cast<std::size_t>(i)] = low + (high - low) * uniform01(bits.value[i % 4]);
    }
  }
  return values;
}

std::vector<float> spread_values(std::int64_t n, std::uint64_t seed, double spread) {
  std::vector<float> values = random_values(n, seed);
  if (!(spread > 0)) return values;
  constexpr std::uint64_t kOfExponents = std::uint64_t{1} << 40;
  const auto half = static_cast<float>(spread / 2);
  const std::vector<float> exponents = random_values(n, seed + kOfExponents, -half, half);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= std::exp2(std::round(exponents[i]));
  return values;
}

std::vector<float> random_integers(std::int64_t n, std::uint64_t seed) {
  std::vector<float> values = random_values(n, seed, 0, 9);
#pragma omp parallel for schedule(static) if (n > 16384)
  for (std::int64_t i = 0; i < n; ++i) {
    float& value = values[static_cast<std::size_t>(i)];
    value = std::floor(value) - 4;
  }
  return values;
}

std::vector<std::int64_t> sample_indices(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  std::vector<std::int64_t> indices;
  if (n <= count) {
    for (std::int64_t i = 0; i < n; ++i) indices.push_back(i);
    return indices;
  }
  indices = {0, n - 1};
  for (std::int64_t i = 2; i < count; ++i) {
    const Random4 bits = philox(seed, RandomStream::data, 7, static_cast<std::uint64_t>(i));
    const std::uint64_t wide = (std::uint64_t{bits.value[0]} << 32) | bits.value[1];
    indices.push_back(static_cast<std::int64_t>(wide % static_cast<std::uint64_t>(n)));
  }
  return indices;
}

std::vector<std::string_view> Parameters::given() const {
  std::vector<std::string_view> flags;
  if (offset > 0) flags.emplace_back("--offset");
  if (stride > 0) flags.emplace_back("--stride");
  if (!mask.empty()) flags.emplace_back("--mask");
  if (!tile.empty()) flags.emplace_back("--tile");
  if (results > 0) flags.emplace_back("--results");
  if (!transpose.empty()) flags.emplace_back("--transpose");
  return flags;
}

}  // namespace weft::measure

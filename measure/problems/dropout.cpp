// SPDX-License-Identifier: MIT
#include "measure/problems/dropout.h"

#include <cmath>

#include "engine/random.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

constexpr std::uint32_t kLayer = 3;
constexpr std::int64_t kStep = 5;

int sets_of(std::int64_t n, const Context& c) {
  return sets_for(8.0 * static_cast<double>(n), c.stream.device());
}

}  // namespace

DropoutWork::DropoutWork(std::int64_t n, const Context& made_with)
    : Work(made_with),
      host_x_(random_values(n, made_with.seed, 1, 2)),
      x_(host_x_, sets_of(n, made_with), made_with.stream),
      y_(n, sets_of(n, made_with), made_with.stream),
      step_(std::vector<std::int64_t>{kStep}, 1, made_with.stream) {
  problem = str(n, " floats, p = ", kP);
  bytes = 8.0 * static_cast<double>(n);
  flops = static_cast<double>(n);  // the scaling; random bits are integer work
  sets = sets_of(n, made_with);
}

void DropoutWork::call(std::string_view variant, int set) {
  kernels::dropout(y_[set], x_[set], n(), kP, {context.seed, kLayer, step_[0]},
                   kernels::GradientMode::overwrite, variant, context.stream);
}

void DropoutWork::reset() {
  any_mask_ = false;
  y_.clear();
}

Verdict DropoutWork::check(int set, Arithmetic) {
  const std::vector<float> found = y_.host(set);
  if (any_mask_) return check_any_mask(found);
  Comparison comparison;
  for (const std::int64_t i : sample_indices(n(), 1 << 16, context.seed)) {
    const Random4 bits = philox(context.seed, RandomStream::dropout, kLayer,
                                (std::uint64_t{kStep} << 32) + static_cast<std::uint64_t>(i / 4));
    const bool keep = uniform01(bits.value[i % 4]) >= kP;
    const double x = static_cast<double>(host_x_[static_cast<std::size_t>(i)]);
    const double expected = keep ? x / (1 - static_cast<double>(kP)) : 0;
    comparison.add(found[static_cast<std::size_t>(i)], expected,
                   std::ldexp(1.0, -22) * std::fabs(expected));
  }
  return comparison.verdict();
}

Verdict DropoutWork::check_any_mask(const std::vector<float>& found) const {
  Comparison comparison;
  double kept = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double scaled = static_cast<double>(host_x_[i]) / (1 - static_cast<double>(kP));
    if (found[i] != 0) kept += 1;
    comparison.add(found[i], found[i] == 0 ? 0 : scaled, std::ldexp(1.0, -22) * scaled);
  }
  const double count = static_cast<double>(found.size()), p = static_cast<double>(kP);
  comparison.add(kept, (1 - p) * count, 6 * std::sqrt(p * (1 - p) * count));  // six sigma
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<DropoutWork>(size, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  for (const int bits : device.is_cpu() ? std::vector<int>{20} : std::vector<int>{18, 25}) {
    all.push_back([bits](const Context& c) {
      return std::make_unique<DropoutWork>(std::int64_t{1} << bits, c);
    });
  }
  return all;
}

}  // namespace

extern const FamilyBench dropout_bench = {"dropout", "floats", 1 << 20, std::int64_t{1} << 31,
                                          sized,     problems};

}  // namespace weft::measure

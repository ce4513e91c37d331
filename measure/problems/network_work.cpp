// SPDX-License-Identifier: MIT
#include "measure/problems/network_work.h"

#include <algorithm>
#include <cmath>

#include "engine/random.h"

namespace weft::measure {

namespace {

// A call of philox() gives four of them.
template <class T, class Choose>
std::vector<T> random_numbers(std::int64_t n, std::uint64_t seed, const Choose& choose) {
  std::vector<T> numbers(static_cast<std::size_t>(n));
#pragma omp parallel for schedule(static) if (n > 65536)
  for (std::int64_t first = 0; first < n; first += 4) {
    const Random4 words =
        philox(seed, RandomStream::data, 5, static_cast<std::uint64_t>(first) / 4);
    for (std::int64_t i = first; i < std::min(first + 4, n); ++i) {
      numbers[static_cast<std::size_t>(i)] = choose(words.value[i - first]);
    }
  }
  return numbers;
}

}  // namespace

std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed) {
  return random_numbers<std::uint8_t>(
      n, seed, [](std::uint32_t word) { return static_cast<std::uint8_t>(word); });
}

std::vector<std::int32_t> random_labels(std::int64_t n, std::uint64_t seed, std::int64_t classes) {
  return random_numbers<std::int32_t>(
      n, seed, [=](std::uint32_t word) { return static_cast<std::int32_t>(word % classes); });
}

void NetworkWork::compare(Comparison& comparison, int set, Arithmetic) {
  if (gradient_.empty()) loss_ = expected(gradient_);
  const double sum = p.gradients(runs), steps = static_cast<double>(runs * p.steps);
  double largest = 0;
  for (const double g : gradient_) largest = std::max(largest, std::fabs(g));
  compare_each(comparison, parameters_, set, [&](std::int64_t i) { return Exact{parameters_(i)}; });
  compare_each(comparison, velocity_, set, [&](std::size_t i) {
    return Exact{sum * gradient_[i], tolerance_ * sum * largest};
  });
  const std::vector<std::uint8_t> totals_bytes = totals_.found(set);
  kernels::MetricTotals found;
  std::copy(totals_bytes.begin(), totals_bytes.end(), reinterpret_cast<std::uint8_t*>(&found));
  comparison.add(static_cast<double>(found.rows), steps * static_cast<double>(p.rows), 0);
  comparison.add(found.loss_sum, steps * loss_, 1e-4 * steps * loss_);
}

}  // namespace weft::measure

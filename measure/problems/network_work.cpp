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

NetworkWork::NetworkWork(const NetworkProblem& network, std::int64_t rows, int steps,
                         const Context& made_with)
    : Work(made_with),
      steps_(steps),
      rows_(rows),
      order_{rows, 1, rows, true, made_with.seed},
      host_images_(random_bytes(rows * network.pixels, made_with.seed)),
      host_labels_(random_labels(rows, made_with.seed + 1, network.classes)),
      host_parameters_(
          random_values(network.parameters, made_with.seed + 2, -network.spread, network.spread)),
      images_(host_images_, 1, made_with.stream),
      labels_(host_labels_, 1, made_with.stream),
      parameters_(host_parameters_, 1, made_with.stream),
      velocity_(network.parameters, 1, made_with.stream),
      rates_(std::vector<float>(static_cast<std::size_t>(steps)), 1, made_with.stream),
      step_(1, 1, made_with.stream),
      totals_(sizeof(kernels::MetricTotals), 1, made_with.stream),
      scratch_(network.workspace_bytes, made_with.stream),
      tolerance_(network.tolerance) {
  problem = str(steps, " steps of ", network.name, ", ", rows, " images each");
  flops = 2 * network.step_products * static_cast<double>(rows * steps);
  // Images in; parameters and velocity in and out.
  bytes = static_cast<double>(steps) * (static_cast<double>(rows * network.pixels) +
                                        16.0 * static_cast<double>(network.parameters));
  by_flops = true;
}

void NetworkWork::reset() {
  copy_bytes(parameters_[0], context.stream.device(), host_parameters_.data(), Device::cpu(),
             parameters_.bytes(0).count, context.stream);
  zero_bytes(velocity_[0], velocity_.bytes(0).count, context.stream);
  zero_bytes(totals_[0], totals_.bytes(0).count, context.stream);
  context.stream.synchronize();
}

Verdict NetworkWork::check(int, Arithmetic) {
  if (gradient_.empty()) loss_ = expected(gradient_);
  const std::vector<float> parameters = parameters_.host(0), velocity = velocity_.host(0);
  const double momentum = static_cast<double>(sgd_.momentum);
  const double all = static_cast<double>(runs * steps_);
  const double sum = (1 - std::pow(momentum, all)) / (1 - momentum);
  double largest = 0;
  for (const double g : gradient_) largest = std::max(largest, std::fabs(g));
  Comparison comparison;
  for (std::size_t i = 0; i < velocity.size(); ++i) {
    comparison.add(parameters[i], static_cast<double>(host_parameters_[i]), 0);
    comparison.add(velocity[i], sum * gradient_[i], tolerance_ * sum * largest);
  }
  const std::vector<std::uint8_t> totals_bytes = totals_.host(0);
  kernels::MetricTotals found;
  std::copy(totals_bytes.begin(), totals_bytes.end(), reinterpret_cast<std::uint8_t*>(&found));
  comparison.add(static_cast<double>(found.rows), all * static_cast<double>(rows_), 0);
  comparison.add(found.loss_sum, all * loss_, 1e-4 * all * loss_);
  return comparison.verdict();
}

std::vector<Bytes> NetworkWork::written(int) {
  return {parameters_.bytes(0), velocity_.bytes(0)};
}

}  // namespace weft::measure

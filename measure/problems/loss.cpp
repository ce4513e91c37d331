// SPDX-License-Identifier: MIT
// Mean squared error with its gradient, and the running totals of an epoch.
#include <algorithm>

#include "kernels/loss/problem.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

class MeanSquaredErrorWork final : public ProblemWork<problems::MeanSquaredError> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::loss_takes(variant, kernels::LossOperation::mean_squared_error, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::mean_squared_error(loss_[set], dy_[set], y_[set], target_[set], kScale, p.rows, p.cols,
                                variant, context.stream);
  }

 private:
  static constexpr float kScale = 0.5f;

  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> loss = loss_.found(set), dy = dy_.found(set);
    const double cols = static_cast<double>(p.cols), unit = std::ldexp(1.0, -23);
    for (const std::int64_t row : sample_indices(p.rows, 256, seed())) {
      double sum = 0;
      for (std::int64_t i = row * p.cols; i < (row + 1) * p.cols; ++i) {
        const double difference = y_(i) - target_(i);
        sum += difference * difference;
        comparison.add(dy[static_cast<std::size_t>(i)],
                       static_cast<double>(kScale) * 2 * difference / cols,
                       8 * unit / cols * static_cast<double>(kScale));
      }
      comparison.add(loss[static_cast<std::size_t>(row)], sum / cols,
                     unit * (8 + std::sqrt(cols)) * sum / cols);
    }
  }

  Array<float>& y_ = input("y", random_values(p.elements(), seed()));
  Array<float>& target_ = input("target", random_values(p.elements(), seed() + 1));
  Array<float>& dy_ = output("dy", p.elements());
  Array<float>& loss_ = output("loss", p.rows);
};

// Totals grow with every call: the oracle multiplies. Losses are whole numbers, so sums are exact.
class TotalsWork final : public ProblemWork<problems::MetricTotals> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::loss_takes(variant, kernels::LossOperation::accumulate_totals, device());
  }
  void call(std::string_view variant, int set) override {
    kernels::accumulate_totals(reinterpret_cast<kernels::MetricTotals*>(totals_[set]), loss_[set],
                               prediction_[set], labels_[set], p.rows, variant, context.stream);
  }

 private:
  static constexpr std::int64_t kWords = sizeof(kernels::MetricTotals) / sizeof(std::int64_t);

  void compare(Comparison& comparison, int set, Arithmetic) override {
    kernels::MetricTotals found{};
    const std::vector<std::int64_t> words = totals_.found(set);
    std::ranges::copy(std::as_bytes(std::span(words)), reinterpret_cast<std::byte*>(&found));
    double sum = 0, hits = 0;
    for (std::size_t row = 0; row < loss_.host.size(); ++row) {
      sum += static_cast<double>(loss_.host[row]);
      hits += prediction_.host[row] == labels_.host[row] ? 1 : 0;
    }
    const double times = static_cast<double>(runs);
    comparison.add(found.loss_sum, times * sum, 0);
    comparison.add(static_cast<double>(found.hits), times * hits, 0);
    comparison.add(static_cast<double>(found.rows), times * static_cast<double>(p.rows), 0);
  }
  static std::vector<std::int32_t> classes(std::int64_t rows, std::uint64_t seed) {
    const std::vector<float> values = random_values(rows, seed, 0, 10);
    return {values.begin(), values.end()};
  }

  Array<float>& loss_ = input("loss", random_integers(p.rows, seed()));
  Array<std::int32_t>& prediction_ = input("prediction", classes(p.rows, seed() + 1));
  Array<std::int32_t>& labels_ = input("labels", classes(p.rows, seed() + 2));
  Array<std::int64_t>& totals_ = updated("totals", std::vector<std::int64_t>(kWords));
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::loss_operation(context.variant) == kernels::LossOperation::accumulate_totals) {
    return made<TotalsWork>({size})(context);
  }
  return made<MeanSquaredErrorWork>({size, 1000})(context);
}
std::vector<MakeWork> problems_on(Device device) {
  const auto error = made<MeanSquaredErrorWork>;
  const auto totals = made<TotalsWork>;
  if (device.is_cpu()) return {error({256, 10}), error({1024, 1000}), totals({256})};
  return {error({256, 10}), error({32768, 1000}), totals({256}), totals({16384})};
}

}  // namespace

extern const FamilyBench loss_bench = {
    "loss", "rows, of 1000 columns for the error", 1024, std::int64_t{1} << 20, sized, problems_on};

}  // namespace weft::measure

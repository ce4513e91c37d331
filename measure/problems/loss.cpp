// SPDX-License-Identifier: MIT
// Mean squared error with its gradient, and the running totals of an epoch.
#include <cmath>

#include "kernels/loss/loss.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

class MeanSquaredErrorWork final : public Work {
 public:
  MeanSquaredErrorWork(std::int64_t rows, std::int64_t cols, const Context& made_with)
      : Work(made_with),
        rows_(rows),
        cols_(cols),
        host_y_(random_values(rows * cols, made_with.seed)),
        host_target_(random_values(rows * cols, made_with.seed + 1)),
        y_(host_y_, sets_of(rows * cols, made_with), made_with.stream),
        target_(host_target_, sets_of(rows * cols, made_with), made_with.stream),
        dy_(rows * cols, sets_of(rows * cols, made_with), made_with.stream),
        loss_(rows, sets_of(rows * cols, made_with), made_with.stream) {
    problem = str("mean squared error and gradient, ", rows, " rows of ", cols);
    bytes = 12.0 * static_cast<double>(rows * cols) + 4.0 * static_cast<double>(rows);
    flops = 4.0 * static_cast<double>(rows * cols);  // difference, square, sum, scale
    sets = sets_of(rows * cols, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::loss_takes(variant, kernels::LossOperation::mean_squared_error,
                               context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::mean_squared_error(loss_[set], dy_[set], y_[set], target_[set], kScale, rows_, cols_,
                                variant, context.stream);
  }
  void reset() override { dy_.clear(), loss_.clear(); }

  Verdict check(int set, Arithmetic) override {
    const std::vector<float> loss = loss_.host(set), dy = dy_.host(set);
    const double cols = static_cast<double>(cols_), unit = std::ldexp(1.0, -23);
    Comparison comparison;
    for (const std::int64_t row : sample_indices(rows_, 256, context.seed)) {
      double sum = 0;
      for (std::int64_t c = 0; c < cols_; ++c) {
        const std::size_t i = static_cast<std::size_t>(row * cols_ + c);
        const double difference =
            static_cast<double>(host_y_[i]) - static_cast<double>(host_target_[i]);
        sum += difference * difference;
        comparison.add(dy[i], static_cast<double>(kScale) * 2 * difference / cols,
                       8 * unit / cols * static_cast<double>(kScale));
      }
      comparison.add(loss[static_cast<std::size_t>(row)], sum / cols,
                     unit * (8 + std::sqrt(cols)) * sum / cols);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {dy_.bytes(set), loss_.bytes(set)}; }

 private:
  static constexpr float kScale = 0.5f;
  static int sets_of(std::int64_t n, const Context& c) {
    return sets_for(12.0 * static_cast<double>(n), c.stream.device());
  }

  std::int64_t rows_, cols_;
  std::vector<float> host_y_, host_target_;
  Rotated<float> y_, target_, dy_, loss_;
};

// Totals grow with every call: the oracle multiplies. Losses are whole numbers, so sums are exact.
class TotalsWork final : public Work {
 public:
  TotalsWork(std::int64_t rows, const Context& made_with)
      : Work(made_with),
        host_loss_(random_integers(rows, made_with.seed)),
        host_prediction_(classes(rows, made_with.seed + 1)),
        host_labels_(classes(rows, made_with.seed + 2)),
        loss_(host_loss_, sets_of(rows, made_with), made_with.stream),
        prediction_(host_prediction_, sets_of(rows, made_with), made_with.stream),
        labels_(host_labels_, sets_of(rows, made_with), made_with.stream),
        totals_(kWords, sets_of(rows, made_with), made_with.stream) {
    problem = str("totals of ", rows, " rows");
    bytes = 12.0 * static_cast<double>(rows);
    flops = static_cast<double>(rows);
    sets = sets_of(rows, made_with);
  }

  bool can_run(std::string_view variant) const override {
    return kernels::loss_takes(variant, kernels::LossOperation::accumulate_totals,
                               context.stream.device());
  }
  void call(std::string_view variant, int set) override {
    kernels::accumulate_totals(reinterpret_cast<kernels::MetricTotals*>(totals_[set]), loss_[set],
                               prediction_[set], labels_[set], loss_.size(), variant,
                               context.stream);
  }
  void reset() override {
    for (int set = 0; set < sets; ++set) {
      zero_bytes(totals_[set], totals_.bytes(set).count, context.stream);
    }
  }

  Verdict check(int set, Arithmetic) override {
    kernels::MetricTotals found;
    copy_bytes(&found, Device::cpu(), totals_[set], context.stream.device(), sizeof(found),
               context.stream);
    context.stream.synchronize();
    double sum = 0, hits = 0;
    for (std::size_t row = 0; row < host_loss_.size(); ++row) {
      sum += static_cast<double>(host_loss_[row]);
      hits += host_prediction_[row] == host_labels_[row] ? 1 : 0;
    }
    const double times = static_cast<double>(runs);
    Comparison comparison;
    comparison.add(found.loss_sum, times * sum, 0);
    comparison.add(static_cast<double>(found.hits), times * hits, 0);
    comparison.add(static_cast<double>(found.rows), times * static_cast<double>(loss_.size()), 0);
    return comparison.verdict();
  }
  std::vector<Bytes> written(int set) override { return {totals_.bytes(set)}; }

 private:
  static constexpr std::int64_t kWords = sizeof(kernels::MetricTotals) / sizeof(std::int64_t);

  static int sets_of(std::int64_t rows, const Context& c) {
    return sets_for(12.0 * static_cast<double>(rows), c.stream.device());
  }
  static std::vector<std::int32_t> classes(std::int64_t rows, std::uint64_t seed) {
    const std::vector<float> values = random_values(rows, seed, 0, 10);
    return {values.begin(), values.end()};
  }

  std::vector<float> host_loss_;
  std::vector<std::int32_t> host_prediction_, host_labels_;
  Rotated<float> loss_;
  Rotated<std::int32_t> prediction_, labels_;
  Rotated<std::int64_t> totals_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::loss_operation(context.variant) == kernels::LossOperation::accumulate_totals) {
    return std::make_unique<TotalsWork>(size, context);
  }
  return std::make_unique<MeanSquaredErrorWork>(size, 1000, context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto error = [](std::int64_t rows, std::int64_t cols) {
    return [=](const Context& c) { return std::make_unique<MeanSquaredErrorWork>(rows, cols, c); };
  };
  const auto totals = [](std::int64_t rows) {
    return [=](const Context& c) { return std::make_unique<TotalsWork>(rows, c); };
  };
  if (device.is_cpu()) return {error(256, 10), error(1024, 1000), totals(256)};
  return {error(256, 10), error(32768, 1000), totals(256), totals(16384)};
}

}  // namespace

extern const FamilyBench loss_bench = {
    "loss", "rows, of 1000 columns for the error", 1024, std::int64_t{1} << 20, sized, problems};

}  // namespace weft::measure

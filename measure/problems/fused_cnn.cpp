// SPDX-License-Identifier: MIT
// LeNet-5 trained and asked as a whole.
#include <algorithm>
#include <cmath>

#include "kernels/networks/cnn/cpu/templates.h"
#include "kernels/networks/cnn/parts/timed.h"
#include "measure/families.h"
#include "measure/problems/network_work.h"

namespace weft::measure {
namespace {

constexpr kernels::FusedCnnDims kDims = kernels::lenet5_dims(10);
constexpr std::int64_t kPixels = kDims.height * kDims.width;

// Products of the formula, of one image: forward; backward only where pooling passes a gradient.
double forward_products() {
  const double maps1 = 6 * 28 * 28, maps2 = 16 * 10 * 10;
  return maps1 * 25 + maps2 * 150 + 400 * 120 + 120 * 84 + 84 * 10;
}
double step_products() {
  const double linear = 400 * 120 + 120 * 84 + 84 * 10;
  return forward_products() + 2 * linear + 2 * 400.0 * 150 + 6.0 * 14 * 14 * 25;
}

constexpr float kSpread = 0.08f;  // of parameters

NetworkProblem network_of(std::int64_t rows, Device device) {
  // Where two values of a window lie closer than rounding the other one may win: the tolerance.
  return {"lenet5",
          kPixels,
          kDims.classes,
          kDims.parameters(),
          step_products(),
          kSpread,
          1e-3,
          kernels::fused_cnn_workspace_bytes(kDims, rows, device)};
}

class TrainWork final : public NetworkWork {
 public:
  TrainWork(std::int64_t rows, int steps, const Context& made_with)
      : NetworkWork(network_of(rows, made_with.stream.device()), rows, steps, made_with) {
    options_.order = order_;
    options_.normalization = kNormalization;
    options_.sgd = sgd_;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::fused_cnn_operation(variant) == kernels::FusedCnnOperation::train &&
           kernels::fused_cnn_supports(kDims, context.stream.device());
  }
  void call(std::string_view variant, int) override {
    options_.variant = variant;
    zero_bytes(step_[0], sizeof(std::int64_t), context.stream);
    kernels::fused_cnn_train(parameters_[0], velocity_[0], totals(), step_[0], images_[0],
                             labels_[0], rates_[0], rows_, steps_, kDims, options_,
                             {scratch_.data(), scratch_.bytes()}, context.stream);
  }

  // On a GPU: where the time of a step goes, measured.
  std::vector<Fact> facts(std::string_view variant) const override;

 private:
  double expected(std::vector<double>& gradient) const override {
    kernels::cpu::FusedCnnMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, rows_));
    memory.cut(bytes_of.data(), kDims, rows_);
    std::vector<double> parameters(host_parameters_.begin(), host_parameters_.end());
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals totals;
    std::int64_t step = 0;
    kernels::cpu::fused_cnn_train<double>(
        parameters.data(), velocity.data(), &totals, &step, host_images_.data(),
        host_labels_.data(), rates.data(), rows_, 1, kDims, options_.order, options_.augmentation,
        kernels::draw::line_of(kNormalization), options_.sgd, bytes_of.data());
    gradient.assign(memory.gradients, memory.gradients + parameters.size());
    return totals.loss_sum;
  }

  kernels::FusedCnnOptions options_;
};

std::vector<Fact> TrainWork::facts(std::string_view variant) const {
  const Stream& stream = context.stream;
  const bool timed = kernels::fused_cnn_counts_cycles(variant) && can_run(variant);
  if (!timed || stream.device().is_cpu()) return {};
  const std::span<const std::string_view> parts = kernels::fused_cnn_parts();
  TrainWork other(rows_, steps_, context);  // since this one does not change
  Tensor cycles(Shape{static_cast<std::int64_t>(parts.size())}, DType::i64, stream);
  const auto train = [&] {
    zero_bytes(other.step_[0], sizeof(std::int64_t), stream);
    zero_bytes(cycles.raw(), cycles.bytes(), stream);
    kernels::fused_cnn_train_timed(
        static_cast<long long*>(cycles.raw()), other.parameters_[0], other.velocity_[0], nullptr,
        other.step_[0], other.images_[0], other.labels_[0], other.rates_[0], rows_, steps_, kDims,
        other.options_, {other.scratch_.data(), other.scratch_.bytes()}, stream);
  };
  other.reset();
  train();
  train();  // the second time everything is warm
  const std::vector<std::int64_t> found = to_host(cycles.view<std::int64_t>(), stream);
  double all = 0;
  for (const std::int64_t value : found) all += static_cast<double>(value);
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double value = static_cast<double>(found[i]) / steps_;
    facts.push_back({std::string(parts[i]), value,
                     str(static_cast<std::int64_t>(value), " cycles of a step, ",
                         static_cast<int>(100 * value * steps_ / all + 0.5), " %")});
  }
  return facts;
}

// Every weight is read once, and a sample of the rows is compared.
class InferWork final : public Work {
 public:
  InferWork(std::int64_t rows, const Context& made_with)
      : Work(made_with),
        rows_(rows),
        host_images_(random_bytes(rows * kPixels, made_with.seed)),
        host_parameters_(random_values(kDims.parameters(), made_with.seed + 2, -kSpread, kSpread)),
        images_(host_images_, 1, made_with.stream),
        parameters_(host_parameters_, 1, made_with.stream),
        logits_(rows * kDims.classes, 1, made_with.stream),
        predictions_(rows, 1, made_with.stream),
        scratch_(kernels::fused_cnn_workspace_bytes(kDims, rows, made_with.stream.device()),
                 made_with.stream) {
    problem = str("forward of lenet5, ", rows, " images");
    flops = 2 * forward_products() * static_cast<double>(rows);
    bytes = static_cast<double>(rows * (kPixels + 4 * kDims.classes + 4)) +
            4.0 * static_cast<double>(kDims.parameters());
    by_flops = true;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::fused_cnn_operation(variant) == kernels::FusedCnnOperation::infer &&
           kernels::fused_cnn_supports(kDims, context.stream.device());
  }
  void call(std::string_view, int) override {
    kernels::fused_cnn_infer(logits_[0], predictions_[0], nullptr, parameters_[0], images_[0],
                             nullptr, rows_, kDims, kNormalization,
                             {scratch_.data(), scratch_.bytes()}, context.stream);
  }
  void reset() override { logits_.clear(), predictions_.clear(); }

  Verdict check(int, Arithmetic) override {
    const std::vector<float> logits = logits_.host(0);
    const std::vector<std::int32_t> predictions = predictions_.host(0);
    const std::vector<double> parameters(host_parameters_.begin(), host_parameters_.end());
    kernels::cpu::FusedCnnMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, 1));
    std::vector<double> expected(kDims.classes);
    Comparison comparison;
    for (const std::int64_t row : sample_indices(rows_, 64, context.seed)) {
      kernels::cpu::fused_cnn_infer<double>(
          expected.data(), nullptr, nullptr, parameters.data(), host_images_.data() + row * kPixels,
          nullptr, 1, kDims, kernels::draw::line_of(kNormalization), bytes_of.data());
      const std::int32_t best = predictions[static_cast<std::size_t>(row)];
      double largest = expected[0];
      for (std::int64_t c = 0; c < kDims.classes; ++c) {
        const double value = expected[static_cast<std::size_t>(c)];
        largest = std::max(largest, value);
        comparison.add(logits[static_cast<std::size_t>(row * kDims.classes + c)], value, 2e-5);
      }
      const bool valid = best >= 0 && best < kDims.classes;
      comparison.add(valid ? expected[static_cast<std::size_t>(best)] : NAN, largest, 4e-5);
    }
    return comparison.verdict();
  }
  std::vector<Bytes> written(int) override { return {logits_.bytes(0), predictions_.bytes(0)}; }

 private:
  std::int64_t rows_;
  std::vector<std::uint8_t> host_images_;
  std::vector<float> host_parameters_;
  Rotated<std::uint8_t> images_;
  Rotated<float> parameters_, logits_;
  Rotated<std::int32_t> predictions_;
  Buffer scratch_;
};

// A step without a GPU takes long.
int steps_on(Device device) {
  return device.is_cpu() || built_for_host_cuda() ? 2 : 64;
}

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::fused_cnn_operation(context.variant) == kernels::FusedCnnOperation::infer) {
    return std::make_unique<InferWork>(size, context);
  }
  return std::make_unique<TrainWork>(size, steps_on(context.stream.device()), context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto train = [=](std::int64_t rows) {
    return [=](const Context& c) -> std::unique_ptr<Work> {
      return std::make_unique<TrainWork>(rows, steps_on(device), c);
    };
  };
  const auto infer = [](std::int64_t rows) {
    return [=](const Context& c) -> std::unique_ptr<Work> {
      return std::make_unique<InferWork>(rows, c);
    };
  };
  if (device.is_cpu()) return {train(32), infer(256)};
  return {train(64), train(128), train(256), train(1024), infer(10000)};
}

}  // namespace

extern const FamilyBench fused_cnn_bench = {
    "fused_cnn", "images in a batch", 256, std::int64_t{1} << 20, sized, problems};

}  // namespace weft::measure

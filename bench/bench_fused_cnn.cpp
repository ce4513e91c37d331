// SPDX-License-Identifier: MIT
// LeNet-5 trained and asked as a whole.
//
// Training runs at a rate of 0: parameters must then stay as they are, to the bit, and velocity
// becomes a sum of gradients that are all the same, since each step takes the whole data set in
// another order. So one gradient in double tells what any number of steps has to leave.
#include <cmath>

#include "bench/families.h"
#include "engine/random.h"
#include "kernels/fused_cnn/cpu.h"
#include "kernels/fused_cnn/timed.h"

namespace weft::bench {
namespace {

constexpr kernels::FusedCnnDims kDims = kernels::lenet5_dims(10);
constexpr std::int64_t kPixels = kDims.height * kDims.width;
constexpr kernels::Normalization kNormalization = {0.1307f, 0.3081f};

std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed, std::uint32_t modulus) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(philox(seed, RandomStream::data, 5, i / 4).value[i % 4] %
                                         modulus);
  }
  return bytes;
}

// Products of the formula, of one image: forward; backward only where pooling passes a gradient.
double forward_products() {
  const double maps1 = 6 * 28 * 28, maps2 = 16 * 10 * 10;
  return maps1 * 25 + maps2 * 150 + 400 * 120 + 120 * 84 + 84 * 10;
}
double step_products() {
  const double linear = 400 * 120 + 120 * 84 + 84 * 10;
  return forward_products() + 2 * linear + 2 * 400.0 * 150 + 6.0 * 14 * 14 * 25;
}

// Parameters that keep values from growing or vanishing on their way.
std::vector<float> initial_parameters(std::uint64_t seed) {
  return random_values(kDims.parameters(), seed, -0.08f, 0.08f);
}

class TrainWork final : public Work {
 public:
  TrainWork(std::int64_t rows, int steps, const Context& made_with)
      : Work(made_with),
        steps_(steps),
        rows_(rows),
        host_images_(random_bytes(rows * kPixels, made_with.seed, 256)),
        host_labels_(random_bytes(rows, made_with.seed + 1, 10)),
        host_parameters_(initial_parameters(made_with.seed + 2)),
        images_(host_images_, 1, made_with.stream),
        labels_(host_labels_, 1, made_with.stream),
        parameters_(host_parameters_, 1, made_with.stream),
        velocity_(kDims.parameters(), 1, made_with.stream),
        rates_(std::vector<float>(static_cast<std::size_t>(steps)), 1, made_with.stream),
        step_(1, 1, made_with.stream),
        totals_(sizeof(kernels::MetricTotals), 1, made_with.stream),
        scratch_(kernels::fused_cnn_workspace_bytes(kDims, rows, made_with.stream.device()),
                 made_with.stream) {
    problem = str(steps, " steps of lenet5, ", rows, " images each");
    flops = 2 * step_products() * static_cast<double>(rows * steps);
    // Images in; parameters and velocity in and out.
    bytes = static_cast<double>(steps) *
            (static_cast<double>(rows * kPixels) + 16.0 * static_cast<double>(kDims.parameters()));
    by_flops = true;
    options_.order = {rows, 1, rows, true, made_with.seed};
    options_.normalization = kNormalization;
    options_.sgd = {0.9f, 0, true};
  }

  bool can_run(std::string_view variant) const override {
    return variant != "resident_weights" &&
           kernels::fused_cnn_supports(kDims, context.stream.device());
  }
  void call(std::string_view variant, int) override {
    options_.variant = kernels::parse_fused_cnn_variant(variant);
    zero_bytes(step_[0], sizeof(std::int64_t), context.stream);
    kernels::fused_cnn_train(parameters_[0], velocity_[0], totals(), step_[0], images_[0],
                             labels_[0], rates_[0], rows_, steps_, kDims, options_,
                             {scratch_.data(), scratch_.bytes()}, context.stream);
  }
  void reset() override {
    copy_bytes(parameters_[0], context.stream.device(), host_parameters_.data(), Device::cpu(),
               parameters_.bytes(0).count, context.stream);
    zero_bytes(velocity_[0], velocity_.bytes(0).count, context.stream);
    zero_bytes(totals_[0], totals_.bytes(0).count, context.stream);
    context.stream.synchronize();
  }

  Verdict check(int, Arithmetic) override {
    if (gradient_.empty()) make_expected();
    const std::vector<float> parameters = parameters_.host(0), velocity = velocity_.host(0);
    const double momentum = static_cast<double>(options_.sgd.momentum);
    const double all = static_cast<double>(runs * steps_);
    const double sum = (1 - std::pow(momentum, all)) / (1 - momentum);
    double largest = 0;
    for (const double g : gradient_) largest = std::max(largest, std::fabs(g));
    Comparison comparison;
    for (std::size_t i = 0; i < velocity.size(); ++i) {
      comparison.add(parameters[i], static_cast<double>(host_parameters_[i]), 0);
      // Where two values of a window lie closer than rounding the other one may win.
      comparison.add(velocity[i], sum * gradient_[i], 1e-3 * sum * largest);
    }
    const std::vector<std::uint8_t> totals_bytes = totals_.host(0);
    kernels::MetricTotals found;
    std::copy(totals_bytes.begin(), totals_bytes.end(), reinterpret_cast<std::uint8_t*>(&found));
    comparison.add(static_cast<double>(found.rows), all * static_cast<double>(rows_), 0);
    comparison.add(found.loss_sum, all * loss_, 1e-4 * all * loss_);
    return comparison.verdict();
  }
  std::vector<Bytes> written(int) override { return {parameters_.bytes(0), velocity_.bytes(0)}; }

  // On a GPU: where the time of a step goes, measured.
  std::vector<Fact> facts(std::string_view variant) const override;

 private:
  kernels::MetricTotals* totals() { return reinterpret_cast<kernels::MetricTotals*>(totals_[0]); }
  void make_expected() {
    kernels::cpu::FusedCnnMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, rows_));
    memory.cut(bytes_of.data(), kDims, rows_);
    std::vector<double> parameters(host_parameters_.begin(), host_parameters_.end());
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals expected;
    std::int64_t step = 0;
    kernels::cpu::fused_cnn_train<double>(
        parameters.data(), velocity.data(), &expected, &step, host_images_.data(),
        host_labels_.data(), rates.data(), rows_, 1, kDims, options_.order, options_.augmentation,
        kernels::draw::line_of(kNormalization), options_.sgd, bytes_of.data());
    gradient_.assign(memory.gradients, memory.gradients + parameters.size());
    loss_ = expected.loss_sum;
  }

  int steps_;
  std::int64_t rows_;
  kernels::FusedCnnOptions options_;
  std::vector<std::uint8_t> host_images_, host_labels_;
  std::vector<float> host_parameters_;
  std::vector<double> gradient_;
  double loss_ = 0;
  Rotated<std::uint8_t> images_, labels_;
  Rotated<float> parameters_, velocity_, rates_;
  Rotated<std::int64_t> step_;
  Rotated<std::uint8_t> totals_;
  Buffer scratch_;
};

std::vector<Fact> TrainWork::facts(std::string_view variant) const {
  const Stream& stream = context.stream;
  if (variant != "persistent" || stream.device().is_cpu() || !can_run(variant)) return {};
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
        host_images_(random_bytes(rows * kPixels, made_with.seed, 256)),
        host_parameters_(initial_parameters(made_with.seed + 2)),
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
    return variant == "resident_weights" &&
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
  if (context.variant == "resident_weights") return std::make_unique<InferWork>(size, context);
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

}  // namespace weft::bench

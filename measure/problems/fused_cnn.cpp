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

problems::Training network_of(std::int64_t rows, Device device) {
  // A step without a GPU takes long.
  const int steps = device.is_cpu() || built_for_host_cuda() ? 2 : 64;
  // Where two values of a window lie closer than rounding the other one may win: the tolerance.
  return {rows,    steps, "lenet5", kPixels, kDims.classes, kDims.parameters(), step_products(),
          kSpread, 1e-3};
}

class TrainWork final : public NetworkWork {
 public:
  TrainWork(const Problem& of, const Context& made_with)
      : NetworkWork(of, made_with, random_bytes(of.rows * of.pixels, made_with.seed)) {
    options_.order = order_;
    options_.normalization = kNormalization;
    options_.sgd = p.kSgd;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::fused_cnn_operation(variant) == kernels::FusedCnnOperation::train &&
           kernels::fused_cnn_supports(kDims, device());
  }
  void call(std::string_view variant, int) override {
    options_.variant = variant;
    zero_bytes(step_[0], sizeof(std::int64_t), context.stream);
    kernels::fused_cnn_train(parameters_[0], velocity_[0], totals(), step_[0], images_[0],
                             labels_[0], rates_[0], p.rows, p.steps, kDims, options_, workspace(),
                             context.stream);
  }

  // On a GPU: where the time of a step goes, measured.
  std::vector<Fact> facts(std::string_view variant) const override;

 private:
  kernels::Workspace workspace() {
    return scratch(kernels::fused_cnn_workspace_bytes(kDims, p.rows, device()));
  }
  double expected(std::vector<double>& gradient) const override {
    kernels::cpu::FusedCnnMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, p.rows));
    memory.cut(bytes_of.data(), kDims, p.rows);
    std::vector<double> parameters = parameters_.doubles();
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals totals;
    std::int64_t step = 0;
    kernels::cpu::fused_cnn_train<double>(parameters.data(), velocity.data(), &totals, &step,
                                          images_.host.data(), labels_.host.data(), rates.data(),
                                          p.rows, 1, kDims, options_.order, options_.augmentation,
                                          kernels::draw::line_of(kNormalization), options_.sgd,
                                          options_.label_smoothing, bytes_of.data());
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
  TrainWork other(p, context);  // since this one does not change
  Tensor cycles(Shape{static_cast<std::int64_t>(parts.size())}, DType::i64, stream);
  const auto train = [&] {
    zero_bytes(other.step_[0], sizeof(std::int64_t), stream);
    zero_bytes(cycles.raw(), cycles.bytes(), stream);
    kernels::fused_cnn_train_timed(static_cast<long long*>(cycles.raw()), other.parameters_[0],
                                   other.velocity_[0], nullptr, other.step_[0], other.images_[0],
                                   other.labels_[0], other.rates_[0], p.rows, p.steps, kDims,
                                   other.options_, other.workspace(), stream);
  };
  other.reset();
  train();
  train();  // the second time everything is warm
  const std::vector<std::int64_t> found = to_host(cycles.view<std::int64_t>(), stream);
  double all = 0;
  for (const std::int64_t value : found) all += static_cast<double>(value);
  std::vector<Fact> facts;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double value = static_cast<double>(found[i]) / p.steps;
    facts.push_back({std::string(parts[i]), value,
                     str(static_cast<std::int64_t>(value), " cycles of a step, ",
                         static_cast<int>(100 * value * p.steps / all + 0.5), " %")});
  }
  return facts;
}

// Every weight is read once, and a sample of the rows is compared.
struct Inference {
  static constexpr bool kByFlops = true;

  std::int64_t rows;

  std::string text() const { return str("forward of lenet5, ", rows, " images"); }
  double bytes() const {
    return static_cast<double>(rows * (kPixels + 4 * kDims.classes + 4)) +
           4.0 * static_cast<double>(kDims.parameters());
  }
  double footprint() const { return HUGE_VAL; }  // one set of buffers
  double flops() const { return 2 * forward_products() * static_cast<double>(rows); }
};

class InferWork final : public ProblemWork<Inference> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    return kernels::fused_cnn_operation(variant) == kernels::FusedCnnOperation::infer &&
           kernels::fused_cnn_supports(kDims, device());
  }
  void call(std::string_view, int) override {
    kernels::fused_cnn_infer(logits_[0], predictions_[0], nullptr, parameters_[0], images_[0],
                             nullptr, p.rows, kDims, kNormalization,
                             scratch(kernels::fused_cnn_workspace_bytes(kDims, p.rows, device())),
                             context.stream);
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic) override {
    const std::vector<float> logits = logits_.found(set);
    const std::vector<std::int32_t> predictions = predictions_.found(set);
    const std::vector<double> parameters = parameters_.doubles();
    kernels::cpu::FusedCnnMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, 1));
    std::vector<double> expected(kDims.classes);
    for (const std::int64_t row : sample_indices(p.rows, 64, seed())) {
      kernels::cpu::fused_cnn_infer<double>(
          expected.data(), nullptr, nullptr, parameters.data(), images_.host.data() + row * kPixels,
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
  }

  Array<std::uint8_t>& images_ = input("images", random_bytes(p.rows* kPixels, seed()));
  Array<float>& parameters_ =
      input("parameters", random_values(kDims.parameters(), seed() + 2, -kSpread, kSpread));
  Array<float>& logits_ = output("logits", p.rows* kDims.classes);
  Array<std::int32_t>& predictions_ = output<std::int32_t>("predictions", p.rows);
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  if (kernels::fused_cnn_operation(context.variant) == kernels::FusedCnnOperation::infer) {
    return made<InferWork>({size})(context);
  }
  return made<TrainWork>(network_of(size, context.stream.device()))(context);
}
std::vector<MakeWork> problems_on(Device device) {
  const auto train = [=](std::int64_t rows) { return made<TrainWork>(network_of(rows, device)); };
  const auto infer = made<InferWork>;
  if (device.is_cpu()) return {train(32), infer({256})};
  return {train(64), train(128), train(256), train(1024), infer({10000})};
}

}  // namespace

extern const FamilyBench fused_cnn_bench = {
    "fused_cnn", "images in a batch", 256, std::int64_t{1} << 20, sized, problems_on};

}  // namespace weft::measure

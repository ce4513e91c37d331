// SPDX-License-Identifier: MIT
// The MLP trained as a whole, at a rate of 0, as bench_fused_cnn.cpp tells: velocity becomes a sum
// of gradients that are all the same.
#include <cmath>

#include "bench/families.h"
#include "engine/random.h"
#include "kernels/fused_mlp/cpu.h"

namespace weft::bench {
namespace {

constexpr kernels::FusedMlpDims kDims = {28, 28, 512, 512, 10};
constexpr kernels::Normalization kNormalization = {0.1307f, 0.3081f};

std::vector<std::uint8_t> random_bytes(std::int64_t n, std::uint64_t seed, std::uint32_t modulus) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(philox(seed, RandomStream::data, 5, i / 4).value[i % 4] %
                                         modulus);
  }
  return bytes;
}

class MlpWork final : public Work {
 public:
  MlpWork(std::int64_t rows, int steps, const Context& made_with)
      : Work(made_with),
        steps_(steps),
        rows_(rows),
        host_images_(random_bytes(rows * kDims.inputs(), made_with.seed, 256)),
        host_labels_(random_bytes(rows, made_with.seed + 1, kDims.classes)),
        host_parameters_(random_values(kDims.parameters(), made_with.seed + 2, -0.04f, 0.04f)),
        images_(host_images_, 1, made_with.stream),
        labels_(host_labels_, 1, made_with.stream),
        parameters_(host_parameters_, 1, made_with.stream),
        velocity_(kDims.parameters(), 1, made_with.stream),
        rates_(std::vector<float>(static_cast<std::size_t>(steps)), 1, made_with.stream),
        step_(1, 1, made_with.stream),
        totals_(sizeof(kernels::MetricTotals), 1, made_with.stream),
        scratch_(kernels::fused_mlp_workspace_bytes(kDims, rows, made_with.stream.device()),
                 made_with.stream) {
    problem = str(steps, " steps of mlp, ", rows, " images each");
    const double weights = static_cast<double>(kDims.parameters());
    flops = 2 * 3 * weights * static_cast<double>(rows * steps);  // the image needs no gradient
    flops -= 2 * static_cast<double>(kDims.inputs() * kDims.hidden1 * rows * steps);
    bytes =
        static_cast<double>(steps) * (static_cast<double>(rows * kDims.inputs()) + 16.0 * weights);
    by_flops = true;
    options_.order = {rows, 1, rows, true, made_with.seed};
    options_.normalization = kNormalization;
    options_.sgd = {0.9f, 0, true};
  }

  bool can_run(std::string_view) const override {
    return kernels::fused_mlp_supports(kDims, context.stream.device());
  }
  void call(std::string_view, int) override {
    const kernels::FusedMlpState state{parameters_[0], velocity_[0], totals(), step_[0],
                                       images_[0],     labels_[0],   rates_[0]};
    const kernels::Workspace workspace{scratch_.data(), scratch_.bytes()};
    zero_bytes(step_[0], sizeof(std::int64_t), context.stream);
    kernels::fused_mlp_prepare(state, rows_, kDims, options_, workspace, context.stream);
    kernels::fused_mlp_train(state, rows_, steps_, kDims, options_, workspace, context.stream);
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
      // A value close to the middle of two bfloat16 may be rounded to the other one.
      comparison.add(velocity[i], sum * gradient_[i], sum * largest / 128);
    }
    const std::vector<std::uint8_t> totals_bytes = totals_.host(0);
    kernels::MetricTotals found;
    std::copy(totals_bytes.begin(), totals_bytes.end(), reinterpret_cast<std::uint8_t*>(&found));
    comparison.add(static_cast<double>(found.rows), all * static_cast<double>(rows_), 0);
    comparison.add(found.loss_sum, all * loss_, 1e-4 * all * loss_);
    return comparison.verdict();
  }
  std::vector<Bytes> written(int) override { return {parameters_.bytes(0), velocity_.bytes(0)}; }

 private:
  kernels::MetricTotals* totals() { return reinterpret_cast<kernels::MetricTotals*>(totals_[0]); }
  void make_expected() {
    kernels::cpu::FusedMlpMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, rows_));
    memory.cut(bytes_of.data(), kDims, rows_);
    std::vector<double> parameters(host_parameters_.begin(), host_parameters_.end());
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals expected;
    std::int64_t step = 0;
    kernels::cpu::fused_mlp_train<double>(parameters.data(), velocity.data(), &expected, &step,
                                          host_images_.data(), host_labels_.data(), rates.data(),
                                          rows_, 1, kDims, options_,
                                          kernels::draw::line_of(kNormalization), bytes_of.data());
    gradient_.assign(memory.gradients, memory.gradients + parameters.size());
    loss_ = expected.loss_sum;
  }

  int steps_;
  std::int64_t rows_;
  kernels::FusedMlpOptions options_;
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

// A step without a GPU takes long.
int steps_on(Device device) {
  return device.is_cpu() || built_for_host_cuda() ? 1 : 16;
}

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return std::make_unique<MlpWork>(size, steps_on(context.stream.device()), context);
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  const auto train = [=](std::int64_t rows) {
    return [=](const Context& c) -> std::unique_ptr<Work> {
      return std::make_unique<MlpWork>(rows, steps_on(device), c);
    };
  };
  if (device.is_cpu()) return {train(16)};
  return {train(256), train(1024)};
}

}  // namespace

extern const FamilyBench fused_mlp_bench = {
    "fused_mlp", "images in a batch", 1024, std::int64_t{1} << 20, sized, problems};

}  // namespace weft::bench

// SPDX-License-Identifier: MIT
// The MLP trained as a whole: see network_work.h.
#include "kernels/networks/mlp/cpu/templates.h"
#include "measure/families.h"
#include "measure/problems/network_work.h"

namespace weft::measure {
namespace {

constexpr kernels::FusedMlpDims kDims = {28, 28, 512, 512, 10};

NetworkProblem network_of(std::int64_t rows, Device device) {
  // Three products for a weight, but for the first layer two: the image needs no gradient.
  const double products =
      static_cast<double>(3 * kDims.parameters() - kDims.inputs() * kDims.hidden1);
  // A value close to the middle of two bfloat16 may be rounded to the other one: the tolerance.
  return {"mlp",         kDims.inputs(),
          kDims.classes, kDims.parameters(),
          products,      0.04f,
          1.0 / 128,     kernels::fused_mlp_workspace_bytes(kDims, rows, device)};
}

class MlpWork final : public NetworkWork {
 public:
  MlpWork(std::int64_t rows, int steps, const Context& made_with)
      : NetworkWork(network_of(rows, made_with.stream.device()), rows, steps, made_with) {
    options_.order = order_;
    options_.normalization = kNormalization;
    options_.sgd = sgd_;
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

 private:
  double expected(std::vector<double>& gradient) const override {
    kernels::cpu::FusedMlpMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, kDims, rows_));
    memory.cut(bytes_of.data(), kDims, rows_);
    std::vector<double> parameters(host_parameters_.begin(), host_parameters_.end());
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals totals;
    std::int64_t step = 0;
    kernels::cpu::fused_mlp_train<double>(parameters.data(), velocity.data(), &totals, &step,
                                          host_images_.data(), host_labels_.data(), rates.data(),
                                          rows_, 1, kDims, options_,
                                          kernels::draw::line_of(kNormalization), bytes_of.data());
    gradient.assign(memory.gradients, memory.gradients + parameters.size());
    return totals.loss_sum;
  }

  kernels::FusedMlpOptions options_;
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

}  // namespace weft::measure

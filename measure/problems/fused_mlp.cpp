// SPDX-License-Identifier: MIT
// The MLP trained as a whole: see network_work.h.
#include "kernels/networks/mlp/cpu/templates.h"
#include "measure/families.h"
#include "measure/problems/network_work.h"

namespace weft::measure {
namespace {

constexpr kernels::FusedMlpDims kDims = {28, 28, 512, 512, 10};

kernels::FusedMlpDims dims_of(kernels::ComputeMode mode) {
  kernels::FusedMlpDims dims = kDims;
  dims.mode = mode;
  return dims;
}

// In bf16 a value close to the middle of two bfloat16 may be rounded to the other one. In fp32 the
// weights of two units may differ: of 1024 images one does it to 200 weights, by 1e-3 of the
// largest gradient.
GradientTolerance tolerance_in(kernels::ComputeMode mode) {
  if (mode == kernels::ComputeMode::bf16) return {1.0 / 128};
  return {1e-5, 2 * (kDims.inputs() + 1), 2e-3};
}

NetworkProblem network_of(std::int64_t rows, Device device) {
  // Three products for a weight, but for the first layer two: the image needs no gradient.
  const double products =
      static_cast<double>(3 * kDims.parameters() - kDims.inputs() * kDims.hidden1);
  std::size_t workspace = 0;
  for (const auto mode : {kernels::ComputeMode::fp32, kernels::ComputeMode::bf16}) {
    workspace =
        std::max(workspace, kernels::fused_mlp_workspace_bytes(dims_of(mode), rows, device));
  }
  return {"mlp", kDims.inputs(), kDims.classes, kDims.parameters(), products, 0.04f, {}, workspace};
}

class MlpWork final : public NetworkWork {
 public:
  MlpWork(std::int64_t rows, int steps, const Context& made_with)
      : NetworkWork(network_of(rows, made_with.stream.device()), rows, steps, made_with) {
    options_.order = order_;
    options_.normalization = kNormalization;
    options_.sgd = sgd_;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::fused_mlp_supports(dims_of(mode_of(variant)), context.stream.device());
  }
  void call(std::string_view variant, int) override {
    if (mode_of(variant) != dims_.mode || gradient_.empty()) {
      dims_.mode = mode_of(variant);
      tolerance_ = tolerance_in(dims_.mode);
      gradient_.clear();
    }
    const kernels::FusedMlpState state{parameters_[0], velocity_[0], totals(), step_[0],
                                       images_[0],     labels_[0],   rates_[0]};
    const kernels::Workspace workspace{scratch_.data(), scratch_.bytes()};
    zero_bytes(step_[0], sizeof(std::int64_t), context.stream);
    kernels::fused_mlp_prepare(state, rows_, dims_, options_, workspace, context.stream);
    kernels::fused_mlp_train(state, rows_, steps_, dims_, options_, workspace, context.stream);
  }

 private:
  static kernels::ComputeMode mode_of(std::string_view variant) {
    return measure::mode_of(*kernels::fused_mlp_rungs().find(variant));
  }
  double expected(std::vector<double>& gradient) const override {
    kernels::cpu::FusedMlpMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, dims_, rows_));
    memory.cut(bytes_of.data(), dims_, rows_);
    std::vector<double> parameters(host_parameters_.begin(), host_parameters_.end());
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals totals;
    std::int64_t step = 0;
    kernels::cpu::fused_mlp_train<double>(parameters.data(), velocity.data(), &totals, &step,
                                          host_images_.data(), host_labels_.data(), rates.data(),
                                          rows_, 1, dims_, options_,
                                          kernels::draw::line_of(kNormalization), bytes_of.data());
    gradient.assign(memory.gradients, memory.gradients + parameters.size());
    return totals.loss_sum;
  }

  kernels::FusedMlpDims dims_ = kDims;
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

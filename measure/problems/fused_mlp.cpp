// SPDX-License-Identifier: MIT
// The MLP trained as a whole: see network_work.h.
#include <algorithm>
#include <cmath>

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

// The tolerance of a gradient, relative to the largest. In bf16 a value close to the middle of two
// bfloat16 may be rounded to the other one.
double tolerance_in(kernels::ComputeMode mode) {
  return mode == kernels::ComputeMode::bf16 ? 1.0 / 128 : 1e-5;
}

problems::Training network_of(std::int64_t rows, Device device) {
  // A step without a GPU takes long.
  const int steps = device.is_cpu() || built_for_host_cuda() ? 1 : 16;
  // Three products for a weight, but for the first layer two: the image needs no gradient.
  const double products =
      static_cast<double>(3 * kDims.parameters() - kDims.inputs() * kDims.hidden1);
  return {rows,     steps, "mlp", kDims.inputs(), kDims.classes, kDims.parameters(),
          products, 0.04f, 0};
}

class MlpWork final : public NetworkWork {
 public:
  MlpWork(const Problem& of, const Context& made_with)
      : NetworkWork(of, made_with, clear_images(of, made_with.seed)) {
    options_.order = order_;
    options_.normalization = kNormalization;
    options_.sgd = p.kSgd;
  }

  bool can_run(std::string_view variant) const override {
    return kernels::fused_mlp_supports(dims_of(mode_of(variant)), device());
  }
  void call(std::string_view variant, int) override {
    if (mode_of(variant) != dims_.mode || gradient_.empty()) {
      dims_.mode = mode_of(variant);
      tolerance_ = tolerance_in(dims_.mode);
      gradient_.clear();
    }
    const kernels::FusedMlpState state{parameters_[0], velocity_[0], totals(), step_[0],
                                       images_[0],     labels_[0],   rates_[0]};
    const kernels::Workspace workspace =
        scratch(kernels::fused_mlp_workspace_bytes(dims_, p.rows, device()));
    zero_bytes(step_[0], sizeof(std::int64_t), context.stream);
    kernels::fused_mlp_prepare(state, p.rows, dims_, options_, workspace, context.stream);
    kernels::fused_mlp_train(state, p.rows, p.steps, dims_, options_, workspace, context.stream);
  }

 private:
  static kernels::ComputeMode mode_of(std::string_view variant) {
    return measure::mode_of(*kernels::fused_mlp_rungs().find(variant));
  }
  // A hidden value within rounding of zero may pass its ReLU here and not in double, which then
  // shows in every gradient behind it. One of 1024 images did that. So images whose hidden values
  // come close to zero are replaced by others.
  static std::vector<std::uint8_t> clear_images(const Problem& p, std::uint64_t seed) {
    std::vector<std::uint8_t> images = random_bytes(p.rows * p.pixels, seed);
    const std::vector<float> drawn = parameters_of(p, seed);
    const std::vector<double> parameters(drawn.begin(), drawn.end());
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t image = 0; image < p.rows; ++image) {
      std::uint8_t* const pixels = images.data() + image * p.pixels;
      for (std::uint64_t turn = 1; comes_close_to_zero(pixels, parameters.data()); ++turn) {
        const std::uint64_t other = seed + (turn << 32) + static_cast<std::uint64_t>(image);
        std::ranges::copy(random_bytes(p.pixels, other), pixels);
      }
    }
    return images;
  }
  static bool comes_close_to_zero(const std::uint8_t* pixels, const double* parameters) {
    constexpr double kClose = 1e-5;  // hidden values are of the size of 1
    const auto line = kernels::draw::line_of(kNormalization);
    std::vector<double> in(pixels, pixels + kDims.inputs()), out;
    for (double& pixel : in) pixel = line.slope * pixel + line.offset;
    for (int i = 0; i < 2; ++i, in.swap(out)) {
      const kernels::cpu::FusedMlpLayer<const double> layer(parameters, kDims, i);
      out.resize(static_cast<std::size_t>(layer.out));
      kernels::cpu::linear_forward(out.data(), in.data(), layer.weight, layer.bias, 1, layer.out,
                                   layer.in, kernels::Epilogue::none);
      for (double& value : out) {
        if (std::fabs(value) < kClose) return true;
        value = std::max(value, 0.0);
      }
    }
    return false;
  }
  double expected(std::vector<double>& gradient) const override {
    kernels::cpu::FusedMlpMemory<double> memory;
    std::vector<std::uint8_t> bytes_of(memory.cut(nullptr, dims_, p.rows));
    memory.cut(bytes_of.data(), dims_, p.rows);
    std::vector<double> parameters = parameters_.doubles();
    std::vector<double> velocity(parameters.size());
    const std::vector<double> rates(1);
    kernels::MetricTotals totals;
    std::int64_t step = 0;
    kernels::cpu::fused_mlp_train<double>(parameters.data(), velocity.data(), &totals, &step,
                                          images_.host.data(), labels_.host.data(), rates.data(),
                                          p.rows, 1, dims_, options_,
                                          kernels::draw::line_of(kNormalization), bytes_of.data());
    gradient.assign(memory.gradients, memory.gradients + parameters.size());
    return totals.loss_sum;
  }

  kernels::FusedMlpDims dims_ = kDims;
  kernels::FusedMlpOptions options_;
};

std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return made<MlpWork>(network_of(size, context.stream.device()))(context);
}
std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return made_of<MlpWork>({network_of(16, device)});
  return made_of<MlpWork>({network_of(256, device), network_of(1024, device)});
}

}  // namespace

extern const FamilyBench fused_mlp_bench = {
    "fused_mlp", "images in a batch", 1024, std::int64_t{1} << 20, sized, problems_on};

}  // namespace weft::measure

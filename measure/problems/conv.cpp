// SPDX-License-Identifier: MIT
// The passes of a convolution layer.
#include "measure/problems/conv.h"

#include <algorithm>

#include "kernels/conv/parts/validate.h"
#include "measure/problem_work.h"

namespace weft::measure {
namespace {

using kernels::ConvDims;
using kernels::ConvPass;

constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::backward_data,
                                ConvPass::backward_weights};

kernels::ConvOptions options_of(std::string_view name) {
  const auto [rung, mode] = rung_in_mode(kernels::conv_rungs(), name);
  return {.variant = rung, .mode = mode};
}

class ConvWork final : public ProblemWork<problems::Conv> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    const kernels::ConvOptions options = options_of(variant);
    if (p.few && p.dims.c > kernels::conv_network_channels(options.variant)) return false;
    return !takes_minutes(kernels::conv_rungs(), variant, flops, device()) &&
           kernels::conv_takes(options.variant, {p.pass, p.dims, options.mode}, device());
  }
  Arithmetic arithmetic_of(const kernels::Rung& rung) const override {
    return *kernels::conv_arithmetic(rung.name, p.pass, options_of(rung.name).mode);
  }
  // What computes a pass as another call of the same rung does is left out.
  std::vector<Variant> further_variants() const override {
    std::vector<Variant> variants;
    if (device().is_cpu() || device_properties(device()).compute_capability < 80) return variants;
    for (const kernels::Rung& rung : kernels::conv_rungs()) {
      std::vector<Arithmetic> there{arithmetic_of(rung)};
      for (const auto& [name, mode] : rung.modes) {
        if (name == rung.name) continue;
        const Arithmetic arithmetic = *kernels::conv_arithmetic(rung.name, p.pass, mode);
        if (std::find(there.begin(), there.end(), arithmetic) != there.end()) continue;
        there.push_back(arithmetic);
        variants.push_back({std::string(name), rung.name, arithmetic});
      }
    }
    return variants;
  }
  void call(std::string_view variant, int set) override {
    const kernels::ConvOptions options = options_of(variant);
    const Stream& stream = context.stream;
    const kernels::Workspace workspace =
        scratch(conv2d_workspace_bytes(p.pass, p.dims, options, device()));
    constexpr auto kOverwrite = kernels::GradientMode::overwrite;
    switch (p.pass) {
      case ConvPass::forward:
        return kernels::conv2d_forward(y_[set], x_[set], w_[set], nullptr, p.dims,
                                       kernels::Epilogue::none, options, workspace, stream);
      case ConvPass::backward_data:
        return kernels::conv2d_backward_data(x_[set], y_[set], w_[set], p.dims, kOverwrite, options,
                                             workspace, stream);
      case ConvPass::backward_weights:
        return kernels::conv2d_backward_weights(w_[set], nullptr, y_[set], x_[set], p.dims,
                                                kOverwrite, options, workspace, stream);
    }
  }
  double error(int set) override {
    double worst = 0;
    each_sample(set, 1024, [&](double found, const problems::Terms& terms) {
      worst = std::max(worst, terms.error(found));
    });
    return worst;
  }

 private:
  void compare(Comparison& comparison, int set, Arithmetic arithmetic) override {
    const std::int64_t samples = p.pass == ConvPass::backward_weights ? 128 : 1024;
    each_sample(set, samples, [&](double found, const problems::Terms& terms) {
      comparison.add(found, terms.sum, terms.bound(product_error(arithmetic)));
    });
  }
  template <class Visit>
  void each_sample(int set, std::int64_t samples, const Visit& visit) const {
    const Array<float>& out = p.pass == ConvPass::forward         ? y_
                              : p.pass == ConvPass::backward_data ? x_
                                                                  : w_;
    const std::vector<float> found = out.found(set);
    const std::vector<std::int64_t> sample = sample_indices(out.size(), samples, seed());
    std::vector<problems::Terms> terms(sample.size());
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < sample.size(); ++i) {
      terms[i] = p.expected(sample[i], x_.host.data(), y_.host.data(), w_.host.data());
    }
    for (std::size_t i = 0; i < sample.size(); ++i) {
      visit(static_cast<double>(found[static_cast<std::size_t>(sample[i])]), terms[i]);
    }
  }
  Array<float>& tensor(std::string_view name, std::int64_t n, ConvPass writes, std::uint64_t more) {
    if (p.pass == writes) return output(name, n);
    return input(name, spread_values(n, seed() + more, context.spread));
  }

  Array<float>& x_ = tensor("x", p.inputs(), ConvPass::backward_data, 0);
  Array<float>& y_ = tensor("y", p.outputs(), ConvPass::forward, 1);
  Array<float>& w_ = tensor("w", p.weights(), ConvPass::backward_weights, 2);
};

}  // namespace

MakeWork conv_work(const problems::Conv& p) {
  return made<ConvWork>(p);
}

ConvDims layer_of(std::span<const std::int64_t> size) {
  constexpr std::int64_t kShape[] = {0, 16, 28, 28, 32, 3};
  const auto extent = [&](std::size_t i) { return size.size() > 1 ? size[i] : kShape[i]; };
  const std::int64_t kernel = extent(5), pad = (kernel - 1) / 2;
  const ConvDims dims{.n = size[0],
                      .c = extent(1),
                      .h = extent(2),
                      .w = extent(3),
                      .oc = extent(4),
                      .kh = kernel,
                      .kw = kernel,
                      .pad_h = pad,
                      .pad_w = pad};
  kernels::check_conv_dims(dims);
  return dims;
}

std::vector<NamedChoice> choices_by_mode_and_pass(
    const std::function<kernels::Choice(ConvPass, kernels::ComputeMode)>& choice) {
  using kernels::ComputeMode;
  std::vector<NamedChoice> all;
  for (const auto& [name, mode] : {std::pair{"fp32", ComputeMode::fp32},
                                   {"tf32", ComputeMode::tf32},
                                   {"bf16", ComputeMode::bf16}}) {
    for (const ConvPass pass : kPasses) {
      all.push_back({str(name, ", ", problems::name_of(pass)), choice(pass, mode)});
    }
  }
  return all;
}

namespace {

std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  return made<ConvWork>({layer_of(size)})(context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return choices_by_mode_and_pass([&](ConvPass pass, kernels::ComputeMode mode) {
    return kernels::conv_choice({pass, layer_of(size), mode}, device);
  });
}

// Layers of 3 x 3 filters that leave the size of images as it is.
ConvDims same(std::int64_t n, std::int64_t c, std::int64_t side, std::int64_t oc) {
  return {.n = n, .c = c, .h = side, .w = side, .oc = oc, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1};
}
// All passes of these layers, but for the first one where it reads images: nobody asks for the
// gradient of an image.
std::vector<MakeWork> passes_of(const std::vector<ConvDims>& layers, bool few = false) {
  std::vector<MakeWork> all;
  for (const ConvDims& layer : layers) {
    for (const ConvPass pass : kPasses) {
      if (layer.c == 1 && pass == ConvPass::backward_data) continue;
      all.push_back(made<ConvWork>({layer, pass, few}));
    }
  }
  return all;
}

std::vector<MakeWork> problems_on(Device device) {
  if (device.is_cpu()) return passes_of({same(16, 16, 28, 32)});
  // LeNet's two layers, then the 3x3 layers of ResNet.
  return passes_of(
      {{.n = 256, .c = 1, .h = 28, .w = 28, .oc = 6, .kh = 5, .kw = 5, .pad_h = 2, .pad_w = 2},
       {.n = 256, .c = 6, .h = 14, .w = 14, .oc = 16, .kh = 5, .kw = 5},
       same(64, 64, 56, 64),
       same(64, 128, 28, 128),
       same(64, 256, 14, 256)});
}

// `weft bench conv:networks`: the layers of convnet at batch 1024, and 3 x 3 layers of a wider
// network.
std::vector<MakeWork> network_problems(Device device) {
  const std::int64_t batch = device.is_cpu() ? 16 : 1024, half = batch / 2;
  return passes_of({{.n = batch, .c = 1, .h = 28, .w = 28, .oc = 32, .kh = 3, .kw = 3},
                    {.n = batch, .c = 32, .h = 26, .w = 26, .oc = 64, .kh = 3, .kw = 3},
                    same(half, 32, 28, 32),
                    same(half, 64, 28, 64),
                    same(half, 64, 14, 64),
                    same(half, 128, 14, 128),
                    same(half, 128, 7, 128)},
                   true);
}

}  // namespace

extern const FamilyBench conv_bench = {
    .family = "conv",
    .size_meaning =
        "images of 16 x 28 x 28 under 32 filters of 3 x 3, or images, channels, height, "
        "width, filters and their side as 16x16x28x28x32x3",
    .default_size = 16,
    .largest_size = 65536,
    .sized = sized,
    .problems = problems_on,
    .more_name = "networks",
    .more = network_problems,
    .shape_extents = 6,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure

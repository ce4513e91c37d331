// SPDX-License-Identifier: MIT
#include "measure/problems/conv.h"

#include <algorithm>
#include <cmath>

#include "kernels/conv/parts/validate.h"
#include "measure/families.h"

namespace weft::measure {
namespace {

using kernels::ConvDims;
using kernels::ConvPass;

std::int64_t inputs(const ConvDims& d) {
  return d.n * d.c * d.h * d.w;
}
std::int64_t outputs(const ConvDims& d) {
  return d.n * d.oc * d.oh() * d.ow();
}
std::int64_t weights(const ConvDims& d) {
  return d.oc * d.c * d.kh * d.kw;
}
double footprint(const ConvDims& d) {
  return 4.0 * static_cast<double>(inputs(d) + outputs(d) + weights(d));
}

kernels::ConvOptions options_of(std::string_view name) {
  const auto [rung, mode] = rung_in_mode(kernels::conv_rungs(), name);
  return {.variant = rung, .mode = mode};
}

const char* name_of(ConvPass pass) {
  return pass == ConvPass::forward         ? "forward"
         : pass == ConvPass::backward_data ? "backward data"
                                           : "backward weights";
}

}  // namespace

ConvWork::ConvWork(const ConvDims& d, ConvPass which, const Context& made_with, bool few)
    : Work(made_with),
      dims(d),
      pass(which),
      few_(few),
      host_x_(spread_values(inputs(d), made_with.seed, made_with.spread)),
      host_y_(spread_values(outputs(d), made_with.seed + 1, made_with.spread)),
      host_w_(spread_values(weights(d), made_with.seed + 2, made_with.spread)),
      x_(host_x_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
      y_(host_y_, sets_for(footprint(d), made_with.stream.device()), made_with.stream),
      w_(host_w_, sets_for(footprint(d), made_with.stream.device()), made_with.stream) {
  problem = str(name_of(pass), " ", d.n, " x ", d.c, " x ", d.h, " x ", d.w, ", ", d.oc,
                " filters ", d.kh, "x", d.kw);
  bytes = footprint(d);
  flops = 2.0 * static_cast<double>(outputs(d)) * static_cast<double>(d.c * d.kh * d.kw);
  by_flops = true;
  sets = sets_for(bytes, made_with.stream.device());
}

bool ConvWork::can_run(std::string_view variant) const {
  const kernels::ConvOptions options = options_of(variant);
  const Device device = context.stream.device();
  if (few_ && dims.c > kernels::conv_network_channels(options.variant)) return false;
  return !takes_minutes(kernels::conv_rungs(), variant, flops, device) &&
         kernels::conv_takes(options.variant, {pass, dims, options.mode}, device);
}

Arithmetic ConvWork::arithmetic_of(const kernels::Rung& rung) const {
  return *kernels::conv_arithmetic(rung.name, pass, options_of(rung.name).mode);
}

// What computes a pass as another call of the same rung does is left out.
std::vector<Variant> ConvWork::further_variants() const {
  const Device device = context.stream.device();
  std::vector<Variant> variants;
  if (device.is_cpu() || device_properties(device).compute_capability < 80) return variants;
  for (const kernels::Rung& rung : kernels::conv_rungs()) {
    std::vector<Arithmetic> there{arithmetic_of(rung)};
    for (const auto& [name, mode] : rung.modes) {
      if (name == rung.name) continue;
      const Arithmetic arithmetic = *kernels::conv_arithmetic(rung.name, pass, mode);
      if (std::find(there.begin(), there.end(), arithmetic) != there.end()) continue;
      there.push_back(arithmetic);
      variants.push_back({std::string(name), rung.name, arithmetic});
    }
  }
  return variants;
}

Rotated<float>& ConvWork::output() {
  return pass == ConvPass::forward ? y_ : pass == ConvPass::backward_data ? x_ : w_;
}

void ConvWork::reset() {
  output().clear();
}

void ConvWork::call(std::string_view variant, int set) {
  const kernels::ConvOptions options = options_of(variant);
  const Stream& stream = context.stream;
  const std::size_t needed = conv2d_workspace_bytes(pass, dims, options, stream.device());
  if (scratch_.bytes() < needed) {
    scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, stream);
  }
  const kernels::Workspace workspace{scratch_.raw(), scratch_.bytes()};
  if (pass == ConvPass::forward) {
    kernels::conv2d_forward(y_[set], x_[set], w_[set], nullptr, dims, kernels::Epilogue::none,
                            options, workspace, stream);
  } else if (pass == ConvPass::backward_data) {
    kernels::conv2d_backward_data(x_[set], y_[set], w_[set], dims, kernels::GradientMode::overwrite,
                                  options, workspace, stream);
  } else {
    kernels::conv2d_backward_weights(w_[set], nullptr, y_[set], x_[set], dims,
                                     kernels::GradientMode::overwrite, options, workspace, stream);
  }
}

// One output element of the pass by its formula, in double.
ConvWork::Terms ConvWork::expected(std::int64_t at) const {
  const ConvDims& d = dims;
  const std::int64_t oh = d.oh(), ow = d.ow();
  Terms terms;
  const auto add = [&](const std::vector<float>& a, std::int64_t i, const std::vector<float>& b,
                       std::int64_t j) {
    const double product = static_cast<double>(a[static_cast<std::size_t>(i)]) *
                           static_cast<double>(b[static_cast<std::size_t>(j)]);
    terms.sum += product;
    terms.squares += product * product;
    terms.magnitude += std::fabs(product);
    terms.count += 1;
  };
  if (pass == ConvPass::forward) {
    const std::int64_t q = at % ow, p = at / ow % oh, o = at / (ow * oh) % d.oc;
    const std::int64_t n = at / (ow * oh * d.oc);
    for (std::int64_t c = 0; c < d.c; ++c) {
      for (std::int64_t r = 0; r < d.kh; ++r) {
        for (std::int64_t s = 0; s < d.kw; ++s) {
          const std::int64_t i = p * d.stride_h + r - d.pad_h, j = q * d.stride_w + s - d.pad_w;
          if (i < 0 || i >= d.h || j < 0 || j >= d.w) continue;
          add(host_x_, ((n * d.c + c) * d.h + i) * d.w + j, host_w_,
              ((o * d.c + c) * d.kh + r) * d.kw + s);
        }
      }
    }
  } else if (pass == ConvPass::backward_data) {
    const std::int64_t j = at % d.w, i = at / d.w % d.h, c = at / (d.w * d.h) % d.c;
    const std::int64_t n = at / (d.w * d.h * d.c);
    for (std::int64_t o = 0; o < d.oc; ++o) {
      for (std::int64_t r = 0; r < d.kh; ++r) {
        for (std::int64_t s = 0; s < d.kw; ++s) {
          const std::int64_t p = i + d.pad_h - r, q = j + d.pad_w - s;
          if (p < 0 || q < 0 || p % d.stride_h != 0 || q % d.stride_w != 0) continue;
          if (p / d.stride_h >= oh || q / d.stride_w >= ow) continue;
          add(host_y_, ((n * d.oc + o) * oh + p / d.stride_h) * ow + q / d.stride_w, host_w_,
              ((o * d.c + c) * d.kh + r) * d.kw + s);
        }
      }
    }
  } else {
    const std::int64_t s = at % d.kw, r = at / d.kw % d.kh, c = at / (d.kw * d.kh) % d.c;
    const std::int64_t o = at / (d.kw * d.kh * d.c);
    for (std::int64_t n = 0; n < d.n; ++n) {
      for (std::int64_t p = 0; p < oh; ++p) {
        for (std::int64_t q = 0; q < ow; ++q) {
          const std::int64_t i = p * d.stride_h + r - d.pad_h, j = q * d.stride_w + s - d.pad_w;
          if (i < 0 || i >= d.h || j < 0 || j >= d.w) continue;
          add(host_y_, ((n * d.oc + o) * oh + p) * ow + q, host_x_,
              ((n * d.c + c) * d.h + i) * d.w + j);
        }
      }
    }
  }
  return terms;
}

double ConvWork::error(int set) {
  const std::vector<float> found = output().host(set);
  double worst = 0;
  for (const std::int64_t at :
       sample_indices(static_cast<std::int64_t>(found.size()), 1024, context.seed)) {
    const Terms terms = expected(at);
    const double off =
        std::fabs(static_cast<double>(found[static_cast<std::size_t>(at)]) - terms.sum);
    if (std::isnan(off)) return HUGE_VAL;
    if (terms.magnitude > 0) worst = std::max(worst, off / terms.magnitude);
  }
  return std::ldexp(worst, 24);
}

Verdict ConvWork::check(int set, Arithmetic arithmetic) {
  const std::vector<float> found = output().host(set);
  const std::int64_t samples = pass == ConvPass::backward_weights ? 128 : 1024;
  Comparison comparison;
  for (const std::int64_t at :
       sample_indices(static_cast<std::int64_t>(found.size()), samples, context.seed)) {
    const Terms terms = expected(at);
    const double bound =
        6 * product_error(arithmetic) * std::sqrt(terms.squares) +
        4 * std::ldexp(1.0, -23) *
            (std::fabs(terms.sum) + std::sqrt(terms.squares * std::max(terms.count, 1.0)));
    comparison.add(found[static_cast<std::size_t>(at)], terms.sum, bound);
  }
  return comparison.verdict();
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
    for (const auto pass :
         {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
      all.push_back({str(name, ", ", name_of(pass)), choice(pass, mode)});
    }
  }
  return all;
}

namespace {

std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  return std::make_unique<ConvWork>(layer_of(size), ConvPass::forward, context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return choices_by_mode_and_pass([&](ConvPass pass, kernels::ComputeMode mode) {
    return kernels::conv_choice({pass, layer_of(size), mode}, device);
  });
}

std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const auto add = [&](const ConvDims& dims, std::initializer_list<ConvPass> passes) {
    for (const ConvPass pass : passes) {
      all.push_back([=](const Context& c) { return std::make_unique<ConvWork>(dims, pass, c); });
    }
  };
  const auto same = [](std::int64_t n, std::int64_t c, std::int64_t side, std::int64_t oc) {
    return ConvDims{
        .n = n, .c = c, .h = side, .w = side, .oc = oc, .kh = 3, .kw = 3, .pad_h = 1, .pad_w = 1};
  };
  constexpr auto kForward = ConvPass::forward;
  constexpr auto kData = ConvPass::backward_data, kWeights = ConvPass::backward_weights;
  if (device.is_cpu()) {
    add(same(16, 16, 28, 32), {kForward, kData, kWeights});
    return all;
  }
  // LeNet's two layers, then the 3x3 layers of ResNet.
  const ConvDims lenet1{
      .n = 256, .c = 1, .h = 28, .w = 28, .oc = 6, .kh = 5, .kw = 5, .pad_h = 2, .pad_w = 2};
  const ConvDims lenet2{.n = 256, .c = 6, .h = 14, .w = 14, .oc = 16, .kh = 5, .kw = 5};
  add(lenet1, {kForward, kWeights});
  add(lenet2, {kForward, kData, kWeights});
  add(same(64, 64, 56, 64), {kForward, kData, kWeights});
  add(same(64, 128, 28, 128), {kForward, kData, kWeights});
  add(same(64, 256, 14, 256), {kForward, kData, kWeights});
  return all;
}

// `weft bench conv:networks`: the layers of convnet at batch 1024, and 3 x 3 layers of a wider
// network.
std::vector<std::function<std::unique_ptr<Work>(const Context&)>> network_problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::backward_data,
                                  ConvPass::backward_weights};
  const std::int64_t batch = device.is_cpu() ? 16 : 1024;
  const ConvDims first{.n = batch, .c = 1, .h = 28, .w = 28, .oc = 32, .kh = 3, .kw = 3};
  const ConvDims second{.n = batch, .c = 32, .h = 26, .w = 26, .oc = 64, .kh = 3, .kw = 3};
  for (const ConvPass pass : {ConvPass::forward, ConvPass::backward_weights}) {
    all.push_back(
        [=](const Context& c) { return std::make_unique<ConvWork>(first, pass, c, true); });
  }
  for (const ConvPass pass : kPasses) {
    all.push_back(
        [=](const Context& c) { return std::make_unique<ConvWork>(second, pass, c, true); });
  }
  const std::int64_t channels_and_side[][2] = {{32, 28}, {64, 28}, {64, 14}, {128, 14}, {128, 7}};
  for (const auto& [channels, side] : channels_and_side) {
    const ConvDims layer{.n = batch / 2,
                         .c = channels,
                         .h = side,
                         .w = side,
                         .oc = channels,
                         .kh = 3,
                         .kw = 3,
                         .pad_h = 1,
                         .pad_w = 1};
    for (const ConvPass pass : kPasses) {
      all.push_back(
          [=](const Context& c) { return std::make_unique<ConvWork>(layer, pass, c, true); });
    }
  }
  return all;
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
    .problems = problems,
    .more_name = "networks",
    .more = network_problems,
    .shape_extents = 6,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure

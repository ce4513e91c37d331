// SPDX-License-Identifier: MIT
#include "measure/problems/conv_relu_pool.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/conv_relu_pool/cpu/templates.h"
#include "kernels/pool/pool.h"
#include "measure/families.h"
#include "measure/problems/conv.h"

namespace weft::measure {
namespace {

using kernels::ConvDims;
using kernels::ConvPass;
using kernels::ReluPoolDims;

// conv2d_forward with its choice of rung, then max_pool2d_forward.
constexpr kernels::NamedMode kSeparateLayers[] = {
    {"separate_layers", kernels::ComputeMode::fp32},
    {"separate_layers_tf32", kernels::ComputeMode::tf32},
    {"separate_layers_bf16", kernels::ComputeMode::bf16},
};

// A rung in a mode. The separate layers have no rung.
RungInMode call_of(std::string_view name) {
  for (const auto& [separate, mode] : kSeparateLayers) {
    if (separate == name) return {"", mode};
  }
  return rung_in_mode(kernels::conv_relu_pool_rungs(), name);
}

std::int64_t inputs(const ReluPoolDims& d) {
  return d.conv.n * d.conv.c * d.conv.h * d.conv.w;
}
std::int64_t outputs(const ReluPoolDims& d) {
  return d.conv.n * d.conv.oc * d.rows() * d.columns();
}
std::int64_t weights(const ReluPoolDims& d) {
  return d.conv.oc * d.conv.c * d.conv.kh * d.conv.kw;
}
double footprint(const ReluPoolDims& d) {
  return 4.0 * static_cast<double>(inputs(d) + weights(d)) + 5.0 * static_cast<double>(outputs(d));
}
int sets_of(const ReluPoolDims& d, const Context& context) {
  return sets_for(footprint(d), context.stream.device());
}

constexpr std::int64_t kTaps = 9;  // of a stem
std::int64_t images(const ReluPoolDims& d) {
  return d.conv.n * (d.conv.h + 2) * (d.conv.w + 2);
}

// A window's argmax, or that it is cut, as a network might have them.
std::vector<std::uint8_t> random_argmax(const ReluPoolDims& d, std::uint64_t seed) {
  const std::vector<float> values = random_values(outputs(d), seed, 0, 1);
  std::vector<std::uint8_t> argmax(values.size());
  const float window = static_cast<float>(d.ph * d.pw);
  std::transform(values.begin(), values.end(), argmax.begin(), [&](float value) {
    const float choice = value * (window + 1);  // as often cut as any one element chosen
    return choice < window ? static_cast<std::uint8_t>(choice) : kernels::kReluPoolCut;
  });
  return argmax;
}

}  // namespace

ReluPoolWork::ReluPoolWork(const ReluPoolDims& d, ConvPass which, const Context& made_with,
                           Ahead of_it)
    : Work(made_with),
      dims(d),
      pass(which),
      ahead(of_it),
      host_x_(random_values(inputs(d), made_with.seed)),
      host_y_(random_values(outputs(d), made_with.seed + 1)),
      host_w_(random_values(weights(d), made_with.seed + 2)),
      host_argmax_(random_argmax(d, made_with.seed + 3)),
      x_(host_x_, sets_of(d, made_with), made_with.stream),
      y_(host_y_, sets_of(d, made_with), made_with.stream),
      w_(host_w_, sets_of(d, made_with), made_with.stream),
      argmax_(host_argmax_, sets_of(d, made_with), made_with.stream),
      host_mask_(random_values(ahead == Ahead::relu ? inputs(d) : 0, made_with.seed + 4)),
      host_image_(random_values(has_stem() ? images(d) : 0, made_with.seed + 5)),
      host_stem_(random_values(has_stem() ? d.conv.c * kTaps : 0, made_with.seed + 6)),
      mask_(host_mask_, sets_of(d, made_with), made_with.stream),
      image_(host_image_, sets_of(d, made_with), made_with.stream),
      stem_(host_stem_, sets_of(d, made_with), made_with.stream),
      stem_gradient_(host_stem_, sets_of(d, made_with), made_with.stream) {
  const char* name = pass == ConvPass::forward            ? ", forward "
                     : pass == ConvPass::backward_weights ? ", backward weights "
                     : has_stem()                         ? ", backward stem "
                                                          : ", backward data ";
  problem = str("with ReLU and max pooling", has_stem() ? " behind a stem" : "", name, d.conv.n,
                " x ", d.conv.c, " x ", d.conv.h, " x ", d.conv.w, ", ", d.conv.oc, " filters ",
                d.conv.kh, "x", d.conv.kw, ahead == Ahead::relu ? ", masked" : "");
  bytes = footprint(d);
  if (ahead == Ahead::relu) bytes += 4.0 * static_cast<double>(inputs(d));
  if (has_stem()) {
    make_x();
    bytes += 4.0 * static_cast<double>(images(d) - inputs(d));
  }
  const double windows = static_cast<double>(outputs(d));
  const double computed = pass == ConvPass::forward ? static_cast<double>(d.ph * d.pw) : 1;
  flops = 2.0 * windows * computed * static_cast<double>(d.conv.c * d.conv.kh * d.conv.kw);
  by_flops = true;
  sets = sets_of(d, made_with);
  map_ = Tensor(Shape{d.conv.n, d.conv.oc, d.conv.oh(), d.conv.ow()}, DType::f32, made_with.stream);
}

bool ReluPoolWork::can_run(std::string_view variant) const {
  const RungInMode call = call_of(variant);
  if (call.rung.empty()) return pass == ConvPass::forward && !has_stem();
  return kernels::conv_relu_pool_takes(call.rung, {pass, dims, call.mode, has_stem()},
                                       context.stream.device());
}

Arithmetic ReluPoolWork::arithmetic_of(const kernels::Rung& rung) const {
  return *rung.arithmetic.in(call_of(rung.name).mode);
}

std::vector<Variant> ReluPoolWork::further_variants() const {
  const Device device = context.stream.device();
  const bool tensor_cores = device.is_cuda() && device_properties(device).compute_capability >= 80;
  std::vector<Variant> variants;
  const auto add = [&](const kernels::NamedMode& named, std::string_view rung,
                       std::optional<Arithmetic> arithmetic) {
    if (named.mode != kernels::ComputeMode::fp32 && !tensor_cores) return;
    if (device.is_cpu()) arithmetic = Arithmetic::fp32;
    variants.push_back({std::string(named.name), rung, arithmetic.value_or(Arithmetic::fp32)});
  };
  for (const kernels::Rung& rung : kernels::conv_relu_pool_rungs()) {
    for (const kernels::NamedMode& named : rung.modes) {
      if (named.name != rung.name) add(named, rung.name, rung.arithmetic.in(named.mode));
    }
  }
  for (const kernels::NamedMode& named : kSeparateLayers) {
    const std::string_view conv = kernels::conv_choice({pass, dims.conv, named.mode}, device).rung;
    add(named, kernels::kAutomatic, kernels::conv_arithmetic(conv, pass, named.mode));
  }
  return variants;
}

// Calls visit(place in x, weights of its channel, pixel of the image under tap t) for all of x.
template <class Visit>
void ReluPoolWork::each_x(const Visit& visit) const {
  const ConvDims& d = dims.conv;
  const std::int64_t wide = d.w + 2;
  std::size_t i = 0;
  for (std::int64_t n = 0; n < d.n; ++n) {
    for (std::int64_t c = 0; c < d.c; ++c) {
      for (std::int64_t at = 0; at < d.h * d.w; ++at, ++i) {
        const float* corner = host_image_.data() + (n * (d.h + 2) + at / d.w) * wide + at % d.w;
        visit(i, c * kTaps, [=](std::int64_t t) { return corner[t / 3 * wide + t % 3]; });
      }
    }
  }
}

void ReluPoolWork::make_x() {
  each_x([&](std::size_t i, std::int64_t first, const auto& pixel) {
    const float* w = host_stem_.data() + first;
    float sum = 0;
    for (std::int64_t t = 0; t < kTaps; ++t) sum += pixel(t) * w[t];
    host_x_[i] = std::max(sum, 0.0f);
  });
}

std::vector<double> ReluPoolWork::stem_gradient() const {
  std::vector<double> dw(host_stem_.size()), dx(host_x_.size());
  kernels::cpu::conv2d_relu_pool_backward_data<double>(
      dx.data(), std::vector<double>(host_y_.begin(), host_y_.end()).data(), host_argmax_.data(),
      std::vector<double>(host_w_.begin(), host_w_.end()).data(), dims,
      kernels::GradientMode::overwrite);
  each_x([&](std::size_t i, std::int64_t first, const auto& pixel) {
    if (!(host_x_[i] > 0)) return;
    for (std::int64_t t = 0; t < kTaps; ++t) {
      dw[static_cast<std::size_t>(first + t)] += dx[i] * pixel(t);
    }
  });
  return dw;
}

Rotated<float>& ReluPoolWork::output() {
  if (has_stem() && pass == ConvPass::backward_data) return stem_gradient_;
  return pass == ConvPass::forward ? y_ : pass == ConvPass::backward_data ? x_ : w_;
}

kernels::Workspace ReluPoolWork::scratch(std::size_t needed) {
  if (scratch_.bytes() < needed) {
    scratch_ = Tensor(Shape{static_cast<std::int64_t>(needed)}, DType::u8, context.stream);
  }
  return {scratch_.raw(), scratch_.bytes()};
}

void ReluPoolWork::call(std::string_view variant, int set) {
  const Stream& stream = context.stream;
  constexpr auto kOverwrite = kernels::GradientMode::overwrite;
  const RungInMode named = call_of(variant);
  kernels::ReluPoolOptions options{.variant = named.rung, .mode = named.mode};
  const float* x = x_[set];
  if (has_stem()) {
    x = nullptr;
    options.stem = {image_[set], stem_[set], nullptr};
  }
  const auto workspace = [&] {
    return scratch(conv2d_relu_pool_workspace_bytes(pass, dims, options, stream.device()));
  };
  if (named.rung.empty()) {
    const kernels::ConvDims& d = dims.conv;
    const kernels::ConvOptions apart{.mode = named.mode};
    const kernels::PoolDims pool{d.n, d.oc, d.oh(), d.ow(), dims.ph, dims.pw, dims.ph, dims.pw};
    const std::size_t needed = conv2d_workspace_bytes(pass, d, apart, stream.device());
    kernels::conv2d_forward(map_.data<float>(), x_[set], w_[set], nullptr, d,
                            kernels::Epilogue::relu, apart, scratch(needed), stream);
    kernels::max_pool2d_forward(y_[set], nullptr, map_.data<float>(), pool, stream);
  } else if (pass == ConvPass::forward) {
    kernels::conv2d_relu_pool_forward(y_[set], argmax_[set], x, w_[set], nullptr, dims, options,
                                      workspace(), stream);
  } else if (pass == ConvPass::backward_data && has_stem()) {
    kernels::conv2d_relu_pool_backward_stem(stem_gradient_[set], nullptr, y_[set], argmax_[set],
                                            w_[set], dims, kOverwrite, options, workspace(),
                                            stream);
  } else if (pass == ConvPass::backward_data) {
    if (!host_mask_.empty()) options.relu_mask = mask_[set];
    kernels::conv2d_relu_pool_backward_data(x_[set], y_[set], argmax_[set], w_[set], dims,
                                            kOverwrite, options, workspace(), stream);
  } else {
    kernels::conv2d_relu_pool_backward_weights(w_[set], nullptr, y_[set], argmax_[set], x, dims,
                                               kOverwrite, options, workspace(), stream);
  }
}

// Forward and backward data: the first and the last image; backward weights: all of it.
Verdict ReluPoolWork::check(int set, Arithmetic arithmetic) {
  const std::vector<float> found = output().host(set);
  const auto doubles = [](const std::vector<float>& values, std::int64_t from, std::int64_t count) {
    return std::vector<double>(values.begin() + from, values.begin() + from + count);
  };
  Comparison comparison;
  // A random walk of `length` roundings, with room for unlucky signs.
  const auto compare = [&](const std::vector<double>& expected, std::int64_t from,
                           std::int64_t length) {
    const double eps = std::ldexp(1.0, -23), k = static_cast<double>(length);
    const double rounded =
        arithmetic == Arithmetic::fp32 ? 0 : 2 * product_error(arithmetic) * std::sqrt(k);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      comparison.add(found[static_cast<std::size_t>(from) + i], expected[i],
                     4 * eps * (k / 6 + 2 + std::fabs(expected[i])) + rounded);
    }
  };
  const std::vector<double> w = doubles(host_w_, 0, weights(dims));
  if (pass == ConvPass::backward_weights) {
    std::vector<double> dw(w.size());
    kernels::cpu::conv2d_relu_pool_backward_weights<double>(
        dw.data(), nullptr, doubles(host_y_, 0, outputs(dims)).data(), host_argmax_.data(),
        doubles(host_x_, 0, inputs(dims)).data(), dims, kernels::GradientMode::overwrite);
    compare(dw, 0, dims.conv.n * dims.rows() * dims.columns());
    return comparison.verdict();
  }
  if (has_stem() && pass == ConvPass::backward_data) {
    compare(stem_gradient(), 0, outputs(dims) * kTaps);
    return comparison.verdict();
  }
  ReluPoolDims image = dims;
  image.conv.n = 1;
  const std::int64_t x_size = inputs(image), y_size = outputs(image);
  const std::int64_t taps = dims.conv.kh * dims.conv.kw;
  for (const std::int64_t n : {std::int64_t{0}, dims.conv.n - 1}) {
    if (pass == ConvPass::forward) {
      std::vector<double> y(static_cast<std::size_t>(y_size));
      kernels::cpu::conv2d_relu_pool_forward<double>(
          y.data(), nullptr, doubles(host_x_, n * x_size, x_size).data(), w.data(), nullptr, image);
      compare(y, n * y_size, dims.conv.c * taps);
    } else {
      std::vector<double> dx(static_cast<std::size_t>(x_size));
      kernels::cpu::conv2d_relu_pool_backward_data<double>(
          dx.data(), doubles(host_y_, n * y_size, y_size).data(), host_argmax_.data() + n * y_size,
          w.data(), image, kernels::GradientMode::overwrite);
      for (std::size_t i = 0; !host_mask_.empty() && i < dx.size(); ++i) {
        if (!(host_mask_[static_cast<std::size_t>(n * x_size) + i] > 0)) dx[i] = 0;
      }
      compare(dx, n * x_size, dims.conv.oc * taps);
    }
  }
  return comparison.verdict();
}

namespace {

std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  return std::make_unique<ReluPoolWork>(ReluPoolDims{layer_of(size)}, ConvPass::forward, context);
}
std::unique_ptr<Work> sized(std::int64_t size, const Context& context) {
  return shaped({&size, 1}, context);
}

std::vector<NamedChoice> choices(std::span<const std::int64_t> size, Device device) {
  return choices_by_mode_and_pass([&](ConvPass pass, kernels::ComputeMode mode) {
    return kernels::conv_relu_pool_choice({pass, ReluPoolDims{layer_of(size)}, mode}, device);
  });
}

// LeNet's two layers, and the second of convnet.
std::vector<std::function<std::unique_ptr<Work>(const Context&)>> problems(Device device) {
  std::vector<std::function<std::unique_ptr<Work>(const Context&)>> all;
  const std::int64_t few = device.is_cpu() ? 16 : 256, many = device.is_cpu() ? 16 : 1024;
  const std::array<ConvDims, 3> layers = {
      {{.n = few, .c = 1, .h = 28, .w = 28, .oc = 6, .kh = 5, .kw = 5, .pad_h = 2, .pad_w = 2},
       {.n = few, .c = 6, .h = 14, .w = 14, .oc = 16, .kh = 5, .kw = 5},
       {.n = many, .c = 32, .h = 26, .w = 26, .oc = 64, .kh = 3, .kw = 3}}};
  for (const ConvDims& layer : layers) {
    for (const auto pass :
         {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
      const bool data = pass == ConvPass::backward_data;
      if (data && layer.c == 1) continue;  // nobody asks for the gradient of an image
      all.push_back([=](const Context& c) {
        return std::make_unique<ReluPoolWork>(
            ReluPoolDims{layer}, pass, c,
            data && layer.c == 32 ? ReluPoolWork::Ahead::relu : ReluPoolWork::Ahead::unknown);
      });
    }
  }
  if (device.is_cpu()) return all;  // no rung there computes a stem
  for (const auto pass : {ConvPass::forward, ConvPass::backward_data, ConvPass::backward_weights}) {
    all.push_back([=](const Context& c) {
      return std::make_unique<ReluPoolWork>(ReluPoolDims{layers[2]}, pass, c,
                                            ReluPoolWork::Ahead::stem);
    });
  }
  return all;
}

}  // namespace

extern const FamilyBench conv_relu_pool_bench = {
    .family = "conv_relu_pool",
    .size_meaning =
        "images of 16 x 28 x 28 under 32 filters of 3 x 3, or images, channels, height, "
        "width, filters and their side as 16x16x28x28x32x3",
    .default_size = 16,
    .largest_size = 65536,
    .sized = sized,
    .problems = problems,
    .shape_extents = 6,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure

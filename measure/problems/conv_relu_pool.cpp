// SPDX-License-Identifier: MIT
// Convolution with ReLU and max pooling, fused and as separate layers.
#include <algorithm>
#include <cmath>

#include "kernels/conv_relu_pool/problem.h"
#include "kernels/pool/pool.h"
#include "measure/problem_work.h"
#include "measure/problems/conv.h"

namespace weft::measure {
namespace {

using kernels::ConvDims;
using kernels::ConvPass;
using kernels::ReluPoolDims;
using problems::Ahead;

constexpr auto kOverwrite = kernels::GradientMode::overwrite;

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

// A window's argmax, or that it is cut, as a network might have them.
std::vector<std::uint8_t> random_argmax(const problems::ReluPool& p, std::uint64_t seed) {
  const std::vector<float> values = random_values(p.outputs(), seed, 0, 1);
  std::vector<std::uint8_t> argmax(values.size());
  const float window = static_cast<float>(p.dims.ph * p.dims.pw);
  std::transform(values.begin(), values.end(), argmax.begin(), [&](float value) {
    const float choice = value * (window + 1);  // as often cut as any one element chosen
    return choice < window ? static_cast<std::uint8_t>(choice) : kernels::kReluPoolCut;
  });
  return argmax;
}

class ReluPoolWork final : public ProblemWork<problems::ReluPool> {
 public:
  using ProblemWork::ProblemWork;

  bool can_run(std::string_view variant) const override {
    const RungInMode call = call_of(variant);
    if (call.rung.empty()) return p.pass == ConvPass::forward && !p.has_stem();
    return kernels::conv_relu_pool_takes(call.rung, {p.pass, p.dims, call.mode, p.has_stem()},
                                         device());
  }
  Arithmetic arithmetic_of(const kernels::Rung& rung) const override {
    return *rung.arithmetic.in(call_of(rung.name).mode);
  }
  // "separate_layers": conv2d_forward with its choice of rung, then max_pool2d_forward, in each
  // mode; and rungs in bf16.
  std::vector<Variant> further_variants() const override {
    const bool tensor_cores =
        device().is_cuda() && device_properties(device()).compute_capability >= 80;
    std::vector<Variant> variants;
    const auto add = [&](const kernels::NamedMode& named, std::string_view rung,
                         std::optional<Arithmetic> arithmetic) {
      if (named.mode != kernels::ComputeMode::fp32 && !tensor_cores) return;
      if (device().is_cpu()) arithmetic = Arithmetic::fp32;
      variants.push_back({std::string(named.name), rung, arithmetic.value_or(Arithmetic::fp32)});
    };
    for (const kernels::Rung& rung : kernels::conv_relu_pool_rungs()) {
      for (const kernels::NamedMode& named : rung.modes) {
        if (named.name != rung.name) add(named, rung.name, rung.arithmetic.in(named.mode));
      }
    }
    for (const kernels::NamedMode& named : kSeparateLayers) {
      const std::string_view conv =
          kernels::conv_choice({p.pass, p.dims.conv, named.mode}, device()).rung;
      add(named, kernels::kAutomatic, kernels::conv_arithmetic(conv, p.pass, named.mode));
    }
    return variants;
  }
  void call(std::string_view variant, int set) override {
    const Stream& stream = context.stream;
    const RungInMode named = call_of(variant);
    if (named.rung.empty()) return call_separate_layers(named.mode, set);
    kernels::ReluPoolOptions options{.variant = named.rung, .mode = named.mode};
    const float* x = x_[set];
    if (p.has_stem()) {
      x = nullptr;
      options.stem = {image_[set], stem_[set], nullptr};
    }
    const kernels::Workspace workspace =
        scratch(conv2d_relu_pool_workspace_bytes(p.pass, p.dims, options, device()));
    if (p.pass == ConvPass::forward) {
      kernels::conv2d_relu_pool_forward(y_[set], argmax_[set], x, w_[set], nullptr, p.dims, options,
                                        workspace, stream);
    } else if (p.pass == ConvPass::backward_weights) {
      kernels::conv2d_relu_pool_backward_weights(w_[set], nullptr, y_[set], argmax_[set], x, p.dims,
                                                 kOverwrite, options, workspace, stream);
    } else if (p.has_stem()) {
      kernels::conv2d_relu_pool_backward_stem(stem_gradient_[set], nullptr, y_[set], argmax_[set],
                                              w_[set], p.dims, kOverwrite, options, workspace,
                                              stream);
    } else {
      if (p.ahead == Ahead::relu) options.relu_mask = mask_[set];
      kernels::conv2d_relu_pool_backward_data(x_[set], y_[set], argmax_[set], w_[set], p.dims,
                                              kOverwrite, options, workspace, stream);
    }
  }
  void reset() override { written_array().clear(); }
  std::vector<Bytes> written(int set) override { return {written_array().bytes(set)}; }

 private:
  void call_separate_layers(kernels::ComputeMode mode, int set) {
    const ConvDims& d = p.dims.conv;
    const kernels::ConvOptions apart{.mode = mode};
    const kernels::PoolDims pool{d.n,       d.oc,      d.oh(),    d.ow(),
                                 p.dims.ph, p.dims.pw, p.dims.ph, p.dims.pw};
    kernels::conv2d_forward(
        map_.data<float>(), x_[set], w_[set], nullptr, d, kernels::Epilogue::relu, apart,
        scratch(conv2d_workspace_bytes(p.pass, d, apart, device())), context.stream);
    kernels::max_pool2d_forward(y_[set], nullptr, map_.data<float>(), pool, context.stream);
  }
  Array<float>& written_array() {
    if (p.pass == ConvPass::forward) return y_;
    if (p.pass == ConvPass::backward_weights) return w_;
    return p.has_stem() ? stem_gradient_ : x_;
  }
  std::vector<float> random(std::int64_t n, std::uint64_t more) const {
    return random_values(n, seed() + more);
  }
  std::vector<float> make_x() const {
    if (!p.has_stem()) return random(p.inputs(), 0);
    std::vector<float> x(static_cast<std::size_t>(p.inputs()));
    p.each_x(image_.host.data(), [&](std::size_t i, std::int64_t first, const auto& pixel) {
      const float* w = stem_.host.data() + first;
      float sum = 0;
      for (std::int64_t t = 0; t < p.kTaps; ++t) sum += pixel(t) * w[t];
      x[i] = std::max(sum, 0.0f);
    });
    return x;
  }

  std::vector<double> stem_gradient() const {
    std::vector<double> dw(stem_.host.size()), dx(x_.host.size());
    kernels::cpu::conv2d_relu_pool_backward_data<double>(dx.data(), y_.doubles().data(),
                                                         argmax_.host.data(), w_.doubles().data(),
                                                         p.dims, kOverwrite);
    p.each_x(image_.host.data(), [&](std::size_t i, std::int64_t first, const auto& pixel) {
      if (!(x_.host[i] > 0)) return;
      for (std::int64_t t = 0; t < p.kTaps; ++t) {
        dw[static_cast<std::size_t>(first + t)] += dx[i] * static_cast<double>(pixel(t));
      }
    });
    return dw;
  }
  // Forward and backward data: the first and the last image; backward weights: all of it.
  void compare(Comparison& comparison, int set, Arithmetic arithmetic) override {
    const std::vector<float> found = written_array().found(set);
    // A random walk of `length` roundings, with room for unlucky signs.
    const auto add = [&](const std::vector<double>& expected, std::int64_t from,
                         std::int64_t length) {
      const double eps = std::ldexp(1.0, -23), k = static_cast<double>(length);
      const double rounded =
          arithmetic == Arithmetic::fp32 ? 0 : 2 * product_error(arithmetic) * std::sqrt(k);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        comparison.add(found[static_cast<std::size_t>(from) + i], expected[i],
                       4 * eps * (k / 6 + 2 + std::fabs(expected[i])) + rounded);
      }
    };
    const std::vector<double> w = w_.doubles();
    if (p.pass == ConvPass::backward_weights) {
      std::vector<double> dw(w.size());
      kernels::cpu::conv2d_relu_pool_backward_weights<double>(
          dw.data(), nullptr, y_.doubles().data(), argmax_.host.data(), x_.doubles().data(), p.dims,
          kOverwrite);
      return add(dw, 0, p.dims.conv.n * p.dims.rows() * p.dims.columns());
    }
    if (p.has_stem() && p.pass == ConvPass::backward_data) {
      return add(stem_gradient(), 0, p.outputs() * p.kTaps);
    }
    const problems::ReluPool image = p.one_image();
    const std::int64_t x_size = image.inputs(), y_size = image.outputs();
    for (const std::int64_t n : {std::int64_t{0}, p.dims.conv.n - 1}) {
      if (p.pass == ConvPass::forward) {
        std::vector<double> y(static_cast<std::size_t>(y_size));
        kernels::cpu::conv2d_relu_pool_forward<double>(y.data(), nullptr,
                                                       x_.doubles(n * x_size, x_size).data(),
                                                       w.data(), nullptr, image.dims);
        add(y, n * y_size, p.dims.conv.c * p.taps());
        continue;
      }
      std::vector<double> dx(static_cast<std::size_t>(x_size));
      kernels::cpu::conv2d_relu_pool_backward_data<double>(
          dx.data(), y_.doubles(n * y_size, y_size).data(), argmax_.host.data() + n * y_size,
          w.data(), image.dims, kOverwrite);
      for (std::int64_t i = 0; p.ahead == Ahead::relu && i < x_size; ++i) {
        if (!(mask_(n * x_size + i) > 0)) dx[static_cast<std::size_t>(i)] = 0;
      }
      add(dx, n * x_size, p.dims.conv.oc * p.taps());
    }
  }

  // The call writes one of x, y and w, or of their gradients. What it does without is empty.
  Array<float>& mask_ = input("mask", random(p.ahead == Ahead::relu ? p.inputs() : 0, 4));
  Array<float>& image_ = input("image", random(p.has_stem() ? p.pixels() : 0, 5));
  Array<float>& stem_ = input("stem", random(p.has_stem() ? p.dims.conv.c* p.kTaps : 0, 6));
  Array<float>& stem_gradient_ = output("stem_gradient", stem_.size());
  Array<float>& x_ = input("x", make_x());
  Array<float>& y_ = input("y", random(p.outputs(), 1));
  Array<float>& w_ = input("w", random(p.weights(), 2));
  // The backward passes read it; any is as good.
  Array<std::uint8_t>& argmax_ = input("argmax", random_argmax(p, seed() + 3));
  // The map that separate layers store.
  Tensor map_{Shape{p.dims.conv.n, p.dims.conv.oc, p.dims.conv.oh(), p.dims.conv.ow()}, DType::f32,
              context.stream};
};

std::unique_ptr<Work> shaped(std::span<const std::int64_t> size, const Context& context) {
  return made<ReluPoolWork>({{layer_of(size)}})(context);
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
std::vector<MakeWork> problems_on(Device device) {
  constexpr ConvPass kPasses[] = {ConvPass::forward, ConvPass::backward_data,
                                  ConvPass::backward_weights};
  const std::int64_t few = device.is_cpu() ? 16 : 256, many = device.is_cpu() ? 16 : 1024;
  const ConvDims layers[] = {
      {.n = few, .c = 1, .h = 28, .w = 28, .oc = 6, .kh = 5, .kw = 5, .pad_h = 2, .pad_w = 2},
      {.n = few, .c = 6, .h = 14, .w = 14, .oc = 16, .kh = 5, .kw = 5},
      {.n = many, .c = 32, .h = 26, .w = 26, .oc = 64, .kh = 3, .kw = 3}};
  std::vector<MakeWork> all;
  for (const ConvDims& layer : layers) {
    for (const ConvPass pass : kPasses) {
      const bool data = pass == ConvPass::backward_data;
      if (data && layer.c == 1) continue;  // nobody asks for the gradient of an image
      const Ahead ahead = data && layer.c == 32 ? Ahead::relu : Ahead::unknown;
      all.push_back(made<ReluPoolWork>({{layer}, pass, ahead}));
    }
  }
  if (device.is_cpu()) return all;  // no rung there computes a stem
  for (const ConvPass pass : kPasses) {
    all.push_back(made<ReluPoolWork>({{layers[2]}, pass, Ahead::stem}));
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
    .problems = problems_on,
    .shape_extents = 6,
    .shaped = shaped,
    .choices = choices};

}  // namespace weft::measure

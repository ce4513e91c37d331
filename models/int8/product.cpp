// SPDX-License-Identifier: MIT
#include "models/int8/product.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "layers/batch_norm2d.h"
#include "layers/conv2d.h"
#include "layers/linear.h"
#include "layers/pool2d.h"

namespace weft::models::int8 {

namespace {

using layers::Layer;

std::span<const float> values_of(const Model& model, const Layer& layer, std::string_view name) {
  const std::string full = str(layer.name(), ".", name);
  for (const layers::NamedSlice& slice : model.net->slices()) {
    if (slice.name != full) continue;
    return std::span(slice.trainable ? model.parameters : model.buffers)
        .subspan(static_cast<std::size_t>(slice.offset),
                 static_cast<std::size_t>(slice.shape.elements()));
  }
  return {};
}

// The layer itself.
std::optional<Chain> product_of(const Model& model, const Layer& layer, const Shape& kept) {
  Chain chain;
  const auto weight = values_of(model, layer, "weight"), bias = values_of(model, layer, "bias");
  if (const auto* conv = dynamic_cast<const layers::Conv2d*>(&layer)) {
    chain.dims = conv->dims({1, kept[0], kept[1], kept[2]});
    chain.weight.assign(weight.begin(), weight.end());
  } else if (const auto* linear = dynamic_cast<const layers::Linear*>(&layer)) {
    chain.dims = {.c = linear->in(), .h = 1, .w = 1, .oc = linear->out(), .kh = 1, .kw = 1};
    // Images are kept with their channels last, so the columns are brought into that order.
    const std::int64_t plane = kept[1] * kept[2];
    for (std::int64_t o = 0; o < linear->out(); ++o) {
      for (std::int64_t i = 0; i < linear->in(); ++i) {
        const std::int64_t column = i % kept[0] * plane + i / kept[0];
        chain.weight.push_back(weight[static_cast<std::size_t>(o * linear->in() + column)]);
      }
    }
  } else {
    return std::nullopt;
  }
  chain.dims.n = 0;
  const kernels::ConvDims& d = chain.dims;
  if (d.c * d.kh * d.kw > kernels::kInt8MostTaps) return std::nullopt;
  chain.bias.assign(static_cast<std::size_t>(d.oc), 0.0);
  std::ranges::copy(bias, chain.bias.begin());
  return chain;
}

void fold(Chain& chain, const Model& model, const layers::BatchNorm2d& norm) {
  const auto gamma = values_of(model, norm, "weight"), beta = values_of(model, norm, "bias");
  const auto mean = values_of(model, norm, "running_mean");
  const auto variance = values_of(model, norm, "running_var");
  const std::size_t taps = chain.weight.size() / chain.bias.size();
  for (std::size_t o = 0; o < chain.bias.size(); ++o) {
    const double factor = gamma[o] / std::sqrt(double{variance[o]} + double{norm.eps()});
    for (std::size_t i = 0; i < taps; ++i) chain.weight[o * taps + i] *= factor;
    chain.bias[o] = (chain.bias[o] - mean[o]) * factor + beta[o];
  }
}

// Is it max pooling of whole windows side by side?
bool tiles_plane(const layers::Window& w) {
  return w.kernel_h == w.stride_h && w.kernel_w == w.stride_w && w.pad_h == 0 && w.pad_w == 0 &&
         w.more_h == 0 && w.more_w == 0 && !w.ceil;
}

}  // namespace

Steps Steps::of_pixels(const ModelInfo& info) {
  Steps steps;
  for (std::size_t c = 0; c < info.mean.size(); ++c) {
    steps.step.push_back(1 / (255 * info.stddev[c]));
    steps.offset.push_back(-info.mean[c] / info.stddev[c]);
    const float nearest = std::round(255 * info.mean[c]);
    steps.zero.push_back(static_cast<std::uint8_t>(std::clamp(nearest, 0.0f, 255.0f)));
  }
  return steps;
}

Steps Steps::of_range(const ValueRange& range, std::int64_t channels) {
  const float least = std::min(0.0f, range.least), most = std::max(0.0f, range.most);
  const float steps = most / 255 - least / 255;
  const float step = steps > 1e-30f ? steps : 1.0f;  // nothing varies that much less
  const int zero = static_cast<int>(std::lrint(-least / step));
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<float>(count, step),
          std::vector<float>(count, -step * static_cast<float>(zero)),
          std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(zero))};
}

std::optional<Chain> chain_at(const Model& model, std::size_t first, const Shape& kept) {
  const auto layers = model.net->layers();
  std::optional<Chain> chain = product_of(model, *layers[first], kept);
  if (!chain) return chain;
  bool normalised = false, pooled = false;
  for (std::size_t next = first + 1; next < layers.size(); ++next) {
    const layers::Wires& wires = model.net->wires()[next];
    const Layer& layer = *layers[next];
    if (wires.input != static_cast<int>(next) - 1 || wires.other >= 0) break;
    const auto* norm = dynamic_cast<const layers::BatchNorm2d*>(&layer);
    const auto* pool = dynamic_cast<const layers::MaxPool2d*>(&layer);
    if (norm != nullptr && !normalised && !chain->relu && !pooled) {
      fold(*chain, model, *norm);
      normalised = true;
    } else if (layer.traits().relu) {
      chain->relu = true;  // before or behind the pooling is the same
    } else if (pool != nullptr && !pooled && tiles_plane(pool->window()) &&
               chain->dims.oh() >= pool->window().kernel_h &&
               chain->dims.ow() >= pool->window().kernel_w) {
      chain->ph = pool->window().kernel_h;
      chain->pw = pool->window().kernel_w;
      pooled = true;
    } else if (!layer.traits().identity_in_inference) {
      break;
    }
    chain->last = next;
  }
  chain->first = first;
  chain->last = std::max(chain->last, first);
  return chain;
}

Product quantized(const Chain& chain, const Steps& in, const Steps* out) {
  const kernels::ConvDims& d = chain.dims;
  const std::size_t channels = in.step.size(), filters = chain.bias.size();
  const std::size_t taps = chain.weight.size() / filters,
                    plane = taps / static_cast<std::size_t>(d.c);
  // Column i of a linear layer belongs to channel i % channels, tap i of a convolution to i /
  // plane.
  const auto channel_of = [&](std::size_t tap) { return tap / plane % channels; };
  std::vector<std::int8_t> bytes;
  std::vector<std::int32_t> bias;
  std::vector<float> factor;
  for (std::size_t o = 0; o < filters; ++o) {
    const auto real = std::span(chain.weight).subspan(o * taps, taps);
    double largest = 0;
    for (std::size_t i = 0; i < taps; ++i) {
      largest = std::max(largest, std::abs(real[i] * in.step[channel_of(i)]));
      if (!std::isfinite(real[i])) largest = INFINITY;
    }
    if (!std::isfinite(largest) || !std::isfinite(chain.bias[o])) {
      throw Error(ErrorKind::data, "a weight is not a number: the model is damaged");
    }
    // The bias has room beside what the offsets of the input come to, too.
    const double step =
        std::max({largest / kernels::kInt8FilterMost, std::abs(chain.bias[o]) / (1 << 28), 1e-30});
    double offset = 0;
    for (std::size_t i = 0; i < taps; ++i) {
      const std::size_t c = channel_of(i);
      const auto byte = std::lrint(real[i] * in.step[c] / step);
      bytes.push_back(static_cast<std::int8_t>(byte));
      offset += static_cast<double>(byte) * in.offset[c] / in.step[c];
    }
    constexpr double kMost = kernels::kInt8MostBias;
    bias.push_back(static_cast<std::int32_t>(
        std::lrint(std::clamp(chain.bias[o] / step + offset, -kMost, kMost))));
    factor.push_back(static_cast<float>(out != nullptr ? step / out->step.front() : step));
  }
  return {kernels::Int8Filters(bytes, bias, factor, d), in.zero,   chain.ph, chain.pw,
          out != nullptr ? out->zero.front() : 0,       chain.relu};
}

kernels::Int8Call Product::call(const std::uint8_t* x, std::int64_t n) const {
  return {x, n, &filters, padding.data(), ph, pw, zero, relu};
}

}  // namespace weft::models::int8

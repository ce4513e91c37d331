// SPDX-License-Identifier: MIT
// Instance: a Sequential with weights on a device, and the same network in double.
#pragma once

#include "layers/network/sequential.h"
#include "tests/layers/reference.h"
#include "tests/support/random.h"

namespace weft::test {

using layers::ConstFloatView;
using layers::FloatView;
using layers::GradientMode;
using layers::Phase;
using layers::Plan;

inline std::vector<std::unique_ptr<layers::Layer>> take_layers(std::vector<ReferenceLayer>& from) {
  std::vector<std::unique_ptr<layers::Layer>> layers;
  for (ReferenceLayer& entry : from) layers.push_back(std::move(entry.layer));
  return layers;
}

template <class... Layers>
std::vector<ReferenceLayer> stack(Layers&&... layers) {
  std::vector<ReferenceLayer> list;
  (list.push_back(std::forward<Layers>(layers)), ...);
  return list;
}

inline void fill(FloatView view, const std::vector<float>& values, const Stream& stream) {
  copy_from_host(view, std::span<const float>(values), stream);
}

// What closes a block makes of what its two ways give.
inline Values joined(const Values& x, const Values& other, const layers::Layer& layer) {
  Values y(layer.output_shape(x.shape));
  const std::int64_t rows = x.shape[0], values = y.shape.elements() / rows;
  const std::int64_t first = x.shape.elements() / rows;
  const bool adds = layer.traits().junction == layers::Junction::add;
  for (std::int64_t i = 0; i < y.shape.elements(); ++i) {
    const std::int64_t row = i / values, place = i % values;
    if (adds) {
      y.at(i) = x.at(i) + other.at(i);
    } else {
      y.at(i) = place < first ? x.at(row * first + place)
                              : other.at(row * (values - first) + place - first);
    }
  }
  return y;
}

class Instance {
 public:
  static constexpr std::uint64_t kSeed = 11;

  Instance(const Shape& sample, std::vector<ReferenceLayer> layers, const Stream& stream)
      : reference_(std::move(layers)),
        net(sample, take_layers(reference_)),
        weights(net, stream),
        step(tensor_from_host<std::int64_t>({1}, std::vector<std::int64_t>{0}, stream)),
        stream_(stream) {
    std::vector<float> values = net.initial_parameters(kSeed);
    // Shifts constant initial values (batch norm), which hide mistakes.
    const std::vector<float> noise = random_floats(net.parameter_count(), 77, -0.1f, 0.1f);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += noise[i];
    set_parameters(values);
    fill(weights.buffers.view<float>(), net.initial_buffers(), stream_);
    fill(weights.gradients.view<float>(),
         std::vector<float>(static_cast<std::size_t>(net.parameter_count()), NAN), stream_);
  }

  Plan plan(std::int64_t batch, Phase phase, const layers::KernelChoice& kernels = {}) {
    return Plan(net, weights, batch, phase, kernels, kSeed, step.data<std::int64_t>(), stream_);
  }

  void set_parameters(const std::vector<float>& values) {
    fill(weights.parameters.view<float>(), values, stream_);
  }
  std::vector<float> parameters() { return to_host(weights.parameters.view<float>(), stream_); }
  std::vector<float> gradients() { return to_host(weights.gradients.view<float>(), stream_); }

  // The network in double.
  Values reference(const Values& x, const std::vector<double>& parameters) const {
    std::vector<Values> made;  // by each layer
    const auto value = [&](int layer) {
      return layer < 0 ? x : made[static_cast<std::size_t>(layer)];
    };
    const double* p = parameters.data();
    for (std::size_t i = 0; i < reference_.size(); ++i) {
      const layers::Layer& layer = *net.layers()[i];
      const layers::Wires& wires = net.wires()[i];
      Values input = value(wires.input);
      if (wires.other >= 0) {
        input = joined(input, value(wires.other), layer);
      }
      if (layer.traits().junction != layers::Junction::none) {
        made.push_back(std::move(input));
        continue;
      }
      made.emplace_back(layer.output_shape(input.shape));
      reference_[i].forward(made.back(), input, p);
      for (const layers::ParameterSpec& spec : layer.parameters()) p += spec.shape.elements();
    }
    return made.empty() ? x : made.back();
  }

 private:
  std::vector<ReferenceLayer> reference_;  // before net: its layers move there

 public:
  layers::Sequential net;
  layers::Weights weights;
  Tensor step;  // (1,) i64: the training step

 private:
  Stream stream_;
};

// Central differences of f at x, one per element; h = 1e-5 leaves errors of about 1e-10 in double.
inline std::vector<double> central_differences(const std::function<double(std::vector<double>&)>& f,
                                               std::vector<double> x) {
  constexpr double kStep = 1e-5;
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double middle = x[i];
    x[i] = middle + kStep;
    const double above = f(x);
    x[i] = middle - kStep;
    gradient[i] = (above - f(x)) / (2 * kStep);
    x[i] = middle;
  }
  return gradient;
}

}  // namespace weft::test

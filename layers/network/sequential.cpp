// SPDX-License-Identifier: MIT
#include "layers/network/sequential.h"

#include <algorithm>
#include <array>
#include <set>

#include "engine/random.h"

namespace weft::layers {

namespace {

// Uniform in center +- bound; value i of tensor `tensor` depends on (seed, tensor, i) alone.
void draw(std::span<float> values, float center, float bound, std::uint64_t seed,
          std::uint32_t tensor) {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const Random4 random = philox(seed, RandomStream::initial_weights, tensor, i / 4);
    for (std::size_t j = i; j < std::min(i + 4, values.size()); ++j) {
      values[j] = center + bound * (2.0f * uniform01(random.value[j - i]) - 1.0f);
    }
  }
}

}  // namespace

Sequential::Sequential(Shape sample, std::vector<std::unique_ptr<Layer>> layers)
    : sample_(sample),
      layers_(std::make_shared<const std::vector<std::unique_ptr<Layer>>>(std::move(layers))) {
  if (sample_.rank() >= Shape::kMaxRank) {
    throw Error(ErrorKind::usage,
                str("a sample has at most ", Shape::kMaxRank - 1, " axes, found ", sample_));
  }
  std::set<std::string> names;
  Wiring wiring;
  for (const auto& layer : *layers_) {
    wires_.push_back(wiring.add(*layer));
    if (!names.insert(layer->name()).second) {
      throw Error(ErrorKind::usage, str("two layers are named '", layer->name(), "'"));
    }
    for (const ParameterSpec& spec : layer->parameters()) {
      slices_.push_back({layer->name() + "." + spec.name, spec.shape, parameter_count_, true});
      parameter_count_ += spec.shape.elements();
    }
  }
  for (const auto& layer : *layers_) {
    for (const BufferSpec& spec : layer->buffers()) {
      slices_.push_back({layer->name() + "." + spec.name, spec.shape, buffer_count_, false});
      buffer_count_ += spec.shape.elements();
    }
  }
  wiring.finish();
  output_shapes(1);
}

Shape Sequential::input_shape(std::int64_t batch) const {
  std::array<std::int64_t, Shape::kMaxRank> extents{batch};
  std::ranges::copy(sample_.extents(), extents.begin() + 1);
  return Shape(
      std::span<const std::int64_t>(extents).first(static_cast<std::size_t>(sample_.rank()) + 1));
}

Shape Sequential::output_shape(std::int64_t batch) const {
  return layers_->empty() ? input_shape(batch) : output_shapes(batch).back();
}

std::vector<Shape> Sequential::output_shapes(std::int64_t batch) const {
  std::vector<Shape> shapes;
  const Shape first = input_shape(batch);
  for (std::size_t i = 0; i < wires_.size(); ++i) {
    const auto made_by = [&](int layer) {
      return layer < 0 ? first : shapes[static_cast<std::size_t>(layer)];
    };
    const Layer& layer = *(*layers_)[i];
    const Shape shape = made_by(wires_[i].input), other = made_by(wires_[i].other);
    shapes.push_back(layer.output_shape(shape));
    if (wires_[i].other >= 0 && layer.other_shape(shape) != other) {
      throw Error(ErrorKind::usage,
                  str(layer.name(), ": ", layer.describe(), " expects operands ", shape, " and ",
                      layer.other_shape(shape), ", found by the shortcut ", other));
    }
  }
  return shapes;
}

std::vector<float> Sequential::initial_parameters(std::uint64_t seed) const {
  std::vector<float> values(static_cast<std::size_t>(parameter_count_));
  std::size_t offset = 0;
  std::uint32_t tensor = 0;
  for (const auto& layer : *layers_) {
    for (const ParameterSpec& spec : layer->parameters()) {
      const auto size = static_cast<std::size_t>(spec.shape.elements());
      draw(std::span(values).subspan(offset, size), spec.init_center, spec.init_bound, seed,
           tensor++);
      offset += size;
    }
  }
  return values;
}

std::vector<float> Sequential::initial_buffers() const {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(buffer_count_));
  for (const auto& layer : *layers_) {
    for (const BufferSpec& spec : layer->buffers()) {
      values.insert(values.end(), static_cast<std::size_t>(spec.shape.elements()), spec.initial);
    }
  }
  return values;
}

Weights::Weights(const Sequential& net, const Stream& stream, Phase phase)
    : parameters({net.parameter_count()}, DType::f32, stream),
      gradients({phase == Phase::training ? net.parameter_count() : 0}, DType::f32, stream),
      buffers({net.buffer_count()}, DType::f32, stream) {}

}  // namespace weft::layers

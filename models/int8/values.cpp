// SPDX-License-Identifier: MIT
#include "models/int8/values.h"

#include <algorithm>

#include "layers/activations/activation.h"
#include "layers/activations/prelu.h"
#include "layers/batch_norm2d.h"

namespace weft::models::int8 {

using layers::FloatView;

Shape kept_shape(const Shape& shape) {
  if (shape.rank() == 4) return {shape[1], shape[2], shape[3]};
  return {shape.elements(), 1, 1};
}

Shape with_rows(const Shape& shape, std::int64_t rows) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.front() = rows;
  return Shape(extents);
}

void to_reals(float* out, const std::uint8_t* bytes, const Value& value, std::int64_t rows) {
  const std::int64_t channels = value.shape[0], plane = value.shape[1] * value.shape[2];
  for (std::int64_t row = 0; row < rows;
       ++row, bytes += channels * plane, out += channels * plane) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float step = value.steps.step[static_cast<std::size_t>(c)];
      const int zero = value.steps.zero[static_cast<std::size_t>(c)];
      for (std::int64_t i = 0; i < plane; ++i) {
        out[c * plane + i] = step * static_cast<float>(bytes[i * channels + c] - zero);
      }
    }
  }
}

void to_bytes(std::uint8_t* out, const float* reals, const Value& value, std::int64_t rows) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  const std::int64_t channels = value.shape[0], plane = value.shape[1] * value.shape[2];
  const float inverse = 1 / value.steps.step.front(), zero = value.steps.zero.front();
  for (std::int64_t row = 0; row < rows; ++row, out += channels * plane) {
    for (std::int64_t c = 0; c < channels; ++c, reals += plane) {
      for (std::int64_t i = 0; i < plane; ++i) {
        const float byte = std::clamp(reals[i] * inverse + zero, 0.0f, 255.0f);
        out[i * channels + c] = static_cast<std::uint8_t>((byte + kRound) - kRound);
      }
    }
  }
}

bool is_elementwise(const layers::Layer& layer, const Shape& input, const Shape& kept) {
  if (dynamic_cast<const layers::ActivationLayer*>(&layer) != nullptr) return true;
  const auto* prelu = dynamic_cast<const layers::PReLU*>(&layer);
  const bool by_channel = dynamic_cast<const layers::BatchNorm2d*>(&layer) != nullptr ||
                          (prelu != nullptr && prelu->is_by_channel());
  return by_channel && kept_shape(input) == kept;
}

std::vector<std::uint8_t> table_of(const Step& step, const Value& in, const Value& out) {
  const std::int64_t channels = in.shape[0];
  std::vector<float> x(static_cast<std::size_t>(256 * channels)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % in.steps.step.size();
    const std::size_t byte = i / in.steps.step.size();
    x[i] = static_cast<float>(byte) * in.steps.step[c] + in.steps.offset[c];
  }
  const Shape shape =
      step.input_shape.rank() == 4 ? Shape{256, channels, 1, 1} : Shape{256, channels};
  step.layer->forward(FloatView{y.data(), shape, Device::cpu()},
                      FloatView{x.data(), shape, Device::cpu()}, kernels::Epilogue::none,
                      step.context, Stream(Device::cpu()));
  const Value pixel{{channels, 1, 1}, out.steps};
  std::vector<std::uint8_t> bytes(x.size()), table(x.size());
  to_bytes(bytes.data(), y.data(), pixel, 256);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto c = i % static_cast<std::size_t>(channels);
    table[c * 256 + i / static_cast<std::size_t>(channels)] = bytes[i];
  }
  return table;
}

}  // namespace weft::models::int8

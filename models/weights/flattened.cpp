// SPDX-License-Identifier: MIT
#include "models/weights/flattened.h"

#include "engine/error.h"

namespace weft::models {

std::vector<Shape> flattened_images(const layers::Sequential& net, const std::string& where) {
  const std::vector<Shape> shapes = net.output_shapes(1);
  std::vector<Shape> made(net.layers().size());  // of the output of each layer
  std::vector<Shape> parameters, buffers;        // in the order of slices()
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const layers::Layer& layer = *net.layers()[i];
    const layers::Wires& wires = net.wires()[i];
    const auto of = [&](int other, const std::vector<Shape>& all, const Shape& first) {
      return other < 0 ? first : all[static_cast<std::size_t>(other)];
    };
    const Shape input = of(wires.input, shapes, net.input_shape(1));
    const Shape image = of(wires.input, made, {});
    const bool has_image = image.rank() > 0;
    if (layer.traits().junction == layers::Junction::concat && input.rank() == 2 &&
        (has_image || of(wires.other, made, {}).rank() > 0)) {
      throw Error(ErrorKind::data,
                  str(where, ": ", layer.name(), " puts rows of images behind each other, whose ",
                      "order Weft does not know; export the model as ONNX"));
    }
    if (layer.traits().view && input.rank() == 4 && shapes[i].rank() == 2) {
      const bool is_same = input[1] == 1 || input[2] * input[3] == 1;
      if (!is_same) made[i] = {input[1], input[2], input[3]};
    } else if (has_image && layer.type() != "Linear") {
      made[i] = image;
    }
    const auto image_of = [&](const Shape& tensor) {
      const bool is_of_outputs = layer.type() == "Linear" && tensor.rank() == 1;  // its bias
      const bool has_row = has_image && tensor[tensor.rank() - 1] == image.elements();
      return has_row && !is_of_outputs ? image : Shape();
    };
    for (const auto& spec : layer.parameters()) parameters.push_back(image_of(spec.shape));
    for (const auto& spec : layer.buffers()) buffers.push_back(image_of(spec.shape));
  }
  parameters.insert(parameters.end(), buffers.begin(), buffers.end());
  return parameters;
}

std::vector<float> channels_first(const std::vector<float>& values, std::int64_t channels,
                                  std::int64_t plane) {
  const auto depth = static_cast<std::size_t>(channels), pixels = static_cast<std::size_t>(plane);
  const std::size_t row = depth * pixels;
  std::vector<float> made(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i % row / pixels, pixel = i % pixels;
    made[i] = values[i / row * row + pixel * depth + channel];
  }
  return made;
}

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// weft._core: Weft on the CPU, and on GPUs where the package was built with CUDA. It alone has
// layers and models.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "models/networks/network_text.h"
#include "python/bindings/arrays.h"

namespace weft::python {
namespace {

// ---- Any layer of the registry, made by its line of a network.

using layers::FloatView;

// The layer of a call, and what it is lent.
struct Lent {
  Lent(Call& call, const std::string& line, const Array& array, const std::vector<Array>& tensors) {
    const auto input = call.input<float>("x", array);
    const auto lines = models::parse_network(line, call.name());
    call.require(lines.size() == 1 && input.shape.rank() > 0,
                 "expected the line of one layer and an x of a batch, found ", lines.size(),
                 " layers and ", input.shape);
    layer = make_layer(*lines[0].row, lines[0].text, {"layer", input.shape.with_batch(1)});
    call.require(layer != nullptr && layer->buffers().empty(),
                 "a layer without a rate, or with running statistics, has functions of its own");
    const auto& specs = layer->parameters();
    call.require(tensors.size() == specs.size(), layer->describe(), " has ", specs.size(),
                 " parameters, found ", tensors.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const auto tensor = call.input<float>("tensors", tensors[i], specs[i].shape);
      parameters.push_back(view(call, tensor.data, tensor.shape));
    }
    x = view(call, input.data, input.shape);
    y = layer->output_shape(x.shape);
    const auto phase = layers::Phase::training;
    context.parameters = parameters;
    context.cache = call.workspace(layer->cache_bytes(x.shape)).data;
    context.workspace =
        call.workspace(layer->workspace_bytes(x.shape, context.kernels, x.device, phase));
    context.phase = phase;
    context.step = call.constant(std::int64_t{0});
  }

  // Layers do not write what they are lent to read.
  static FloatView view(const Call& call, const float* data, const Shape& shape) {
    return {const_cast<float*>(data), shape, call.stream().device()};
  }

  std::unique_ptr<layers::Layer> layer;
  FloatView x;
  Shape y{0};
  std::vector<FloatView> parameters;
  layers::LayerContext context;
};

Result layer_forward(const std::string& line, const Array& x, const std::vector<Array>& tensors) {
  Call call("layer_forward");
  const Lent lent(call, line, x, tensors);
  const FloatView y = Lent::view(call, call.output<float>(lent.y), lent.y);
  call.run([&](const Stream& on) {
    lent.layer->forward(y, lent.x, layers::Epilogue::none, lent.context, on);
  });
  return call.result();
}

Results layer_backward(const std::string& line, const Array& dy, const Array& x,
                       const std::vector<Array>& tensors) {
  Call call("layer_backward");
  Lent lent(call, line, x, tensors);
  const FloatView gradient = Lent::view(call, call.input<float>("dy", dy, lent.y).data, lent.y);
  const auto bytes = static_cast<std::size_t>(lent.y.elements()) * sizeof(float);
  const FloatView y =
      Lent::view(call, static_cast<const float*>(call.workspace(bytes).data), lent.y);
  const FloatView dx = Lent::view(call, call.output<float>(lent.x.shape), lent.x.shape);
  std::vector<FloatView> gradients;
  for (const FloatView& tensor : lent.parameters) {
    gradients.push_back(Lent::view(call, call.output<float>(tensor.shape), tensor.shape));
  }
  lent.context.gradients = gradients;
  call.run([&](const Stream& on) {
    lent.layer->forward(y, lent.x, layers::Epilogue::none, lent.context, on);
    lent.layer->backward(dx, gradient, lent.x, y, kOverwrite, lent.context, on);
  });
  return call.results();
}

std::vector<std::tuple<std::string, std::string, std::string>> layer_names() {
  std::vector<std::tuple<std::string, std::string, std::string>> names;
  for (const layers::LayerRow& row : layers::layer_rows()) {
    if (!row.python.empty()) names.emplace_back(row.python, row.word, row.example);
  }
  return names;
}

void bind_layers(nb::module_& m) {
  m.def(
      "layer_names", &layer_names,
      "Each layer: its name in weft.layers, its word in a network, or \"\", and arguments of it.");
  m.def("layer_forward", &layer_forward, "line"_a, "x"_a, "tensors"_a,
        "What the layer of a line of a network makes of x in training. tensors: its parameters.");
  m.def("layer_backward", &layer_backward, "line"_a, "dy"_a, "x"_a, "tensors"_a,
        "The gradients of x and of the parameters: dy is that of what layer_forward returns.");
}

}  // namespace
}  // namespace weft::python

NB_MODULE(_core, m) {
  weft::python::bind_all(m);
  weft::python::bind_layers(m);
  weft::python::bind_model(m);
  weft::python::bind_load_model(m);
  weft::python::bind_train(m);
}

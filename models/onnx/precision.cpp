// SPDX-License-Identifier: MIT
#include "models/onnx/precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "data/arrays/half.h"
#include "engine/error.h"
#include "kernels/int8/int8.h"
#include "models/int8/product.h"

namespace weft::models {

namespace {

std::vector<float> floats_of(const onnx::TensorProto& tensor) {
  if (tensor.raw_data().empty()) return {tensor.float_data().begin(), tensor.float_data().end()};
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
  return values;
}

template <class T>
void set_values(onnx::TensorProto& tensor, int type, const std::vector<T>& values) {
  tensor.clear_float_data();
  tensor.set_data_type(type);
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));  // little-endian
}

void make_half(onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT) return;
  std::vector<std::uint16_t> halves;
  for (const float value : floats_of(tensor)) halves.push_back(data::to_half(value));
  set_values(tensor, onnx::TensorProto::FLOAT16, halves);
}

onnx::NodeProto node_of(const std::string& type, const std::string& output,
                        const std::vector<std::string>& inputs) {
  onnx::NodeProto node;
  node.set_op_type(type);
  node.set_name(output);
  node.add_output(output);
  for (const std::string& input : inputs) node.add_input(input);
  return node;
}

void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

onnx::NodeProto cast_of(const std::string& output, const std::string& input, int type) {
  onnx::NodeProto node = node_of("Cast", output, {input});
  set_integer(node, "to", type);
  return node;
}

onnx::TensorProto* find_tensor(onnx::GraphProto& graph, const std::string& name) {
  const auto found =
      std::ranges::find(*graph.mutable_initializer(), name,
                        [](const onnx::TensorProto& tensor) { return tensor.name(); });
  return found == graph.mutable_initializer()->end() ? nullptr : &*found;
}

// Makes the nodes of a graph anew, one after another.
class Quantizer {
 public:
  Quantizer(onnx::GraphProto& graph, const std::map<std::string, ValueRange>& ranges)
      : graph_(graph), ranges_(ranges) {}

  void run() {
    for (const onnx::NodeProto& node : graph_.node()) {
      onnx::NodeProto copy = node;
      if (node.op_type() == "Conv" || node.op_type() == "Gemm") quantize(copy);
      nodes_.push_back(std::move(copy));
    }
    graph_.clear_node();
    for (onnx::NodeProto& node : nodes_) *graph_.add_node() = std::move(node);
  }

 private:
  void quantize(onnx::NodeProto& node) {
    const std::string input = node.input(0);
    const int8::Steps in = int8::Steps::of_range(ranges_.at(input), 1);
    node.set_input(0, in_bytes(input, in));
    const std::vector<double> steps = quantize_filters(node.input(1));
    node.set_input(1, node.input(1) + "/real");
    if (node.input_size() < 3) return;
    quantize_bias(node.input(2), steps, double{in.step.front()});
    node.set_input(2, node.input(2) + "/real");
  }

  // The value as bytes and back, once for all that read it.
  std::string in_bytes(const std::string& value, const int8::Steps& steps) {
    const std::string scale = value + "/scale", zero = value + "/zero", bytes = value + "/bytes";
    if (find_tensor(graph_, scale) == nullptr) {
      add_tensor(scale, onnx::TensorProto::FLOAT, steps.step, false);
      add_tensor(zero, onnx::TensorProto::UINT8, steps.zero, false);
      nodes_.push_back(node_of("QuantizeLinear", bytes, {value, scale, zero}));
      nodes_.push_back(node_of("DequantizeLinear", value + "/real", {bytes, scale, zero}));
    }
    return value + "/real";
  }

  std::vector<double> quantize_filters(const std::string& name) {
    onnx::TensorProto& tensor = *find_tensor(graph_, name);
    const std::vector<float> values = floats_of(tensor);
    const auto filters = static_cast<std::size_t>(tensor.dims(0));
    const std::size_t taps = values.size() / filters;
    std::vector<double> steps;
    std::vector<std::int8_t> bytes;
    for (std::size_t o = 0; o < filters; ++o) {
      const auto filter = std::span(values).subspan(o * taps, taps);
      double largest = 1e-30;
      for (const float value : filter) {
        if (!std::isfinite(value)) {
          throw Error(ErrorKind::data, str(name, " holds what is not a number"));
        }
        largest = std::max(largest, std::abs(double{value}));
      }
      steps.push_back(static_cast<float>(largest / kernels::kInt8FilterMost));
      for (const float value : filter) {
        bytes.push_back(static_cast<std::int8_t>(std::lrint(value / steps.back())));
      }
    }
    set_values(tensor, onnx::TensorProto::INT8, bytes);
    add_scales(name, steps, onnx::TensorProto::INT8, std::vector<std::int8_t>(filters));
    return steps;
  }

  void quantize_bias(const std::string& name, const std::vector<double>& steps, double in) {
    onnx::TensorProto& tensor = *find_tensor(graph_, name);
    const std::vector<float> values = floats_of(tensor);
    std::vector<std::int32_t> sums;
    std::vector<double> of_sums;
    for (std::size_t o = 0; o < values.size(); ++o) {
      of_sums.push_back(static_cast<float>(steps[o] * in));
      constexpr double kMost = kernels::kInt8MostBias;
      const double sum = double{values[o]} / of_sums.back();
      sums.push_back(static_cast<std::int32_t>(std::lrint(std::clamp(sum, -kMost, kMost))));
    }
    set_values(tensor, onnx::TensorProto::INT32, sums);
    add_scales(name, of_sums, onnx::TensorProto::INT32, std::vector<std::int32_t>(sums.size()));
  }

  // DequantizeLinear behind a tensor, by its first axis.
  template <class T>
  void add_scales(const std::string& name, const std::vector<double>& steps, int type,
                  const std::vector<T>& zeros) {
    add_tensor(name + "/scale", onnx::TensorProto::FLOAT,
               std::vector<float>(steps.begin(), steps.end()), true);
    add_tensor(name + "/zero", type, zeros, true);
    nodes_.push_back(
        node_of("DequantizeLinear", name + "/real", {name, name + "/scale", name + "/zero"}));
    set_integer(nodes_.back(), "axis", 0);
  }

  template <class T>
  void add_tensor(const std::string& name, int type, const std::vector<T>& values, bool is_list) {
    onnx::TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    if (is_list) tensor.add_dims(std::ssize(values));
    set_values(tensor, type, values);
  }

  onnx::GraphProto& graph_;
  const std::map<std::string, ValueRange>& ranges_;
  std::vector<onnx::NodeProto> nodes_;
};

}  // namespace

void make_half(onnx::GraphProto& graph) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) make_half(tensor);
  const std::string input = graph.input(0).name(), output = graph.output(0).name();
  std::vector<onnx::NodeProto> nodes = {
      cast_of(input + "/half", input, onnx::TensorProto::FLOAT16)};
  for (const onnx::NodeProto& node : graph.node()) {
    nodes.push_back(node);
    for (std::string& name : *nodes.back().mutable_input()) {
      if (name == input) name = input + "/half";
    }
    for (std::string& name : *nodes.back().mutable_output()) {
      if (name == output) name = output + "/half";
    }
    for (onnx::AttributeProto& attribute : *nodes.back().mutable_attribute()) {
      if (attribute.has_t()) make_half(*attribute.mutable_t());
    }
  }
  nodes.push_back(cast_of(output, output + "/half", onnx::TensorProto::FLOAT));
  graph.clear_node();
  for (onnx::NodeProto& node : nodes) *graph.add_node() = std::move(node);
}

void make_int8(onnx::GraphProto& graph, const std::map<std::string, ValueRange>& ranges) {
  Quantizer(graph, ranges).run();
}

}  // namespace weft::models

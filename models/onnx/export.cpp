// SPDX-License-Identifier: MIT
// A Sequential as an ONNX graph: one node a layer, named as the layer is.
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>

#include "data/files/file_io.h"
#include "data/versions/build_info.h"
#include "models/int8/product.h"
#include "models/onnx/onnx.h"
#include "models/onnx/precision.h"

namespace weft::models {

namespace {

using layers::Layer;

// The version of the format that came with a set of operators. Older programs refuse a newer one.
constexpr std::int64_t ir_version_of(std::int64_t opset) {
  return opset < 12 ? 6 : opset < 15 ? 7 : opset < 19 ? 8 : opset < 21 ? 9 : 10;
}

// Operators that came after kLeastOnnxOpset and with kOnnxOpset at the latest. The other nodes that
// layers say mean the same in all sets that may be asked for, or say their set themselves.
constexpr std::pair<std::string_view, std::int64_t> kNewOperators[] = {{"HardSwish", 14},
                                                                       {"LayerNormalization", 17}};

constexpr std::int64_t kMostFileBytes = (std::int64_t{1} << 31) - 1;
constexpr std::int64_t kMostGraphBytes = std::int64_t{16} << 20;  // the file without its tensors

void add_attribute(onnx::NodeProto& node, const std::string& name,
                   const layers::OnnxNode::Value& value) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(*number);
  } else if (const auto* real = std::get_if<float>(&value)) {
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(*real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    attribute.set_type(onnx::AttributeProto::STRING);
    attribute.set_s(*text);
  } else {
    attribute.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t one : std::get<std::vector<std::int64_t>>(value)) {
      attribute.add_ints(one);
    }
  }
}

// Follows the data through the layers, and adds a node for each that does something in inference.
class GraphWriter {
 public:
  // `opset`: that is asked for; 0: kOnnxOpset, or a newer one where a layer needs it.
  GraphWriter(onnx::GraphProto& graph, std::string input, std::int64_t opset)
      : graph_(graph), input_(std::move(input)), asked_(opset) {}

  // `input` is the shape in front of the layer.
  void add(const Layer& layer, const layers::Wires& wires, const Shape& input) {
    const layers::OnnxNode said = layer.onnx(input);
    require_opset(said, layer);
    const std::string from = value(wires.input);
    values_.push_back(said.type.empty() ? from : layer.name());
    if (said.type.empty()) return;
    for (std::size_t i = 0; i < said.before.size(); ++i) {
      add_said(said.before[i], layer, part_name(layer, static_cast<int>(i)), from);
    }
    onnx::NodeProto& node = add_said(said, layer, layer.name(), from);
    if (said.inputs.empty()) {
      for (const auto& spec : layer.parameters()) node.add_input(layer.name() + "." + spec.name);
      for (const auto& spec : layer.buffers()) node.add_input(layer.name() + "." + spec.name);
    }
    if (wires.other >= 0) node.add_input(value(wires.other));
  }

  // What each layer so far makes, by its name in the graph.
  const std::vector<std::string>& values() const { return values_; }
  std::int64_t opset() const { return asked_ != 0 ? asked_ : opset_; }  // that has all nodes

  void add_sigmoid() { add_node("Sigmoid", "sigmoid of each class", last()); }

  // Gives what the last layer makes this name.
  void finish(const std::string& output) {
    if (graph_.node_size() == 0) add_node("Identity", "output", last());
    graph_.mutable_node(graph_.node_size() - 1)->set_output(0, output);
  }

 private:
  void require_opset(const layers::OnnxNode& said, const Layer& layer) {
    opset_ = std::max(opset_, said.opset);
    const auto* newer =
        std::ranges::find(kNewOperators, said.type, [](auto& row) { return row.first; });
    const std::int64_t least = newer != std::end(kNewOperators) ? newer->second : said.opset;
    if (asked_ == 0 || least <= asked_) return;
    throw Error(ErrorKind::usage, str("--opset ", asked_, " has no ", said.type, ", which ",
                                      layer.name(), " is: expected ", least, " or later"));
  }

  std::string last() const { return value(static_cast<int>(values_.size()) - 1); }
  const std::string& value(int layer) const {
    return layer < 0 ? input_ : values_[static_cast<std::size_t>(layer)];
  }

  static std::string part_name(const Layer& layer, int part) {
    return str(layer.name(), "/", part);
  }

  // A node that a layer says, with the inputs that it names.
  onnx::NodeProto& add_said(const layers::OnnxNode& said, const Layer& layer,
                            const std::string& name, const std::string& from) {
    std::vector<std::string> inputs;
    for (const layers::OnnxInput& input : said.inputs) {
      inputs.push_back(input_of(input, layer, from));
    }
    onnx::NodeProto& node = add_node(said.type, name, from);
    if (!inputs.empty()) node.mutable_input()->Assign(inputs.begin(), inputs.end());
    for (const auto& [attribute, number] : said.attributes) {
      add_attribute(node, attribute, number);
    }
    return node;
  }

  // The name of an input. A constant becomes a node of its own: the tensors of the file are those
  // of the model.
  std::string input_of(const layers::OnnxInput& input, const Layer& layer,
                       const std::string& from) {
    using Kind = layers::OnnxInput::Kind;
    if (input.kind == Kind::data) return from;
    if (input.kind == Kind::tensor) return layer.name() + "." + input.name;
    if (input.kind == Kind::node) return part_name(layer, input.index);
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type("Constant");
    node.set_name(str("constant/", graph_.node_size()));
    node.add_output(node.name());
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    onnx::TensorProto& constant = *value.mutable_t();
    if (input.kind == Kind::number) {
      constant.set_data_type(onnx::TensorProto::FLOAT);
      constant.add_float_data(input.value);
    } else {
      constant.set_data_type(onnx::TensorProto::INT64);
      constant.add_dims(std::ssize(input.integers));
      for (const std::int64_t number : input.integers) constant.add_int64_data(number);
    }
    return node.name();
  }

  onnx::NodeProto& add_node(const std::string& type, const std::string& name,
                            const std::string& from) {
    onnx::NodeProto& node = *graph_.add_node();
    node.set_op_type(type);
    node.set_name(name);
    node.add_input(from);
    node.add_output(name);
    return node;
  }

  onnx::GraphProto& graph_;
  std::string input_;
  std::vector<std::string> values_;  // that the layers so far make
  std::int64_t asked_;
  std::int64_t opset_ = kOnnxOpset;
};

// The extents behind that of the batch.
void set_value(onnx::ValueInfoProto& value, const char* name, const Shape& shape) {
  value.set_name(name);
  onnx::TypeProto::Tensor& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  tensor.mutable_shape()->add_dim()->set_dim_param("batch");
  for (int i = 1; i < shape.rank(); ++i) {
    tensor.mutable_shape()->add_dim()->set_dim_value(shape[i]);
  }
}

void add_metadata(onnx::ModelProto& file, const char* key, std::string_view value) {
  onnx::StringStringEntryProto& entry = *file.add_metadata_props();
  entry.set_key(key);
  entry.set_value(std::string(value));
}

void add_initializer(onnx::GraphProto& graph, const NamedTensor& tensor) {
  onnx::TensorProto& out = *graph.add_initializer();
  out.set_name(tensor.name);
  out.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : tensor.shape.extents()) out.add_dims(extent);
  out.set_raw_data(tensor.values.data(), tensor.values.size() * sizeof(float));  // little-endian
}

// The range of every value that a layer may read.
std::map<std::string, ValueRange> ranges_of(const ModelInfo& info,
                                            const std::vector<std::string>& values) {
  if (info.ranges.size() != values.size()) {
    throw Error(ErrorKind::usage,
                "the model does not say the ranges of its layers, which int8 needs");
  }
  const int8::Steps pixels = int8::Steps::of_pixels(info);
  ValueRange input;
  for (std::size_t c = 0; c < pixels.step.size(); ++c) {
    input.least = std::min(input.least, pixels.offset[c]);
    input.most = std::max(input.most, pixels.offset[c] + 255 * pixels.step[c]);
  }
  std::map<std::string, ValueRange> ranges = {{"input", input}};
  for (std::size_t i = 0; i < values.size(); ++i) ranges.emplace(values[i], info.ranges[i]);
  return ranges;
}

}  // namespace

void write_onnx(const data::OutputPath& to, const Model& model, const OnnxExport& options) {
  const std::int64_t opset = options.opset;
  if (options.precision == OnnxPrecision::int8 && opset != 0 && opset < kInt8Opset) {
    throw Error(ErrorKind::usage,
                str("--opset ", opset, " has one scale for all filters: int8 needs ", kInt8Opset,
                    " or later"));
  }
  if (opset != 0 && (opset < kLeastOnnxOpset || opset > kMostOnnxOpset)) {
    throw Error(ErrorKind::usage, str("expected a set of operators from ", kLeastOnnxOpset, " to ",
                                      kMostOnnxOpset, ", found ", opset));
  }
  const layers::Sequential& net = *model.net;
  const std::int64_t values = net.parameter_count() + net.buffer_count();
  if (values > (kMostFileBytes - kMostGraphBytes) / std::int64_t{sizeof(float)}) {
    throw Error(ErrorKind::usage,
                str(to.path().string(), ": an ONNX file is smaller than 2 GiB, and ",
                    "this model has ", values, " numbers of 4 bytes"));
  }
  onnx::ModelProto file;
  file.set_producer_name("weft");
  file.set_producer_version(build_info().version);
  add_metadata(file, "weft", to_json(model.info));
  add_metadata(file, "definition", definition_of(model.info.network));

  onnx::GraphProto& graph = *file.mutable_graph();
  graph.set_name(model.info.network.name);
  set_value(*graph.add_input(), "input", net.input_shape(1));
  const bool is_sigmoid = model.info.output == Output::sigmoid;
  const char* output = is_sigmoid ? "probabilities" : "logits";
  set_value(*graph.add_output(), output, net.output_shape(1));
  GraphWriter writer(graph, "input", opset);
  const std::vector<Shape> shapes = net.output_shapes(1);
  for (std::size_t i = 0; i < net.layers().size(); ++i) {
    const layers::Wires& wires = net.wires()[i];
    writer.add(
        *net.layers()[i], wires,
        wires.input < 0 ? net.input_shape(1) : shapes[static_cast<std::size_t>(wires.input)]);
  }
  if (is_sigmoid) writer.add_sigmoid();
  writer.finish(output);
  onnx::OperatorSetIdProto& set = *file.add_opset_import();
  set.set_domain("");
  set.set_version(writer.opset());
  file.set_ir_version(ir_version_of(writer.opset()));
  {
    const SafeTensors content = model_content(model);
    for (const NamedTensor& tensor : content.tensors) add_initializer(graph, tensor);
  }
  if (options.precision == OnnxPrecision::fp16) make_half(graph);
  if (options.precision == OnnxPrecision::int8) {
    make_int8(graph, ranges_of(model.info, writer.values()));
  }
  std::string bytes;
  if (!file.SerializeToString(&bytes)) {
    throw Error(ErrorKind::usage,
                str(to.path().string(), ": the model is too large for an ONNX file"));
  }
  data::write_file_atomically(to, bytes);
}

}  // namespace weft::models

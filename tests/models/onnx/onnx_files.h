// SPDX-License-Identifier: MIT
// Models with random numbers, and ONNX files that a test may change before they are read.
#pragma once

#include <onnx/onnx_pb.h>

#include <bit>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "models/onnx/onnx.h"
#include "tests/models/random_model.h"
#include "tests/support/folder.h"

namespace weft::test {

// 8 x 8 pixels of two channels, three classes.
inline constexpr const char* kSmallNetwork =
    "conv 4 3x3 pad 1\n"
    "batch_norm\n"
    "relu\n"
    "max_pool 2 stride 2\n"
    "residual {\n"
    "  conv 4 3x3 pad 1 no_bias\n"
    "}\n"
    "flatten\n"
    "linear 5\n"
    "sigmoid\n"
    "linear classes\n";

inline onnx::ModelProto file_of(const models::Model& model) {
  const TemporaryFolder folder;
  models::write_onnx(folder / "m.onnx", model);
  onnx::ModelProto file;
  if (!file.ParseFromString(read_text(folder / "m.onnx"))) throw std::runtime_error("no ONNX file");
  return file;
}

// As another program would have written it: nothing of Weft's in it.
inline onnx::ModelProto small_file() {
  onnx::ModelProto file = file_of(random_model(network_file(kSmallNetwork)));
  file.clear_metadata_props();
  return file;
}

inline models::OnnxModel read_bytes(const std::string& bytes,
                                    const models::OnnxImport& options = {}) {
  const TemporaryFolder folder;
  write_text(folder / "m.onnx", bytes);
  return models::read_onnx(folder / "m.onnx", options);
}

inline models::OnnxModel read(const onnx::ModelProto& file,
                              const models::OnnxImport& options = {}) {
  return read_bytes(file.SerializeAsString(), options);
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

inline onnx::NodeProto& node_named(onnx::ModelProto& file, const std::string& name) {
  for (onnx::NodeProto& node : *file.mutable_graph()->mutable_node()) {
    if (node.name() == name) return node;
  }
  throw std::runtime_error("no node " + name);
}

inline onnx::TensorProto& tensor_named(onnx::ModelProto& file, const std::string& name) {
  for (onnx::TensorProto& tensor : *file.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::runtime_error("no tensor " + name);
}

inline void set_floats(onnx::TensorProto& tensor, const std::vector<float>& values) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  for (const float value : values) tensor.add_float_data(value);
}

inline onnx::AttributeProto& attribute_named(onnx::NodeProto& node, const std::string& name) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) return attribute;
  }
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  return attribute;
}

inline void set_number(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = attribute_named(node, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

inline void set_numbers(onnx::NodeProto& node, const std::string& name,
                        const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = attribute_named(node, name);
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.clear_ints();
  for (const std::int64_t value : values) attribute.add_ints(value);
}

inline void set_real(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto& attribute = attribute_named(node, name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

inline onnx::TensorProto& add_tensor(onnx::ModelProto& file, const std::string& name,
                                     const std::vector<std::int64_t>& shape,
                                     const std::vector<float>& values) {
  onnx::TensorProto& tensor = *file.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  for (const float value : values) tensor.add_float_data(value);
  return tensor;
}

// Puts a node behind the one that makes `value`: all that read it read the new node's output.
inline onnx::NodeProto& insert_behind(onnx::ModelProto& file, const std::string& value,
                                      const std::string& type) {
  onnx::GraphProto& graph = *file.mutable_graph();
  int at = 0;  // of the new node
  for (int i = 0; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *graph.mutable_node(i);
    if (node.output(0) == value) at = i + 1;
    for (std::string& input : *node.mutable_input()) {
      if (input == value) input = "new";
    }
  }
  if (graph.output(0).name() == value) graph.mutable_output(0)->set_name("new");
  onnx::NodeProto& node = *graph.add_node();
  node.set_name("new");
  node.set_op_type(type);
  node.add_input(value);
  node.add_output("new");
  for (int i = graph.node_size() - 1; i > at; --i) graph.mutable_node()->SwapElements(i, i - 1);
  return *graph.mutable_node(at);
}

}  // namespace weft::test

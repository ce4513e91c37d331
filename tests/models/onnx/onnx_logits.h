// SPDX-License-Identifier: MIT
// Two ONNX files that say the same of an image, and nodes of a graph that a test makes.
#pragma once

#include <algorithm>
#include <cmath>

#include "models/answers/classifier.h"
#include "tests/models/onnx/onnx_files.h"

namespace weft::test {

inline onnx::ModelProto plain_file(const std::string& definition) {
  onnx::ModelProto file = file_of(random_model(network_file(definition)));
  file.clear_metadata_props();
  return file;
}

inline std::vector<double> logits_of(const models::Model& model) {
  const auto& shape = model.net->sample_shape();
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(i * 97 % 251);
  }
  const auto logits = models::Classifier(model, Stream(Device::cpu())).classify(pixels).logits;
  return {logits.begin(), logits.end()};
}

// Do both files say the same of an image? Their numbers may be rounded otherwise.
inline void expect_same(const onnx::ModelProto& found, const onnx::ModelProto& expected) {
  const std::vector<double> a = logits_of(read(found).model);
  const std::vector<double> b = logits_of(read(expected).model);
  ASSERT_EQ(a.size(), b.size());
  double most = 0;
  for (const double value : b) most = std::max(most, std::fabs(value));
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5 * most) << i;
}

inline std::string definition_in(const onnx::ModelProto& file) {
  return read(file).model.info.network.definition;
}

inline void add_integers(onnx::ModelProto& file, const std::string& name,
                         const std::vector<std::int64_t>& numbers, bool is_scalar = false) {
  onnx::TensorProto& tensor = *file.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  if (!is_scalar) tensor.add_dims(std::ssize(numbers));
  for (const std::int64_t number : numbers) tensor.add_int64_data(number);
}

inline onnx::NodeProto& add_node_at_end(onnx::ModelProto& file, const std::string& type,
                                        const std::vector<std::string>& inputs,
                                        const std::string& output) {
  onnx::NodeProto& node = *file.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(output);
  node.add_output(output);
  for (const std::string& input : inputs) node.add_input(input);
  return node;
}

inline std::vector<float> floats_in(const onnx::TensorProto& tensor) {
  std::vector<float> values(tensor.raw_data().size() / sizeof(float));
  std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
  if (values.empty()) values.assign(tensor.float_data().begin(), tensor.float_data().end());
  return values;
}

}  // namespace weft::test

// SPDX-License-Identifier: MIT
#include "models/onnx/operators.h"

#include <algorithm>

#include "engine/error.h"
#include "models/onnx/node_reader.h"

namespace weft::models {

namespace {

// The operators that no layer reads, and what is wrong where one stands among the layers; null for
// those that OnnxGraph takes away.
constexpr const char* kLast = "expected this operator to be the last";
constexpr const char* kFirst =
    "Weft has this operator only in front of the first layer, where it scales the image";
constexpr std::pair<std::string_view, const char*> kOthers[] = {
    {"Add", nullptr},     // a bias, or of two values a residual block
    {"Concat", nullptr},  // a block
    {"Cast", kFirst},    {"Constant", nullptr}, {"Div", kFirst}, {"Identity", nullptr},
    {"Log", kLast},      {"LogSoftmax", kLast}, {"Mul", kFirst}, {"Softmax", kLast},
    {"Sub", kFirst},     {"Transpose", kFirst},
};

// The row that reads this operator, or null.
struct Found {
  const layers::LayerRow* row = nullptr;
  const layers::OnnxOperator* as = nullptr;
};

Found find_operator(const std::string& type) {
  for (const layers::LayerRow& row : layers::layer_rows()) {
    for (const layers::OnnxOperator& known : row.onnx) {
      if (known.type == type) return {&row, &known};
    }
  }
  return {};
}

const auto* find_other(const std::string& type) {
  const auto* found = std::ranges::find(kOthers, type, [](const auto& row) { return row.first; });
  return found == std::end(kOthers) ? nullptr : found;
}

}  // namespace

bool is_onnx_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

bool is_operator_known(const onnx::NodeProto& node) {
  const std::string& type = node.op_type();
  return is_onnx_domain(node.domain()) &&
         (find_operator(type).row != nullptr || find_other(type) != nullptr);
}

OnnxLayer onnx_layer(const onnx::NodeProto& node, const OnnxGraph& graph) {
  NodeReader reader(node, graph);
  const std::string& type = node.op_type();
  if (type == "Add") {  // of a value and a tensor
    const int index = reader.is_tensor(0) ? 0 : 1;
    OnnxLayer bias{.node = &node, .tensors = {{&reader.parameter(index, 1)}}};
    reader.finish();
    return bias;
  }
  const auto [row, as] = find_operator(type);
  const auto* other = find_other(type);
  if (row == nullptr) {
    const bool has_place = other != nullptr && other->second != nullptr;
    reader.fail(has_place ? other->second : "Weft has no layer for this operator");
  }
  // The first input is what the layers before made, and the rest are tensors.
  if (!reader.has_input(0) || reader.is_tensor(0)) {
    reader.fail("expected its first input to depend on the input of the graph");
  }
  OnnxLayer layer{&node, row, as->read(reader)};
  reader.finish();
  for (const layers::OnnxSource& from : layer.said.tensors) {
    OnnxTensor& tensor = layer.tensors.emplace_back();
    tensor.tensor = graph.constant(node.input(from.index));
    tensor.transposed = from.transposed;
    if (from.variance > 0) tensor.variance = graph.constant(node.input(from.variance));
    tensor.epsilon = from.epsilon;
  }
  return layer;
}

}  // namespace weft::models

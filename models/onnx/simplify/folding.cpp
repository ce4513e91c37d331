// SPDX-License-Identifier: MIT
// Nodes that need no picture: constants, and shapes in which only the batch is open.
#include <algorithm>

#include "models/onnx/graph.h"
#include "models/onnx/simplify/fold.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models::simplify {

namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

constexpr std::string_view kFolded[] = {
    "Abs",       "Add",      "Cast",       "Concat",     "ConstantOfShape",
    "Div",       "Exp",      "Expand",     "Flatten",    "Gather",
    "Mul",       "Neg",      "Shape",      "Reciprocal", "Reshape",
    "Slice",     "Sqrt",     "ReduceProd", "Squeeze",    "Sub",
    "Transpose", "Unsqueeze"};

}  // namespace

void Writer::keep(const std::string& name, const Array& array) {
  if (!array.is_written()) {
    computed_.insert_or_assign(name, array);
    return;
  }
  graph_.spend(static_cast<std::uint64_t>(array.count()) * (array.is_real() ? 4 : 16));
  graph_.constants.insert_or_assign(name, tensor_of(array, name));
}

std::optional<Array> Writer::constant_of(const NodeProto& node) {
  if (node.attribute_size() != 1) return std::nullopt;
  const AttributeProto& value = node.attribute(0);
  const auto reals = [](std::vector<std::int64_t> extents, std::vector<float> values) {
    return Array{.extents = std::move(extents), .reals = std::move(values)};
  };
  Array array{.type = onnx::TensorProto::INT64};
  switch (value.type()) {
    case AttributeProto::FLOAT:
      return reals({}, {value.f()});
    case AttributeProto::FLOATS:
      return reals({value.floats_size()}, {value.floats().begin(), value.floats().end()});
    case AttributeProto::INT:
      array.integers = {Extent::number(value.i())};
      return array;
    case AttributeProto::INTS:
      if (value.ints_size() > kMostNumbers) return std::nullopt;
      array.extents = {value.ints_size()};
      for (const std::int64_t number : value.ints()) {
        array.integers.push_back(Extent::number(number));
      }
      return array;
    default:
      return std::nullopt;
  }
}

bool Writer::fold(const NodeProto& node) {
  const std::string& type = node.op_type();
  const std::string& name = node.output(0);
  if (type == "Constant") {
    if (node.attribute_size() == 1 && node.attribute(0).type() == AttributeProto::TENSOR) {
      onnx::TensorProto tensor = node.attribute(0).t();
      tensor.set_name(name);
      graph_.constants.insert_or_assign(name, std::move(tensor));
      return true;
    }
    const std::optional<Array> array = constant_of(node);
    if (!array) refuse_node(node, graph_.where, "expected numbers as its value");
    keep(name, *array);
    return true;
  }
  if (type == "Identity" && node.input_size() == 1) {
    const auto computed = computed_.find(node.input(0));
    if (computed != computed_.end()) computed_.insert_or_assign(name, Array(computed->second));
    if (is_constant(node, 0)) aliases_.insert_or_assign(name, resolved(node.input(0)));
    return computed != computed_.end() || is_constant(node, 0);
  }
  if (type == "Shape" || type == "Size") {
    if (fold_shape(node)) return true;
  }
  if (std::ranges::count(kFolded, type) == 0 || node.input_size() == 0) return false;
  for (int i = 0; i < node.input_size(); ++i) {
    const bool is_known =
        !has_input(node, i) || is_constant(node, i) || computed_.contains(node.input(i));
    if (!is_known) return false;
  }
  std::vector<std::optional<Array>> arrays;
  std::vector<const Array*> inputs;
  for (int i = 0; i < node.input_size(); ++i) {
    arrays.push_back(array(node, i));
    if (has_input(node, i) && !arrays.back()) return false;
  }
  for (const std::optional<Array>& input : arrays) inputs.push_back(input ? &*input : nullptr);
  const std::optional<Array> made = folded(node, inputs, graph_);
  if (made) keep(name, *made);
  return made.has_value();
}

// Shape and Size of a value. Their numbers may depend on the batch.
bool Writer::fold_shape(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || !from->extents) return false;
  const Attributes attributes(node, graph_.where);
  attributes.require_only({"start", "end"});
  Array made{.type = onnx::TensorProto::INT64};
  if (node.op_type() == "Size") {
    made.integers = {product(*from->extents)};
  } else {
    const auto rank = std::ssize(*from->extents);
    const auto within = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 && at >= -rank ? at + rank : at, 0, rank);
    };
    const std::int64_t begin = within(attributes.integer("start", 0));
    const std::int64_t end = std::max(begin, within(attributes.integer("end", rank)));
    made.integers.assign(from->extents->begin() + begin, from->extents->begin() + end);
    made.extents = {end - begin};
  }
  keep(node.output(0), made);
  return true;
}

}  // namespace weft::models::simplify

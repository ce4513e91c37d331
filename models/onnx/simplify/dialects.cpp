// SPDX-License-Identifier: MIT
// Operators of an older set, those of scikit-learn's classifiers, those that others compute, and
// 16-bit floats of either kind, whose numbers 32-bit floats have all.
#include <algorithm>
#include <cstring>

#include "data/arrays/half.h"
#include "engine/error.h"
#include "engine/text.h"
#include "models/onnx/graph.h"
#include "models/onnx/simplify/writer.h"

namespace weft::models::simplify {

namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

bool is_arithmetic(const std::string& type) {
  return type == "Add" || type == "Sub" || type == "Mul" || type == "Div";
}

// Weft names the classes of a file 0, 1, 2, ...
void require_plain_labels(const NodeProto& node, const std::string& where) {
  for (const AttributeProto& attribute : node.attribute()) {
    if (!attribute.name().starts_with("classlabels_")) continue;
    bool are_plain = true;
    for (int i = 0; i < attribute.ints_size(); ++i) are_plain &= attribute.ints(i) == i;
    for (int i = 0; i < attribute.strings_size(); ++i) {
      are_plain &= attribute.strings(i) == std::to_string(i);
    }
    if (!are_plain) refuse_node(node, where, "expected the labels 0, 1, 2, ... of its classes");
  }
}

// Leaves a tensor as it is whose values are not as many as its extents say, for its reader to
// refuse.
void widen(onnx::TensorProto& tensor, Graph& graph) {
  const bool is_bfloat = tensor.data_type() == onnx::TensorProto::BFLOAT16;
  if (!is_half(tensor.data_type()) || tensor.data_location() != onnx::TensorProto::DEFAULT) return;
  std::vector<std::uint16_t> halves(tensor.int32_data().begin(), tensor.int32_data().end());
  if (tensor.has_raw_data()) {
    if (tensor.raw_data().size() % sizeof(std::uint16_t) != 0) return;
    halves.resize(tensor.raw_data().size() / sizeof(std::uint16_t));
    std::memcpy(halves.data(), tensor.raw_data().data(), tensor.raw_data().size());
  }
  graph.spend(halves.size() * sizeof(float));
  std::vector<float> values;
  values.reserve(halves.size());
  for (const std::uint16_t half : halves) {
    values.push_back(is_bfloat ? data::from_bfloat16(half) : data::from_half(half));
  }
  graph.has_halves = true;
  tensor.clear_int32_data();
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));  // little-endian
}

}  // namespace

bool is_half(int type) {
  return type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
}

void widen_halves(Graph& graph) {
  for (auto& [name, tensor] : graph.constants) widen(tensor, graph);
  for (onnx::NodeProto& node : graph.nodes) {
    const bool is_cast = node.op_type() == "Cast";
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) widen(*attribute.mutable_t(), graph);
      if (is_cast && attribute.name() == "to" && is_half(static_cast<int>(attribute.i()))) {
        attribute.set_i(onnx::TensorProto::FLOAT);
      }
    }
  }
}

// In set 6 a constant says at which axis it begins, and some operators say that they do not train.
void renew_from_set_6(Graph& graph) {
  for (NodeProto& node : graph.nodes) {
    const std::string& type = node.op_type();
    const Attributes attributes(node, graph.where);
    if (type == "Gemm" || is_arithmetic(type)) remove_attribute(node, "broadcast");
    if (type == "BatchNormalization" || type == "Dropout") {
      if (attributes.integer("is_test", 0) != 1) {
        refuse_node(node, graph.where, "expected is_test 1: it would train");
      }
      remove_attribute(node, "is_test");
      remove_attribute(node, "consumed_inputs");
    }
  }
  graph.opset = 7;
}

// The constant of set 6 with an axis as later sets have it, with extents of 1 behind its own.
bool Writer::write_axis_of_set_6(const NodeProto& node) {
  const Attributes attributes(node, graph_.where);
  const Seen* from = seen(node, 0);
  const std::optional<Array> by = array(node, 1);
  const std::int64_t axis = attributes.integer("axis", -1);
  attributes.require_only({"axis"});
  if (from == nullptr || !by || !from->extents || axis < 0) return false;
  const std::int64_t more = std::ssize(*from->extents) - axis - std::ssize(by->extents);
  if (more < 0) return false;
  Array wide = *by;
  wide.extents.resize(wide.extents.size() + static_cast<std::size_t>(more), 1);
  NodeProto later = node;
  later.clear_attribute();
  later.set_input(1, graph_.add(wide, node.input(1)));
  return write_binary(later);
}

// A linear layer whose weight is in attributes, and what makes probabilities of its scores.
bool Writer::write_classifier(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  const Attributes attributes(node, graph_.where);
  const AttributeProto* weight = attributes.find("coefficients", AttributeProto::FLOATS);
  const AttributeProto* bias = attributes.find("intercepts", AttributeProto::FLOATS);
  const std::string ending = attributes.text("post_transform", "NONE");
  constexpr int kLeastClasses = 3;  // scores of two are of another kind
  const bool is_known =
      from != nullptr && from->rank() == 2 && from->is_plain() && weight != nullptr &&
      bias != nullptr && node.output_size() == 2 && bias->floats_size() >= kLeastClasses &&
      weight->floats_size() % bias->floats_size() == 0 && (ending == "NONE" || ending == "SOFTMAX");
  if (!is_known) return false;
  attributes.require_only({"classlabels_ints", "classlabels_strings", "coefficients", "intercepts",
                           "multi_class", "post_transform"});
  require_plain_labels(node, graph_.where);
  const std::int64_t classes = bias->floats_size();
  const std::string& scores = node.output(1);
  NodeProto linear;
  linear.set_name(node.name());
  linear.set_op_type("Gemm");
  linear.add_input(node.input(0));
  linear.add_input(graph_.add({.extents = {classes, weight->floats_size() / classes},
                               .reals = {weight->floats().begin(), weight->floats().end()}},
                              scores + "/weight"));
  linear.add_input(
      graph_.add({.extents = {classes}, .reals = {bias->floats().begin(), bias->floats().end()}},
                 scores + "/bias"));
  linear.add_output(ending == "NONE" ? scores : graph_.new_name(scores));
  set_integer(linear, "transB", 1);
  if (!write_gemm(linear)) return false;
  if (ending == "NONE") return true;
  NodeProto softmax;
  softmax.set_name(node.name());
  softmax.set_op_type("Softmax");
  softmax.add_input(linear.output(0));
  softmax.add_output(scores);
  set_integer(softmax, "axis", 1);
  return write_softmax(softmax);
}

// Neg, Selu and Celu as products around an Elu (Klambauer et al., arXiv 1706.02515; Barron, arXiv
// 1704.07483). `alpha` and `gamma` have the defaults of ONNX.
bool Writer::write_by_others(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 1) return false;
  const Attributes attributes(node, graph_.where);
  const bool is_selu = node.op_type() == "Selu";
  struct Step {
    const char* type;
    double number;  // the second factor, or alpha
  };
  std::vector<Step> steps = {{"Mul", -1}};
  if (is_selu) {
    attributes.require_only({"alpha", "gamma"});
    steps = {{"Elu", double{attributes.real("alpha", 1.67326319217681884765625f)}},
             {"Mul", double{attributes.real("gamma", 1.05070102214813232421875f)}}};
  } else if (node.op_type() == "Celu") {
    attributes.require_only({"alpha"});
    const double alpha = double{attributes.real("alpha", 1)};
    if (!(alpha > 0)) refuse_node(node, graph_.where, str("expected alpha above 0, found ", alpha));
    steps = {{"Elu", 1}};
    if (alpha != 1) steps = {{"Div", alpha}, {"Elu", 1}, {"Mul", alpha}};
  }
  std::string value = node.input(0);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool is_last = i + 1 == steps.size(), is_elu = steps[i].type == std::string("Elu");
    const auto number = static_cast<float>(steps[i].number);
    NodeProto step;
    step.set_op_type(steps[i].type);
    step.set_name(node.name());
    step.add_input(value);
    if (is_elu) set_real(step, "alpha", number);
    if (!is_elu) step.add_input(graph_.add({.reals = {number}}, node.output(0) + "/number"));
    value = is_last ? node.output(0) : graph_.new_name(node.output(0) + "/step");
    step.add_output(value);
    write_node(step);
  }
  return true;
}

// Probabilities whose sum is 1 stay as they are, and a ZipMap gives them the names of classes.
bool Writer::write_names(const NodeProto& node) {
  const Seen* from = seen(node, 0);
  if (from == nullptr || node.input_size() != 1) return false;
  const Attributes attributes(node, graph_.where);
  if (node.op_type() == "Normalizer") {
    attributes.require_only({"norm"});
    const bool is_softmax = !written_.empty() && written_.back().op_type() == "Softmax" &&
                            written_.back().output(0) == from->name;
    if (!is_softmax || attributes.text("norm", "MAX") != "L1") return false;
  } else {
    attributes.require_only({"classlabels_int64s", "classlabels_strings"});
    require_plain_labels(node, graph_.where);
  }
  seen_.insert_or_assign(node.output(0), Seen(*from));
  return true;
}

}  // namespace weft::models::simplify

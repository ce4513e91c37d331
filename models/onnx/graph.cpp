// SPDX-License-Identifier: MIT
#include "models/onnx/graph.h"

#include "engine/error.h"
#include "engine/text.h"
#include "models/onnx/operators.h"

namespace weft::models {

namespace {

constexpr std::int64_t kLeastOpset = 7;  // which gave Add and BatchNormalization their meaning

}  // namespace

std::string place_of(const onnx::NodeProto& node, const std::string& where) {
  const std::string& name =
      node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name();
  const std::string domain = is_onnx_domain(node.domain()) ? "" : " of " + in_quotes(node.domain());
  return str(where, ": node ", in_quotes(name), " (", in_quotes(node.op_type()), domain, ")");
}

void refuse_node(const onnx::NodeProto& node, const std::string& where,
                 const std::string& problem) {
  throw Error(ErrorKind::data, str(place_of(node, where), ": ", problem));
}

OnnxGraph::OnnxGraph(const onnx::ModelProto& model, std::string where) : where_(std::move(where)) {
  const onnx::GraphProto& graph = model.graph();
  find_opset(model);
  add_initializers(graph);
  find_input(graph);
  output_info_ = &graph.output(0);
  for (const onnx::NodeProto& node : graph.node()) add_node(node);
  const auto value = values_.find(output_info_->name());
  if (value == values_.end()) {
    fail(str("no node makes the output ", in_quotes(output_info_->name())));
  }
  output_ = value->second;
}

std::int64_t OnnxGraph::batch() const {
  const auto& shape = input_->type().tensor_type().shape();
  return shape.dim_size() > 0 ? shape.dim(0).dim_value() : 0;
}

const onnx::TensorShapeProto& OnnxGraph::output_shape() const {
  return output_info_->type().tensor_type().shape();
}

const onnx::TensorProto* OnnxGraph::constant(const std::string& name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

void OnnxGraph::fail(const std::string& problem) const {
  throw Error(ErrorKind::data, str(where_, ": ", problem));
}

void OnnxGraph::find_opset(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if (!is_onnx_domain(opset.domain())) continue;
    opset_ = opset.version();
    if (opset_ >= kLeastOpset) return;
    fail(str("expected operators of set ", kLeastOpset, " or later, found ", opset.version()));
  }
  fail("does not say which set of ONNX operators it has");
}

void OnnxGraph::add_initializers(const onnx::GraphProto& graph) {
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    constants_.emplace(tensor.name(), &tensor);
  }
}

void OnnxGraph::find_input(const onnx::GraphProto& graph) {
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (constants_.contains(input.name())) continue;  // older files list their initializers too
    if (input_ != nullptr) {
      fail(str("expected a graph with one input, found ", in_quotes(input_->name()), " and ",
               in_quotes(input.name())));
    }
    input_ = &input;
  }
  if (input_ == nullptr) fail("expected a graph with one input, found none");
  const onnx::TypeProto& type = input_->type();
  const int element = type.has_tensor_type() ? type.tensor_type().elem_type() : 0;
  if (element != onnx::TensorProto::FLOAT && element != onnx::TensorProto::UINT8) {
    fail(str("expected the input ", in_quotes(input_->name()), " to be of FLOAT or UINT8"));
  }
  values_.emplace(input_->name(), 0);
  steps_.push_back({});
}

void OnnxGraph::add_node(const onnx::NodeProto& node) {
  if (!is_operator_known(node)) {
    const bool is_fused = node.domain().starts_with("com.microsoft");
    refuse_node(node, where_,
                str("Weft has no layer for this operator",
                    is_fused ? ", which onnxruntime makes of others: import the file from before "
                               "its optimisation"
                             : ""));
  }
  for (const std::string& name : node.input()) {
    if (name.empty() || constants_.contains(name) || values_.contains(name)) continue;
    refuse_node(
        node, where_,
        str("reads ", in_quotes(name), ", which no initializer and no node before it ", "gives"));
  }
  if (node.op_type() == "Identity" && node.input_size() == 1) {
    if (const onnx::TensorProto* tensor = constant(node.input(0))) {
      constants_.emplace(node.output(0), tensor);
      return;
    }
    if (const auto value = values_.find(node.input(0)); value != values_.end()) {
      values_.emplace(node.output(0), value->second);
      return;
    }
  }
  add_steps(node);
}

// A Concat of three values is one of the first and of a Concat of the others.
void OnnxGraph::add_steps(const onnx::NodeProto& node) {
  std::vector<int> reads;
  for (const std::string& name : node.input()) {
    if (const auto value = values_.find(name); value != values_.end()) {
      reads.push_back(value->second);
    }
  }
  if (reads.empty()) refuse_node(node, where_, "makes a value that does not depend on the input");
  const bool concatenates = node.op_type() == "Concat";
  if (concatenates && std::ssize(reads) != node.input_size()) {
    refuse_node(node, where_, "expected values that depend on the input, found a tensor");
  }
  if (!concatenates && reads.size() > (node.op_type() == "Add" ? 2 : 1)) {
    refuse_node(node, where_,
                "reads several values that depend on the input; Weft has Add for two, and Concat");
  }
  int last = reads.back();
  reads.pop_back();
  if (reads.empty()) last = add_step(node, last, -1);
  for (auto read = reads.rbegin(); read != reads.rend(); ++read) {
    last = add_step(node, *read, last);
  }
  values_.emplace(node.output(0), last);
}

int OnnxGraph::add_step(const onnx::NodeProto& node, int input, int other) {
  OnnxStep step{.node = &node, .input = input, .other = other};
  step.dominator = step.joins() ? common_dominator(input, other) : input;
  step.depth = steps_[static_cast<std::size_t>(step.dominator)].depth + 1;
  steps_.push_back(step);
  return static_cast<int>(steps_.size()) - 1;
}

// After K. Cooper, T. Harvey and K. Kennedy, A Simple, Fast Dominance Algorithm, 2001: where there
// are no cycles and the steps are in order, one pass suffices.
int OnnxGraph::common_dominator(int a, int b) const {
  const auto step = [&](int index) -> const OnnxStep& {
    return steps_[static_cast<std::size_t>(index)];
  };
  while (a != b) {
    int& deeper = step(a).depth >= step(b).depth ? a : b;
    deeper = step(deeper).dominator;
  }
  return a;
}

}  // namespace weft::models

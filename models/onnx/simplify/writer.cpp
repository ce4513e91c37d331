// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/writer.h"

#include <algorithm>

#include "models/onnx/graph.h"
#include "models/onnx/operators.h"
#include "models/onnx/simplify/fold.h"

namespace weft::models::simplify {

using onnx::NodeProto;

namespace {

// What is computed where it needs no picture: constants, and shapes in which only the batch is
// open.
constexpr std::string_view kFolded[] = {
    "Abs",       "Add",      "Cast",       "Concat",     "ConstantOfShape",
    "Div",       "Exp",      "Expand",     "Flatten",    "Gather",
    "Mul",       "Neg",      "Shape",      "Reciprocal", "Reshape",
    "Slice",     "Sqrt",     "ReduceProd", "Squeeze",    "Sub",
    "Transpose", "Unsqueeze"};

}  // namespace

Extents extents_as_written(const Seen& value) {
  Extents extents = *value.extents;
  for (std::size_t i = 0; i < value.order.size(); ++i) {
    extents[static_cast<std::size_t>(value.order[i])] = (*value.extents)[i];
  }
  return extents;
}

Writer::Writer(Graph& graph, Seen input, const std::optional<Bounds>& bounds) : graph_(graph) {
  const std::string name = input.name;
  if (bounds) bounds_.emplace(name, *bounds);
  graph_.extents.erase(name);
  if (input.extents) graph_.extents.emplace(name, *input.extents);
  seen_.emplace(name, std::move(input));
}

void Writer::write() {
  file_ = std::move(graph_.nodes);
  for (const NodeProto& node : file_) write_node(node);
  NodeProto end;
  end.set_op_type("Identity");
  end.add_input(graph_.output);
  refuse_levels(end);
  const auto output = seen_.find(graph_.output);
  if (output != seen_.end() && !output->second.order.empty() && keeps_values(output->second)) {
    output->second.order.clear();  // a column of numbers, whatever its extents of 1
  }
  if (output != seen_.end() &&
      (!output->second.is_plain() || output->second.name != graph_.output)) {
    NodeProto node;
    node.set_op_type("Identity");
    node.add_input(plain(graph_.output));
    node.add_output(graph_.output);
    const bool is_there = graph_.output == graph_.input || node.input(0) == graph_.output;
    if (!is_there) written_.push_back(std::move(node));
  }
  graph_.nodes = std::move(written_);
}

// The Cast to the type of the second input; nothing where that is not known.
std::optional<NodeProto> Writer::as_cast(const NodeProto& node) const {
  if (node.op_type() != "CastLike" || !is_onnx_domain(node.domain()) || node.input_size() != 2) {
    return std::nullopt;
  }
  int type = 0;
  if (const Seen* like = seen(node, 1)) type = like->type;
  const auto constant = graph_.constants.find(resolved(node.input(1)));
  if (constant != graph_.constants.end()) type = constant->second.data_type();
  if (type == 0) return std::nullopt;
  NodeProto cast = node;
  cast.set_op_type("Cast");
  cast.mutable_input()->RemoveLast();
  set_integer(cast, "to", type);
  return cast;
}

Writer::Write Writer::writer_of(const NodeProto& node) {
  static const std::map<std::string_view, Write> known = {
      {"Identity", &Writer::write_identity},
      {"Cast", &Writer::write_cast},
      {"Transpose", &Writer::write_transpose},
      {"Reshape", &Writer::write_reshape},
      {"Flatten", &Writer::write_reshape},
      {"Squeeze", &Writer::write_reshape},
      {"Unsqueeze", &Writer::write_reshape},
      {"Dropout", &Writer::write_dropout},
      {"Clip", &Writer::write_clip},
      {"Max", &Writer::write_clip},
      {"Min", &Writer::write_clip},
      {"Pow", &Writer::write_power},
      {"PRelu", &Writer::write_prelu},
      {"Add", &Writer::write_binary},
      {"Sub", &Writer::write_binary},
      {"Mul", &Writer::write_binary},
      {"Div", &Writer::write_binary},
      {"Softmax", &Writer::write_softmax},
      {"LogSoftmax", &Writer::write_softmax},
      {"Pad", &Writer::write_pad},
      {"Concat", &Writer::write_concat},
      {"MatMul", &Writer::write_product},
      {"Gemm", &Writer::write_gemm},
      {"Conv", &Writer::write_conv},
      {"MaxPool", &Writer::write_pool},
      {"AveragePool", &Writer::write_pool},
      {"GlobalMaxPool", &Writer::write_global_pool},
      {"GlobalAveragePool", &Writer::write_global_pool},
      {"ReduceMean", &Writer::write_reduce},
      {"ReduceMax", &Writer::write_reduce},
      {"BatchNormalization", &Writer::write_norm},
      {"Neg", &Writer::write_by_others},
      {"Selu", &Writer::write_by_others},
      {"Celu", &Writer::write_by_others},
  };
  static const std::map<std::string_view, Write> learned = {
      {"LinearClassifier", &Writer::write_classifier},
      {"Normalizer", &Writer::write_names},
      {"ZipMap", &Writer::write_names},
  };
  if (!is_onnx_domain(node.domain()) && node.domain() != "ai.onnx.ml") return nullptr;
  const auto& table = is_onnx_domain(node.domain()) ? known : learned;
  const auto found = table.find(node.op_type());
  return found != table.end() ? found->second : nullptr;
}

void Writer::write_node(const NodeProto& node) {
  if (write_quantizer(node)) return;
  if (const std::optional<NodeProto> cast = as_cast(node)) return write_node(*cast);
  if (node.op_type() == "Sum" && node.input_size() == 2 && is_onnx_domain(node.domain())) {
    NodeProto add = node;
    add.set_op_type("Add");
    return write_node(add);
  }
  const Write of_kind = writer_of(node);
  if (is_onnx_domain(node.domain())) {
    if (fold(node)) return;
    constexpr std::string_view kKeepInput[] = {"Add", "Cast",    "Div",       "Identity",
                                               "Mul", "Reshape", "Transpose", "Sub"};
    if (std::ranges::count(kKeepInput, node.op_type()) == 0) settle_input(node);
    if (of_kind != nullptr ? (this->*of_kind)(node) : write_unary(node)) return;
  } else if (of_kind != nullptr && (this->*of_kind)(node)) {
    return;
  }
  write_other(node);
}

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
  const onnx::AttributeProto& value = node.attribute(0);
  const auto reals = [](std::vector<std::int64_t> extents, std::vector<float> values) {
    return Array{.extents = std::move(extents), .reals = std::move(values)};
  };
  Array array{.type = onnx::TensorProto::INT64};
  switch (value.type()) {
    case onnx::AttributeProto::FLOAT:
      return reals({}, {value.f()});
    case onnx::AttributeProto::FLOATS:
      return reals({value.floats_size()}, {value.floats().begin(), value.floats().end()});
    case onnx::AttributeProto::INT:
      array.integers = {Extent::number(value.i())};
      return array;
    case onnx::AttributeProto::INTS:
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
    if (node.attribute_size() == 1 && node.attribute(0).type() == onnx::AttributeProto::TENSOR) {
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

void Writer::write_other(const NodeProto& node) {
  // Operators that keep the extents of what they read.
  constexpr std::string_view kKeepExtents[] = {"GroupNormalization", "InstanceNormalization",
                                               "LayerNormalization", "LRN",
                                               "LpNormalization",    "MeanVarianceNormalization"};
  NodeProto copy = node;
  for (std::string& input : *copy.mutable_input()) input = plain(input);
  for (const std::string& output : node.output()) {
    if (!output.empty()) seen_.insert_or_assign(output, Seen{.name = output, .type = 0});
  }
  const Seen* from = seen(node, 0);
  if (from != nullptr && from->extents && node.output_size() > 0 &&
      std::ranges::count(kKeepExtents, node.op_type()) > 0) {
    Seen& made = seen_.at(node.output(0));
    made.type = from->type;
    made.extents = from->extents;
    graph_.extents.insert_or_assign(made.name, *made.extents);
  }
  written_.push_back(std::move(copy));
}

const Seen* Writer::seen(const NodeProto& node, int index) const {
  if (!has_input(node, index)) return nullptr;
  const auto found = seen_.find(node.input(index));
  return found == seen_.end() ? nullptr : &found->second;
}

bool Writer::has_input(const NodeProto& node, int index) const {
  return index < node.input_size() && !node.input(index).empty();
}

const std::string& Writer::resolved(const std::string& name) const {
  const auto alias = aliases_.find(name);
  return alias == aliases_.end() ? name : alias->second;
}

bool Writer::is_constant(const NodeProto& node, int index) const {
  return has_input(node, index) && graph_.constants.contains(resolved(node.input(index)));
}

std::optional<Array> Writer::array(const NodeProto& node, int index) {
  if (!has_input(node, index)) return std::nullopt;
  const auto computed = computed_.find(node.input(index));
  if (computed != computed_.end()) return computed->second;
  return graph_.array(resolved(node.input(index)));
}

std::optional<Extents> Writer::numbers(const NodeProto& node, int index) {
  std::optional<Array> found = array(node, index);
  if (!found || found->is_real()) return std::nullopt;
  return std::move(found->integers);
}

std::string Writer::plain(const std::string& name) {
  const auto found = seen_.find(name);
  if (found == seen_.end()) return resolved(name);
  Seen& value = found->second;
  if (!value.row_order.empty()) {
    refuse_node(*value.turned, graph_.where,
                "no linear layer reads the values in the order that it makes");
  }
  if (value.order.empty()) return value.name;
  NodeProto node = *value.turned;
  *node.mutable_input(0) = value.name;
  node.clear_output();
  node.add_output(graph_.new_name(name));
  set_integers(node, "perm", {value.order.begin(), value.order.end()});
  value.name = node.output(0);
  value.order.clear();
  if (value.extents) graph_.extents.insert_or_assign(value.name, *value.extents);
  written_.push_back(std::move(node));
  return value.name;
}

void Writer::settle_input(const NodeProto& node) {
  static const std::vector<int> kChannelsToFront = {0, 3, 1, 2};
  for (const std::string& name : node.input()) {
    const auto found = seen_.find(name);
    if (found == seen_.end() || !found->second.is_input) continue;
    if (found->second.order == kChannelsToFront) plain(name);
  }
}

void Writer::emit(NodeProto node, Seen made) {
  const std::string name = node.output(0);
  made.name = made.is_plain() ? name : graph_.new_name(name);
  made.reshaped_from.clear();  // a Reshape says it behind this
  node.clear_output();         // those of training, which nothing reads
  node.add_output(made.name);
  keep_bounds(node);
  if (made.extents) graph_.extents.insert_or_assign(made.name, extents_as_written(made));
  written_.push_back(std::move(node));
  seen_.insert_or_assign(name, std::move(made));
}

}  // namespace weft::models::simplify

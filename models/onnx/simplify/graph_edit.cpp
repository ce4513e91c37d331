// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/graph_edit.h"

#include <algorithm>
#include <queue>

#include "engine/error.h"
#include "engine/text.h"
#include "models/networks/network_text.h"
#include "models/onnx/operators.h"

namespace weft::models::simplify {

namespace {

using onnx::AttributeProto;

// Constants and nodes that do nothing come on top of the layers.
constexpr int kMostNodes = 8 * static_cast<int>(kMostNetworkLayers);
// What the simplification of a small graph may take, and how many times the bytes of a large one.
constexpr std::uint64_t kFreeBytes = std::uint64_t{32} << 20, kTimes = 8;

[[noreturn]] void refuse_file(const std::string& where, const std::string& problem) {
  throw Error(ErrorKind::data, str(where, ": ", problem));
}

using Makers = std::map<std::string_view, int>;  // the node that makes each value

// Checks what is wrong with a graph whether it leads to the output or not.
Makers makers_of(const onnx::GraphProto& graph, const std::string& where) {
  if (graph.node_size() > kMostNodes) {
    refuse_file(where, str("expected at most ", kMostNodes, " nodes, found ", graph.node_size()));
  }
  if (graph.sparse_initializer_size() > 0) {
    refuse_file(where, "has sparse tensors, which Weft does not read");
  }
  std::set<std::string_view> given;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (!given.insert(tensor.name()).second) {
      refuse_file(where, str("two initializers are named ", in_quotes(tensor.name())));
    }
  }
  for (const onnx::ValueInfoProto& input : graph.input()) given.insert(input.name());
  Makers makers;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.output_size() == 0 || node.output(0).empty()) {
      refuse_node(node, where, "has no output");
    }
    for (const std::string& output : node.output()) {
      if (output.empty()) continue;
      if (given.contains(output) || !makers.emplace(output, i).second) {
        refuse_node(node, where, str("its output ", in_quotes(output), " is there already"));
      }
    }
  }
  return makers;
}

// The nodes that an output needs, each behind those that it reads. Of several orders it is the one
// nearest to the file's.
std::vector<int> needed_nodes(const onnx::GraphProto& graph, const Makers& makers,
                              const std::string& output, const std::string& where) {
  std::vector<bool> is_needed(static_cast<std::size_t>(graph.node_size()), false);
  std::vector<std::string_view> open = {output};
  std::vector<int> waits(is_needed.size(), 0);
  std::vector<std::vector<int>> readers(is_needed.size());
  while (!open.empty()) {
    const auto maker = makers.find(open.back());
    open.pop_back();
    if (maker == makers.end() || is_needed[static_cast<std::size_t>(maker->second)]) continue;
    is_needed[static_cast<std::size_t>(maker->second)] = true;
    for (const std::string& input : graph.node(maker->second).input()) {
      open.push_back(input);
      const auto from = makers.find(input);
      if (from == makers.end()) continue;
      ++waits[static_cast<std::size_t>(maker->second)];
      readers[static_cast<std::size_t>(from->second)].push_back(maker->second);
    }
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  std::size_t count = 0;
  for (std::size_t i = 0; i < is_needed.size(); ++i) {
    count += is_needed[i];
    if (is_needed[i] && waits[i] == 0) ready.push(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const int reader : readers[static_cast<std::size_t>(order.back())]) {
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() == count) return order;
  const auto waiting = std::ranges::find_if(waits, [](int number) { return number > 0; });
  refuse_node(graph.node(static_cast<int>(waiting - waits.begin())), where,
              "is part of a circle of nodes, or reads one: expected a graph without circles");
}

}  // namespace

const AttributeProto* Attributes::find(const char* name, AttributeProto::AttributeType type) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.type() == type) return &attribute;
    refuse_node(node_, where_,
                str("expected its attribute ", name, " to be of ",
                    AttributeProto::AttributeType_Name(type)));
  }
  return nullptr;
}

std::int64_t Attributes::integer(const char* name, std::int64_t otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::INT);
  return found == nullptr ? otherwise : found->i();
}

float Attributes::real(const char* name, float otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::FLOAT);
  return found == nullptr ? otherwise : found->f();
}

std::string Attributes::text(const char* name, const std::string& otherwise) const {
  const AttributeProto* found = find(name, AttributeProto::STRING);
  return found == nullptr ? otherwise : found->s();
}

std::optional<std::vector<std::int64_t>> Attributes::integers(const char* name) const {
  const AttributeProto* found = find(name, AttributeProto::INTS);
  if (found == nullptr) return std::nullopt;
  return std::vector<std::int64_t>{found->ints().begin(), found->ints().end()};
}

void Attributes::require_only(std::initializer_list<std::string_view> names) const {
  for (const AttributeProto& attribute : node_.attribute()) {
    if (std::ranges::count(names, attribute.name()) > 0) continue;
    refuse_node(node_, where_,
                str("Weft does not know its attribute ", in_quotes(attribute.name())));
  }
}

void remove_attribute(onnx::NodeProto& node, const std::string& name) {
  auto& all = *node.mutable_attribute();
  for (int i = all.size(); i-- > 0;) {
    if (all[i].name() == name) all.DeleteSubrange(i, 1);
  }
}

void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  remove_attribute(node, name);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INT);
  attribute.set_i(value);
}

void set_real(onnx::NodeProto& node, const char* name, float value) {
  remove_attribute(node, name);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::FLOAT);
  attribute.set_f(value);
}

void set_text(onnx::NodeProto& node, const char* name, const char* value) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
}

void set_integers(onnx::NodeProto& node, const char* name,
                  const std::vector<std::int64_t>& values) {
  remove_attribute(node, name);
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

std::optional<Array> Graph::array(const std::string& name) {
  const auto found = constants.find(name);
  if (found == constants.end()) return std::nullopt;
  spend(found->second.ByteSizeLong());
  return array_of(found->second);
}

std::string Graph::new_name(const std::string& stem) {
  std::string name = stem;
  for (std::size_t i = names.size(); !names.insert(name).second; ++i) name = str(stem, "/", i);
  return name;
}

std::string Graph::add(const Array& array, const std::string& stem) {
  const std::string name = new_name(stem);
  spend(static_cast<std::uint64_t>(array.count()) * (array.is_real() ? 4 : 16));
  constants.emplace(name, tensor_of(array, name));
  return name;
}

void Graph::spend(std::uint64_t bytes) {
  spent += bytes;
  if (spent <= most) return;
  refuse_file(where, str("to compute its constants would take more than ", most, " bytes"));
}

Graph part_of(const onnx::ModelProto& file, int output, const std::string& where) {
  const onnx::GraphProto& from = file.graph();
  Graph graph{.where = where};
  const Makers makers = makers_of(from, where);
  if (output >= from.output_size()) {
    refuse_file(where, "expected a graph with an output, found none");
  }
  for (const onnx::OperatorSetIdProto& opset : file.opset_import()) {
    if (is_onnx_domain(opset.domain())) graph.opset = opset.version();
  }
  graph.output = from.output(output).name();
  std::set<std::string_view> read = {graph.output};
  for (const int index : needed_nodes(from, makers, graph.output, where)) {
    const onnx::NodeProto& node = from.node(index);
    if (node.input_size() == 0 && node.op_type() != "Constant") {
      refuse_node(node, where, "has no input");
    }
    graph.nodes.push_back(node);
    read.insert(node.input().begin(), node.input().end());
    graph.most += node.ByteSizeLong();
  }
  for (const auto& maker : makers) graph.names.emplace(maker.first);
  for (const onnx::TensorProto& tensor : from.initializer()) {
    graph.names.insert(tensor.name());
    if (!read.contains(tensor.name())) continue;
    graph.most += tensor.ByteSizeLong();
    graph.constants.emplace(tensor.name(), tensor);
  }
  graph.most = kTimes * graph.most + kFreeBytes;
  for (const onnx::ValueInfoProto& input : from.input()) {
    graph.names.insert(input.name());
    const bool is_read = read.contains(input.name()) && !graph.constants.contains(input.name());
    if (is_read && graph.input.empty()) graph.input = input.name();
  }
  return graph;
}

void drop_unused(Graph& graph) {
  std::set<std::string, std::less<>> needed = {graph.output};
  std::vector<onnx::NodeProto> kept;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    onnx::NodeProto& node = graph.nodes[i];
    const auto& outputs = node.output();
    if (!std::ranges::any_of(outputs, [&](const auto& name) { return needed.contains(name); })) {
      continue;
    }
    needed.insert(node.input().begin(), node.input().end());
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  graph.nodes = std::move(kept);
  std::erase_if(graph.constants, [&](const auto& entry) { return !needed.contains(entry.first); });
}

onnx::ModelProto model_of(Graph graph, const onnx::ModelProto& file, int output) {
  onnx::ModelProto model;
  model.set_ir_version(file.ir_version());
  *model.mutable_opset_import() = file.opset_import();
  for (onnx::OperatorSetIdProto& opset : *model.mutable_opset_import()) {
    if (is_onnx_domain(opset.domain())) opset.set_version(graph.opset);
  }
  onnx::GraphProto& made = *model.mutable_graph();
  made.set_name(file.graph().name());
  std::set<std::string_view> read = {graph.output};
  for (const onnx::NodeProto& node : graph.nodes) {
    read.insert(node.input().begin(), node.input().end());
  }
  std::set<std::string_view> initializers;
  for (const onnx::TensorProto& tensor : file.graph().initializer()) {
    initializers.insert(tensor.name());
  }
  for (const onnx::ValueInfoProto& input : file.graph().input()) {
    if (read.contains(input.name()) && !initializers.contains(input.name())) {
      *made.add_input() = input;
    }
  }
  if (made.input_size() == 0 && file.graph().input_size() > 0) {
    // The reader of the graph says what is wrong with it.
    for (const onnx::ValueInfoProto& input : file.graph().input()) {
      if (!initializers.contains(input.name())) *made.add_input() = input;
    }
  }
  for (onnx::ValueInfoProto& input : *made.mutable_input()) {
    if (!input.type().has_tensor_type()) continue;
    auto& type = *input.mutable_type()->mutable_tensor_type();
    const int element = type.elem_type();
    if (element == onnx::TensorProto::DOUBLE || is_half(element)) {
      type.set_elem_type(onnx::TensorProto::FLOAT);
    }
  }
  *made.add_output() = file.graph().output(output);
  for (onnx::NodeProto& node : graph.nodes) made.add_node()->Swap(&node);
  for (auto& [name, tensor] : graph.constants) made.add_initializer()->Swap(&tensor);
  return model;
}

}  // namespace weft::models::simplify

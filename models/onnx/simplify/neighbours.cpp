// SPDX-License-Identifier: MIT
#include "models/onnx/simplify/neighbours.h"

#include <algorithm>

namespace weft::models::simplify {

using onnx::NodeProto;

Neighbours::Neighbours(Graph& graph) : graph_(graph) {
  for (NodeProto& node : graph.nodes) {
    makers_.emplace(node.output(0), &node);  // graph_edit.cpp has refused a node without one
    for (const std::string& input : node.input()) {
      if (!input.empty()) readers_[input].push_back(&node);
    }
  }
  find_inputs();
}

void Neighbours::find_inputs() {
  constexpr std::string_view kScales[] = {"Add",     "BatchNormalization", "Cast", "Div", "Mul",
                                          "Reshape", "Transpose",          "Sub"};
  if (graph_.input.empty()) return;
  inputs_.insert(graph_.input);
  for (const NodeProto& node : graph_.nodes) {
    if (std::ranges::count(kScales, node.op_type()) == 0 || node.input_size() == 0) continue;
    const bool is_scaled = std::ranges::all_of(node.input(), [&](const std::string& name) {
      return inputs_.contains(name) || graph_.constants.contains(name);
    });
    if (is_scaled) inputs_.insert(node.output(0));
  }
}

NodeProto* Neighbours::maker(const std::string& value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : found->second;
}

const NodeProto* Neighbours::made_by(const std::string& value, std::string_view type,
                                     int inputs) const {
  const NodeProto* node = maker(value);
  const bool is_it = node != nullptr && node->op_type() == type && node->input_size() == inputs;
  return is_it ? node : nullptr;
}

const NodeProto* Neighbours::reduced_by(const std::string& value, std::string_view type) const {
  const NodeProto* node = made_by(value, type, 1);
  return node != nullptr ? node : made_by(value, type, 2);
}

NodeProto* Neighbours::only_reader(const std::string& value) const {
  const auto found = readers_.find(value);
  if (value == graph_.output || found == readers_.end() || found->second.size() != 1) {
    return nullptr;
  }
  return found->second.front();
}

void Neighbours::drop_behind_maker(NodeProto& node, const std::string& value) {
  NodeProto* made_by = maker(value);
  const std::string output = node.output(0);
  made_by->set_output(0, output);
  makers_.erase(value);
  makers_[output] = made_by;
  node.Clear();
}

void Neighbours::drop_before_reader(NodeProto& node, const std::string& value) {
  const std::string output = node.output(0);
  for (NodeProto* reader : readers_[output]) {
    for (std::string& input : *reader->mutable_input()) {
      if (input == output) input = value;
    }
  }
  auto& others = readers_[value];
  std::erase(others, &node);
  others.insert(others.end(), readers_[output].begin(), readers_[output].end());
  readers_.erase(output);
  makers_.erase(output);
  node.Clear();
}

void Neighbours::swap_with_maker(NodeProto& node, NodeProto& maker) {
  const std::string from = maker.input(0), between = maker.output(0), to = node.output(0);
  node.Swap(&maker);
  for (std::string& input : *maker.mutable_input()) {
    if (input == between) input = from;
  }
  maker.set_output(0, between);
  node.set_input(0, between);
  node.set_output(0, to);
  const auto extents = graph_.extents.find(from);
  if (extents != graph_.extents.end()) graph_.extents.insert_or_assign(between, extents->second);
  inputs_.insert(between);
}

void Neighbours::forget_dropped() {
  std::erase_if(graph_.nodes, [&](const NodeProto& node) { return is_dropped(node); });
}

}  // namespace weft::models::simplify

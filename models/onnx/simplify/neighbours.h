// SPDX-License-Identifier: MIT
// Who makes and who reads the values of a graph, while nodes become a part of their neighbours.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/onnx/simplify/graph_edit.h"

namespace weft::models::simplify {

class Neighbours {
 public:
  explicit Neighbours(Graph& graph);

  // The node whose first output a value is; null for the input of the graph, for a constant, and
  // for a further output, which no pattern has.
  onnx::NodeProto* maker(const std::string& value) const;
  // The maker of a value if it is of this type and has so many inputs; else null.
  const onnx::NodeProto* made_by(const std::string& value, std::string_view type, int inputs) const;
  // The same of a reduction, whose axes are an attribute or its second input.
  const onnx::NodeProto* reduced_by(const std::string& value, std::string_view type) const;
  // The only node that reads a value, which is not the graph's output; else null.
  onnx::NodeProto* only_reader(const std::string& value) const;
  // Is a value the graph's input, but for its scale and the order of its axes?
  bool is_input(const std::string& value) const { return inputs_.contains(value); }
  // Takes away a node of one input, whose output is from now on made by the maker of that input.
  void drop_behind_maker(onnx::NodeProto& node, const std::string& value);
  // Takes away a node: its reader reads `value` instead.
  void drop_before_reader(onnx::NodeProto& node, const std::string& value);
  // Lets a node of one input, the only reader of what `maker` makes, do its work before the maker.
  void swap_with_maker(onnx::NodeProto& node, onnx::NodeProto& maker);
  bool is_dropped(const onnx::NodeProto& node) const { return node.op_type().empty(); }
  void forget_dropped();

 private:
  void find_inputs();

  Graph& graph_;
  std::map<std::string, onnx::NodeProto*, std::less<>> makers_;
  std::map<std::string, std::vector<onnx::NodeProto*>, std::less<>> readers_;
  std::set<std::string, std::less<>> inputs_;
};

}  // namespace weft::models::simplify

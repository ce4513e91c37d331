// SPDX-License-Identifier: MIT
// The graph of an ONNX file, simplified, as steps from its one input to its output: each makes a
// value of one other value, or joins two.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/onnx/file.h"

namespace weft::models {

// The node in a message: "FILE: node \"conv1\" (\"Conv\")", or (\"FusedConv\" of
// \"com.microsoft\").
std::string place_of(const onnx::NodeProto& node, const std::string& where);
[[noreturn]] void refuse_node(const onnx::NodeProto& node, const std::string& where,
                              const std::string& problem);

struct OnnxStep {
  const onnx::NodeProto* node = nullptr;  // null for the input of the graph
  int input = -1;                         // the step whose value it reads
  int other = -1;                         // of an Add or a Concat of values: the second step
  // The last step that every way from the graph's input to this one leads through, and the number
  // of such steps.
  int dominator = -1, depth = 0;

  bool joins() const { return other >= 0; }
};

class OnnxGraph {
 public:
  // Reads what simplified() made, which must outlive this. Throws Error{data}, prefixed by `where`,
  // for a graph of another kind.
  OnnxGraph(const onnx::ModelProto& model, std::string where);

  const std::string& where() const { return where_; }
  const onnx::ValueInfoProto& input() const { return *input_; }
  // The number of images that the file is for, where it says one; else 0.
  std::int64_t batch() const;
  std::int64_t opset() const { return opset_; }
  const std::string& output_name() const { return output_info_->name(); }
  const onnx::TensorShapeProto& output_shape() const;  // of no extents where the file has none
  // Step 0 is the input. A step comes behind those that it reads.
  std::span<const OnnxStep> steps() const { return steps_; }
  int output() const { return output_; }
  // The tensor that an input of a node names, an initializer or a Constant; null for any other.
  const onnx::TensorProto* constant(const std::string& name) const;

 private:
  [[noreturn]] void fail(const std::string& problem) const;
  void find_opset(const onnx::ModelProto& model);
  void add_initializers(const onnx::GraphProto& graph);
  void find_input(const onnx::GraphProto& graph);
  void add_node(const onnx::NodeProto& node);
  void add_steps(const onnx::NodeProto& node);
  int add_step(const onnx::NodeProto& node, int input, int other);
  int common_dominator(int a, int b) const;

  std::string where_;
  std::int64_t opset_ = 0;
  const onnx::ValueInfoProto *input_ = nullptr, *output_info_ = nullptr;
  std::map<std::string, const onnx::TensorProto*, std::less<>> constants_;
  std::map<std::string, int, std::less<>> values_;  // the step that makes each
  std::vector<OnnxStep> steps_;
  int output_ = 0;
};

}  // namespace weft::models

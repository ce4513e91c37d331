// SPDX-License-Identifier: MIT
// A graph that is being simplified: its nodes in an order in which each reads what is there
// already, and its constants by name.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/onnx/simplify/array.h"

namespace weft::models::simplify {

// Attributes of a node. Each throws Error{data} naming the node where the attribute is of another
// type.
class Attributes {
 public:
  Attributes(const onnx::NodeProto& node, const std::string& where) : node_(node), where_(where) {}

  const onnx::AttributeProto* find(const char* name,
                                   onnx::AttributeProto::AttributeType type) const;
  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  float real(const char* name, float otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(const char* name) const;
  // Throws for an attribute of another name: the node goes away, and it may mean anything.
  void require_only(std::initializer_list<std::string_view> names) const;

 private:
  const onnx::NodeProto& node_;
  const std::string& where_;
};

void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value);
void set_real(onnx::NodeProto& node, const char* name, float value);
void set_text(onnx::NodeProto& node, const char* name, const char* value);
void set_integers(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values);
void remove_attribute(onnx::NodeProto& node, const std::string& name);

struct Graph {
  std::string where;
  std::int64_t opset = 0;
  std::string input = {}, output = {};
  std::vector<onnx::NodeProto> nodes = {};
  std::map<std::string, onnx::TensorProto, std::less<>> constants = {};
  // These are known of the values that nodes make, where at least the rank is.
  std::map<std::string, Extents, std::less<>> extents = {};

  // The values of a constant; nothing for another name, or a tensor that is none.
  std::optional<Array> array(const std::string& name);
  // Adds a constant, and gives its name, which begins with `stem` and is new.
  std::string add(const Array& array, const std::string& stem);
  std::string new_name(const std::string& stem);
  // Counts bytes that are made of constants. Throws Error{data} where they are more than the file
  // accounts for: a few nodes could ask for any number of copies.
  void spend(std::uint64_t bytes);

  bool has_halves = false;                        // its constants had 16 bits
  std::set<std::string, std::less<>> names = {};  // of all values
  std::uint64_t spent = 0, most = 0;
};

// The part of a file that leads to one of its outputs, its nodes in an order in which each reads
// what nodes before it make. Throws Error{data} for a graph without that order.
Graph part_of(const onnx::ModelProto& file, int output, const std::string& where);

// Is it one of the two types of 16-bit floats?
bool is_half(int type);

// Tensors of 16-bit floats become 32-bit floats, and so does what a Cast makes of that kind.
void widen_halves(Graph& graph);

// Drops what does not lead to the output.
void drop_unused(Graph& graph);

// The file with this graph instead of its own.
onnx::ModelProto model_of(Graph graph, const onnx::ModelProto& file, int output);

}  // namespace weft::models::simplify

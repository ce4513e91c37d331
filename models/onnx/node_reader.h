// SPDX-License-Identifier: MIT
#pragma once

#include <set>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/text.h"
#include "layers/registry/onnx_operator.h"
#include "models/onnx/graph.h"

namespace weft::models {

// One node: its attributes, each of which has to be asked for, and its tensors.
class NodeReader final : public layers::OnnxReader {
 public:
  NodeReader(const onnx::NodeProto& node, const OnnxGraph& graph) : node_(node), graph_(graph) {}

  [[noreturn]] void fail(const std::string& problem) const override {
    refuse_node(node_, graph_.where(), problem);
  }
  std::int64_t batch() const override { return graph_.batch(); }

  std::int64_t number(const char* name, std::int64_t otherwise) override {
    const onnx::AttributeProto* attribute = find(name, onnx::AttributeProto::INT);
    return attribute == nullptr ? otherwise : attribute->i();
  }
  float real(const char* name, float otherwise) override {
    const onnx::AttributeProto* attribute = find(name, onnx::AttributeProto::FLOAT);
    return attribute == nullptr ? otherwise : attribute->f();
  }
  std::vector<std::int64_t> numbers(const char* name,
                                    std::vector<std::int64_t> otherwise) override {
    const onnx::AttributeProto* attribute = find(name, onnx::AttributeProto::INTS);
    if (attribute == nullptr) return otherwise;
    if (attribute->ints_size() != static_cast<int>(otherwise.size())) {
      fail(str("expected ", otherwise.size(), " numbers as ", name, ", found ",
               attribute->ints_size()));
    }
    return {attribute->ints().begin(), attribute->ints().end()};
  }
  std::string text(const char* name, const std::string& otherwise) override {
    const onnx::AttributeProto* attribute = find(name, onnx::AttributeProto::STRING);
    return attribute == nullptr ? otherwise : attribute->s();
  }
  void ignore(const char* name) override { known_.insert(name); }

  // Throws for an attribute that nobody asked for: it may mean anything.
  void finish() const {
    for (const onnx::AttributeProto& attribute : node_.attribute()) {
      if (!known_.contains(attribute.name())) {
        fail(str("Weft does not know its attribute ", in_quotes(attribute.name())));
      }
    }
  }

  bool has_input(int index) const override {
    return index < node_.input_size() && !node_.input(index).empty();
  }
  bool is_tensor(int index) const {
    return has_input(index) && graph_.constant(node_.input(index)) != nullptr;
  }
  const onnx::TensorProto& tensor(int index, onnx::TensorProto::DataType type) const {
    if (!is_tensor(index)) fail(str("expected a tensor of the file as its input ", index));
    const onnx::TensorProto& found = *graph_.constant(node_.input(index));
    checked_extents(found, type, place_of(node_, graph_.where()));
    return found;
  }
  std::vector<std::int64_t> few_numbers(int index) const override {
    return integers_of(few(index, onnx::TensorProto::INT64));
  }
  std::vector<float> few_reals(int index) const override {
    return floats_of(few(index, onnx::TensorProto::FLOAT));
  }
  int rank(int index) const override { return tensor(index, onnx::TensorProto::FLOAT).dims_size(); }
  std::vector<std::int64_t> extents(int index, int rank) const override {
    const auto& dims = parameter(index, rank).dims();
    return {dims.begin(), dims.end()};
  }
  // One of float numbers and this rank.
  const onnx::TensorProto& parameter(int index, int rank) const {
    const onnx::TensorProto& found = tensor(index, onnx::TensorProto::FLOAT);
    if (found.dims_size() != rank) {
      fail(str("expected the tensor ", in_quotes(found.name()), " to have ", rank,
               " dimensions, found ", found.dims_size()));
    }
    return found;
  }

 private:
  const onnx::TensorProto& few(int index, onnx::TensorProto::DataType type) const {
    const onnx::TensorProto& found = tensor(index, type);
    std::int64_t count = 1;
    for (const std::int64_t extent : found.dims()) count *= extent;  // checked above
    if (count > 8) fail(str("expected at most 8 numbers as its input ", index, ", found ", count));
    return found;
  }
  const onnx::AttributeProto* find(const char* name, onnx::AttributeProto::AttributeType type) {
    known_.insert(name);
    for (const onnx::AttributeProto& attribute : node_.attribute()) {
      if (attribute.name() != name) continue;
      if (attribute.type() != type) {
        fail(str("expected its attribute ", name, " to be of ",
                 onnx::AttributeProto::AttributeType_Name(type)));
      }
      return &attribute;
    }
    return nullptr;
  }

  const onnx::NodeProto& node_;
  const OnnxGraph& graph_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace weft::models

// SPDX-License-Identifier: MIT
// ONNX operators as layers see them. models/onnx makes nodes of a file of what a layer says, and
// lets it read those of another's file; no layer knows how a file holds them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/error.h"

namespace weft::layers {

// What a node reads.
struct OnnxInput {
  enum class Kind { data, tensor, node, number, numbers };
  Kind kind = Kind::data;                   // what the layers before have made
  std::string name = {};                    // tensor: a parameter or a buffer of the layer
  int index = 0;                            // node: one of OnnxNode::before
  float value = 0;                          // number: a constant without extents
  std::vector<std::int64_t> integers = {};  // numbers: a constant of this many

  static OnnxInput data() { return {}; }
  static OnnxInput tensor(std::string name) { return {Kind::tensor, std::move(name)}; }
  static OnnxInput of_node(int index) { return {Kind::node, {}, index}; }
  static OnnxInput of_number(float value) { return {Kind::number, {}, 0, value}; }
  static OnnxInput of_numbers(std::vector<std::int64_t> integers) {
    return {Kind::numbers, {}, 0, 0, std::move(integers)};
  }
};

// What a layer is in a file.
struct OnnxNode {
  using Value = std::variant<std::int64_t, float, std::vector<std::int64_t>, std::string>;
  std::string type;  // "Conv"; empty: in inference the layer does nothing
  std::vector<std::pair<std::string, Value>> attributes = {};
  // Empty: what the layers before have made and, of the layer's own node, its parameters and then
  // its buffers.
  std::vector<OnnxInput> inputs = {};
  // The operators in front of this one, where a layer is several. They have none themselves.
  std::vector<OnnxNode> before = {};
  std::int64_t opset = 0;  // the least set of operators that has it; 0: that of all files
};

// One node of a file. An attribute that the file does not have is `otherwise`; one that nobody asks
// for is refused. Everything throws Error{data} that names the node.
class OnnxReader {
 public:
  virtual ~OnnxReader() = default;
  [[noreturn]] virtual void fail(const std::string& problem) const = 0;
  virtual std::int64_t batch() const = 0;  // that the file is for; 0: any

  virtual std::int64_t number(const char* name, std::int64_t otherwise) = 0;
  virtual float real(const char* name, float otherwise) = 0;
  virtual std::vector<std::int64_t> numbers(const char* name,
                                            std::vector<std::int64_t> otherwise) = 0;
  virtual std::string text(const char* name, const std::string& otherwise) = 0;
  virtual void ignore(const char* name) = 0;
  void require(const char* name, std::int64_t value) {
    if (const std::int64_t found = number(name, value); found != value) {
      fail(str("expected ", name, " ", value, ", found ", found));
    }
  }
  void require_ones(const char* name) {
    for (const std::int64_t value : numbers(name, {1, 1})) {
      if (value != 1) fail(str("expected ", name, " of 1, found ", value));
    }
  }

  virtual bool has_input(int index) const = 0;
  virtual int rank(int index) const = 0;  // of an input that is a float tensor of the file
  // The extents of an input that is a float tensor of the file and has so many.
  virtual std::vector<std::int64_t> extents(int index, int rank) const = 0;
  // The at most 8 numbers of such an input, which say something of the node itself.
  virtual std::vector<std::int64_t> few_numbers(int index) const = 0;
  virtual std::vector<float> few_reals(int index) const = 0;
};

// A tensor of a layer, where the node has it.
struct OnnxSource {
  int index = 0;
  bool transposed = false;  // the file has (in, out) for Weft's (out, in)
  // The input with the variance of a batch normalisation, and the epsilon of the file. The weight
  // takes the factor between the roots of variance + epsilon here and there.
  int variance = 0;
  double epsilon = 0;
};

// What a node says in the words of a network.
struct OnnxWords {
  std::string words;                     // "conv 6 5x5 pad 2"
  std::vector<OnnxSource> tensors = {};  // the layer's parameters, then its buffers
  std::int64_t features = 0;             // that come out, where the node says it
  std::int64_t row = 0;                  // values of each image that it asks for; 0: it does not
  // The words where it is the last layer, and has as many features as the data has classes.
  std::string as_last = {};
  // What follows the words where no Add of a tensor, a bias, follows the node; empty: none may.
  std::string_view without_bias = {};
};

// An operator that is read as a layer.
struct OnnxOperator {
  std::string_view type;
  OnnxWords (*read)(OnnxReader& node);
};

// One without attributes or tensors.
template <const char* words>
OnnxWords plain_words(OnnxReader&) {
  return {.words = words};
}

}  // namespace weft::layers

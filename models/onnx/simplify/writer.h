// SPDX-License-Identifier: MIT
// Writes the nodes of a graph anew. What depends on constants alone is computed, what does nothing
// is left out, and a Transpose only changes how a value is seen until a node needs its order.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/onnx/simplify/graph_edit.h"
#include "models/onnx/simplify/windows.h"

namespace weft::models::simplify {

// What a name of the file stands for.
struct Seen {
  std::string name = {};                          // of what is written
  int type = onnx::TensorProto::FLOAT;            // 0: not known
  std::optional<Extents> extents = std::nullopt;  // as the file has them; none: not even how many
  // Axis i of the file's value is axis order[i] of what is written; empty: the same axes.
  std::vector<int> order = {};
  // A row (batch, values) may be written in another order. These are the extents that it was made
  // of in the file, and for each its place among those that it is written with.
  std::vector<std::int64_t> row = {};
  std::vector<int> row_order = {};
  // The value that a Reshape made this one of, all numbers of it, where it made no row.
  std::string reshaped_from = {};
  const onnx::NodeProto* turned = nullptr;  // the Transpose that is not written
  bool is_input = false;  // of the graph, but for its scale and the order of its axes

  bool is_plain() const { return order.empty() && row_order.empty(); }
  std::size_t rank() const { return extents ? extents->size() : 0; }
};

// The numbers that a value is known to lie between.
struct Bounds {
  double low = 0, high = 0;
};

// A QuantizeLinear or a DequantizeLinear says this: a level q stands for (q - zero) scale.
struct Quantizer {
  std::vector<float> scale = {}, zero = {};  // one, or one for each place along `axis`
  std::int64_t axis = 1;
  double least = 0, most = 255;  // levels

  // The least and the largest number that has a level, where there is one scale.
  Bounds bounds() const;
};

class Writer {
 public:
  // `input` is the graph's, and `bounds` those of its numbers, where they are known.
  Writer(Graph& graph, Seen input, const std::optional<Bounds>& bounds);

  void write();

 private:
  void write_node(const onnx::NodeProto& node);
  void write_other(const onnx::NodeProto& node);
  std::optional<onnx::NodeProto> as_cast(const onnx::NodeProto& node) const;  // of a CastLike

  // True where the node needs no picture.
  bool fold(const onnx::NodeProto& node);
  std::optional<Array> constant_of(const onnx::NodeProto& node);
  bool fold_shape(const onnx::NodeProto& node);
  void keep(const std::string& name, const Array& array);

  // layout.cpp: those that do nothing, or only change how a value is seen. Each function of a kind
  // of node is false for a node that it leaves to write_other().
  using Write = bool (Writer::*)(const onnx::NodeProto&);
  static Write writer_of(const onnx::NodeProto& node);  // by its operator; null where none is named
  bool write_identity(const onnx::NodeProto& node);
  bool write_cast(const onnx::NodeProto& node);
  bool write_transpose(const onnx::NodeProto& node);
  bool write_reshape(const onnx::NodeProto& node);
  std::optional<Extents> reshaped_to(const onnx::NodeProto& node, const Seen& from);
  std::optional<Extents> squeezed(const onnx::NodeProto& node, const Seen& from);
  void write_row(const onnx::NodeProto& node, const std::string& value, const Extents& to);
  bool write_shape(const onnx::NodeProto& node, const std::string& value, const Extents& to);
  // elementwise.cpp
  bool write_unary(const onnx::NodeProto& node);
  bool write_dropout(const onnx::NodeProto& node);
  bool write_clip(const onnx::NodeProto& node);
  bool write_power(const onnx::NodeProto& node);
  bool write_prelu(const onnx::NodeProto& node);
  bool write_binary(const onnx::NodeProto& node);
  bool write_scale(const onnx::NodeProto& node, int constant);
  bool write_softmax(const onnx::NodeProto& node);
  bool write_pad(const onnx::NodeProto& node);
  std::optional<std::vector<std::int64_t>> pads_of_all_axes(const onnx::NodeProto& node,
                                                            const std::vector<std::int64_t>& said,
                                                            std::size_t rank);
  bool write_concat(const onnx::NodeProto& node);
  void share_concat(onnx::NodeProto& node, int axis);
  // layers.cpp
  bool write_product(const onnx::NodeProto& node);
  bool write_gemm(const onnx::NodeProto& node);
  bool write_conv(const onnx::NodeProto& node);
  bool write_pool(const onnx::NodeProto& node);
  void pad_apart(onnx::NodeProto& pool, Windows& windows);
  bool write_global_pool(const onnx::NodeProto& node);
  bool write_reduce(const onnx::NodeProto& node);
  bool write_pool_of_planes(const onnx::NodeProto& node, const std::vector<std::int64_t>& axes,
                            bool keeps);
  bool write_mean(const onnx::NodeProto& node, const std::vector<std::int64_t>& axes);
  bool write_norm(const onnx::NodeProto& node);
  bool write_norm_of_row(const onnx::NodeProto& node, const Seen& from);

  // dialects.cpp
  bool write_axis_of_set_6(const onnx::NodeProto& node);
  bool write_classifier(const onnx::NodeProto& node);
  bool write_by_others(const onnx::NodeProto& node);
  bool write_names(const onnx::NodeProto& node);

  // quantized.cpp: bytes that stand for real numbers.
  bool write_quantizer(const onnx::NodeProto& node);
  void write_quantize(const onnx::NodeProto& node);
  void write_dequantize(const onnx::NodeProto& node);
  Quantizer quantizer_of(const onnx::NodeProto& node);
  void refuse_levels(const onnx::NodeProto& node) const;
  void write_clipped(const onnx::NodeProto& node, const std::string& value, const Quantizer& by);
  void keep_bounds(const onnx::NodeProto& node);

  // What an input of a node is; null for a constant and for none.
  const Seen* seen(const onnx::NodeProto& node, int index) const;
  bool has_input(const onnx::NodeProto& node, int index) const;
  bool is_constant(const onnx::NodeProto& node, int index) const;
  std::optional<Array> array(const onnx::NodeProto& node, int index);
  std::optional<Extents> numbers(const onnx::NodeProto& node, int index);
  // Writes the Transpose that gives an input of the graph its channels first. What is behind it
  // tells the reader of the input nothing of its order.
  void settle_input(const onnx::NodeProto& node);
  // The name of an input as it is written, in the file's order, which may take a Transpose.
  std::string plain(const std::string& name);
  const std::string& resolved(const std::string& name) const;
  // Writes a node that makes `made`, under a new name where that is in another order.
  void emit(onnx::NodeProto node, Seen made);
  // A value like another, of the same axes.
  static Seen like(const Seen& from) {
    Seen made = from;
    made.is_input = false;
    return made;
  }

  Graph& graph_;
  std::vector<onnx::NodeProto> file_, written_;
  std::map<std::string, Seen, std::less<>> seen_;
  std::map<std::string, Array, std::less<>> computed_;       // whole numbers that need the batch
  std::map<std::string, std::string, std::less<>> aliases_;  // of constants
  // What a QuantizeLinear reads, by the name of the levels that it makes: a value, or levels of a
  // constant.
  struct Quantized {
    Quantizer by = {};
    std::string value = {};
    std::optional<Array> levels = {};
  };
  std::map<std::string, Quantized, std::less<>> quantized_;
  std::map<std::string, Bounds, std::less<>> bounds_;  // by the names that are written
  // The values that a Concat along an axis is made of, and its own.
  std::map<std::pair<int, std::vector<std::string>>, std::string> concats_;
};

// Writes the nodes of set 6 as those of set 7, but for the axis of a constant.
void renew_from_set_6(Graph& graph);

// The extents of a value that has some, in the order in which it is written.
Extents extents_as_written(const Seen& value);

// Do the axes that are longer than 1 come in the order in which they are written?
bool keeps_values(const Seen& value);

// For each place of a row as it is written, its place in the file's row.
std::vector<std::int64_t> row_places(const Seen& row);

}  // namespace weft::models::simplify

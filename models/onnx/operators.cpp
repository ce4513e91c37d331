// SPDX-License-Identifier: MIT
#include "models/onnx/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/error.h"
#include "engine/text.h"
#include "models/onnx/node_reader.h"

namespace weft::models {

namespace {

using Reader = NodeReader;

std::string extents_text(std::int64_t rows, std::int64_t columns) {
  return rows == columns ? str(rows) : str(rows, "x", columns);
}

// " stride 2 pad 1"
std::string strides_and_pads(Reader& reader, bool says_stride) {
  const auto strides = reader.numbers("strides", {1, 1});
  const std::string auto_pad = reader.text("auto_pad", "NOTSET");
  auto pads = reader.numbers("pads", {0, 0, 0, 0});
  if (auto_pad == "VALID") pads = {0, 0, 0, 0};
  if (auto_pad != "NOTSET" && auto_pad != "VALID") {
    reader.fail(str("expected its padding in numbers, found auto_pad ", in_quotes(auto_pad)));
  }
  if (pads[0] != pads[2] || pads[1] != pads[3]) {
    reader.fail(str("expected the same padding on both sides, found ", pads[0], ", ", pads[1],
                    " before and ", pads[2], ", ", pads[3], " after"));
  }
  std::string words;
  if (says_stride || strides[0] != 1 || strides[1] != 1) {
    words += str(" stride ", extents_text(strides[0], strides[1]));
  }
  if (pads[0] != 0 || pads[1] != 0) words += str(" pad ", extents_text(pads[0], pads[1]));
  return words;
}

OnnxLayer conv(Reader& reader) {
  OnnxLayer layer;
  const onnx::TensorProto& weight = reader.parameter(1, 4);
  layer.features = weight.dims(0);
  const auto kernel = reader.numbers("kernel_shape", {weight.dims(2), weight.dims(3)});
  if (kernel[0] != weight.dims(2) || kernel[1] != weight.dims(3)) {
    reader.fail(str("its kernel_shape is ", kernel[0], "x", kernel[1], ", that of its weight ",
                    weight.dims(2), "x", weight.dims(3)));
  }
  reader.require("group", 1);
  reader.require_ones("dilations");
  layer.words =
      str("conv ", layer.features, " ", kernel[0], "x", kernel[1], strides_and_pads(reader, false));
  layer.tensors = {{&weight}};
  if (reader.has_input(2)) {
    layer.tensors.push_back({&reader.parameter(2, 1)});
  } else {
    layer.words += " no_bias";
  }
  return layer;
}

// `transposed`: the file has (in, out).
OnnxLayer linear(Reader& reader, bool transposed) {
  OnnxLayer layer;
  const onnx::TensorProto& weight = reader.parameter(1, 2);
  layer.features = weight.dims(transposed ? 1 : 0);
  layer.words = str("linear ", layer.features);
  layer.tensors = {{&weight, transposed}};
  return layer;
}

OnnxLayer gemm(Reader& reader) {
  reader.require("transA", 0);
  const std::int64_t transposed = reader.number("transB", 0);
  if (reader.real("alpha", 1) != 1) reader.fail("expected alpha 1");
  OnnxLayer layer = linear(reader, transposed == 0);
  const float beta = reader.real("beta", 1);
  if (reader.has_input(2)) {
    if (beta != 1) reader.fail("expected beta 1");
    layer.tensors.push_back({&reader.parameter(2, 1)});
  } else {
    layer.words += " no_bias";
  }
  return layer;
}

OnnxLayer product(Reader& reader) {
  OnnxLayer layer = linear(reader, true);
  layer.words += " no_bias";
  layer.takes_bias = true;
  return layer;
}

// A sum of a value and a tensor.
OnnxLayer bias(Reader& reader) {
  const int index = reader.is_tensor(0) ? 0 : 1;
  return {.tensors = {{&reader.parameter(index, 1)}}, .is_bias = true};
}

OnnxLayer batch_norm(Reader& reader) {
  OnnxLayer layer;
  layer.words = "batch_norm";
  for (int i = 1; i <= 4; ++i) layer.tensors.push_back({&reader.parameter(i, 1)});
  const float epsilon = reader.real("epsilon", kBatchNormEpsilon);
  if (!(epsilon >= 0 && epsilon <= 1)) reader.fail("expected an epsilon from 0 to 1");
  layer.epsilon = epsilon;
  if (epsilon != kBatchNormEpsilon) layer.tensors[0].variance = layer.tensors[3].tensor;
  reader.require("training_mode", 0);
  reader.require("spatial", 1);
  reader.ignore("momentum");
  return layer;
}

OnnxLayer pool(Reader& reader, const char* word) {
  OnnxLayer layer;
  const auto kernel = reader.numbers("kernel_shape", {0, 0});
  layer.words = str(word, " ", extents_text(kernel[0], kernel[1]), strides_and_pads(reader, true));
  reader.require("ceil_mode", 0);
  reader.require_ones("dilations");
  reader.require("storage_order", 0);
  const std::int64_t counts_padding = reader.number("count_include_pad", 0);
  const bool pads = layer.words.find(" pad ") != std::string::npos;
  if (reader.node().op_type() == "AveragePool" && pads && counts_padding != 1) {
    reader.fail("expected count_include_pad 1 where there is padding");
  }
  return layer;
}

// PyTorch's way to write a mean of each channel. Behind it, Weft's `linear` takes the values as a
// row, with keepdims or without.
OnnxLayer mean(Reader& reader) {
  auto axes = reader.numbers("axes", {0, 0});
  if (reader.has_input(1)) axes = reader.few_numbers<std::int64_t>(1);
  reader.require("noop_with_empty_axes", 0);
  const std::int64_t keeps = reader.number("keepdims", 1);
  for (std::int64_t& axis : axes) axis += axis < 0 ? 4 : 0;  // of (batch, channels, rows, columns)
  std::ranges::sort(axes);
  if (axes != std::vector<std::int64_t>{2, 3} || (keeps != 0 && keeps != 1)) {
    reader.fail("expected a mean over the rows and columns, axes 2 and 3");
  }
  return {.words = "global_avg_pool"};
}

OnnxLayer flatten(Reader& reader) {
  reader.require("axis", 1);
  return {.words = "flatten"};
}

// To a row for each image: (0, -1), or (-1, features).
OnnxLayer reshape(Reader& reader) {
  OnnxLayer layer{.words = "flatten"};
  const std::vector<std::int64_t> shape = reader.few_numbers<std::int64_t>(1);
  const bool zero_copies = reader.number("allowzero", 0) == 0;  // the input's extent
  const bool rows = shape.size() == 2 && shape[1] != 0 && shape[1] >= -1 &&
                    (shape[0] == 0    ? zero_copies
                     : shape[0] == -1 ? shape[1] > 0
                                      : shape[0] == reader.graph().batch());
  if (!rows) reader.fail("expected one row for each image: a shape of (0, -1) or (-1, features)");
  if (shape[1] > 0) layer.features = shape[1];
  return layer;
}

OnnxLayer dropout(Reader& reader) {
  float rate = reader.real("ratio", 0.5f);
  reader.ignore("seed");
  if (reader.has_input(1)) {
    const std::vector<float> values = reader.few_numbers<float>(1);
    if (values.size() != 1) reader.fail(str("expected one ratio, found ", values.size()));
    rate = values[0];
  }
  return {.words = fmt::format("dropout {}", rate)};
}

OnnxLayer only_at_the_end(Reader& reader) {
  reader.fail("expected this operator to be the last");
}

OnnxLayer only_at_the_input(Reader& reader) {
  reader.fail("Weft has this operator only in front of the first layer, where it scales the image");
}

template <const auto& words>
OnnxLayer plain(Reader&) {
  return {.words = words};
}
constexpr char kRelu[] = "relu", kSigmoid[] = "sigmoid", kTanh[] = "tanh";
constexpr char kGlobalMax[] = "global_max_pool", kGlobalAverage[] = "global_avg_pool";

struct Operator {
  std::string_view name;
  OnnxLayer (*read)(Reader& reader);
};

constexpr std::array kOperators = {
    Operator{"Add", bias},  // of two values it is a residual block
    Operator{"AveragePool", [](Reader& reader) { return pool(reader, "avg_pool"); }},
    Operator{"BatchNormalization", batch_norm},
    Operator{"Cast", only_at_the_input},
    Operator{"Constant", nullptr},
    Operator{"Conv", conv},
    Operator{"Div", only_at_the_input},
    Operator{"Dropout", dropout},
    Operator{"Flatten", flatten},
    Operator{"Gemm", gemm},
    Operator{"GlobalAveragePool", plain<kGlobalAverage>},
    Operator{"GlobalMaxPool", plain<kGlobalMax>},
    Operator{"Identity", nullptr},
    Operator{"Log", only_at_the_end},
    Operator{"LogSoftmax", only_at_the_end},
    Operator{"MatMul", product},
    Operator{"MaxPool", [](Reader& reader) { return pool(reader, "max_pool"); }},
    Operator{"Mul", only_at_the_input},
    Operator{"ReduceMean", mean},
    Operator{"Relu", plain<kRelu>},
    Operator{"Reshape", reshape},
    Operator{"Sigmoid", plain<kSigmoid>},
    Operator{"Softmax", only_at_the_end},
    Operator{"Sub", only_at_the_input},
    Operator{"Tanh", plain<kTanh>},
    Operator{"Transpose", only_at_the_input},
};

const Operator* find_operator(const onnx::NodeProto& node) {
  if (!is_onnx_domain(node.domain())) return nullptr;
  const auto found =
      std::ranges::find(kOperators, std::string_view(node.op_type()), &Operator::name);
  return found == kOperators.end() ? nullptr : &*found;
}

}  // namespace

bool is_onnx_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx";
}

bool is_operator_known(const onnx::NodeProto& node) {
  return find_operator(node) != nullptr;
}

OnnxLayer onnx_layer(const onnx::NodeProto& node, const OnnxGraph& graph) {
  Reader reader(node, graph);
  const Operator* found = find_operator(node);
  if (found == nullptr || found->read == nullptr) {
    reader.fail("Weft has no layer for this operator");
  }
  // But for a sum, the first input is what the layers before made, and the rest are tensors.
  if (node.op_type() != "Add" && (!reader.has_input(0) || reader.is_tensor(0))) {
    reader.fail("expected its first input to depend on the input of the graph");
  }
  OnnxLayer layer = found->read(reader);
  reader.finish();
  layer.node = &node;
  return layer;
}

}  // namespace weft::models

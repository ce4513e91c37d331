// SPDX-License-Identifier: MIT
// Graphs that say the same in other words: what other exporters write is read as the plain graph
// is. tests/interop/onnx_interop.py holds such files against onnxruntime.
#ifdef WEFT_WITH_ONNX

#include <algorithm>

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;

constexpr const char* kConvolution = "conv 4 3x3 pad 1\nrelu\nflatten\nlinear classes\n";

TEST(OnnxSimplify, NodesInAnyOrderAndDeadOnes) {
  onnx::ModelProto file = small_file();
  auto& nodes = *file.mutable_graph()->mutable_node();
  std::reverse(nodes.begin(), nodes.end());
  add_node_at_end(file, "NoSuchOperator", {"relu1"}, "dead");
  add_node_at_end(file, "Shape", {"nowhere"}, "dead too");
  onnx::ValueInfoProto input = file.graph().input(0);
  input.set_name("labels");
  *file.mutable_graph()->add_input() = input;
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(small_file()).model.parameters));
}

// x.view(x.size(0), -1), as two exporters of PyTorch write it.
TEST(OnnxSimplify, ARowWhoseShapeIsComputedFromTheBatch) {
  for (const bool is_flat : {false, true}) {
    onnx::ModelProto file = plain_file(kConvolution);
    const onnx::ModelProto before = file;
    onnx::NodeProto& flatten = node_named(file, "flatten");
    flatten.set_op_type("Reshape");
    flatten.clear_attribute();
    flatten.add_input("shape");
    add_integers(file, "zero", {0}, !is_flat);
    add_integers(file, "axes", {0});
    add_integers(file, "rest", {-1});
    add_node_at_end(file, "Shape", {"relu1"}, "all");
    add_node_at_end(file, "Gather", {"all", "zero"}, "batch");
    if (!is_flat) add_node_at_end(file, "Unsqueeze", {"batch", "axes"}, "first");
    set_number(add_node_at_end(file, "Concat", {is_flat ? "batch" : "first", "rest"}, "shape"),
               "axis", 0);
    EXPECT_EQ(definition_in(file), definition_in(before));
    expect_same(file, before);
  }
}

// An operator that Weft has no layer for is named, and not a shape behind it.
TEST(OnnxSimplify, AnUnknownOperatorIsNamedBeforeShapesBehindIt) {
  for (const char* type : {"LRN", "NoSuchOperator"}) {
    onnx::ModelProto file = plain_file(kConvolution);
    add_node_at_end(file, type, {"relu1"}, "unknown");
    onnx::NodeProto& flatten = node_named(file, "flatten");
    flatten.set_op_type("Reshape");
    flatten.clear_attribute();
    flatten.set_input(0, "unknown");
    flatten.add_input("shape");
    add_integers(file, "rest", {-1});
    add_integers(file, "zero", {0});
    add_node_at_end(file, "Shape", {"unknown"}, "all");
    add_node_at_end(file, "Gather", {"all", "zero"}, "batch");
    set_number(add_node_at_end(file, "Concat", {"batch", "rest"}, "shape"), "axis", 0);
    EXPECT_TRUE(throws(ErrorKind::data,
                       "node \"unknown\" (\"" + std::string(type) + "\"): Weft has no",
                       [&] { read(file); }));
  }
}

TEST(OnnxSimplify, ShapesThatDependOnMoreThanTheBatchAreRefused) {
  onnx::ModelProto file = plain_file(kConvolution);
  onnx::NodeProto& flatten = node_named(file, "flatten");
  flatten.set_op_type("Reshape");
  flatten.clear_attribute();
  flatten.add_input("shape");
  add_integers(file, "rest", {-1});
  add_integers(file, "two", {2});
  add_node_at_end(file, "Shape", {"relu1"}, "all");
  add_integers(file, "zero", {0});
  add_node_at_end(file, "Gather", {"all", "zero"}, "batch");
  add_node_at_end(file, "Mul", {"batch", "two"}, "twice");
  set_number(add_node_at_end(file, "Concat", {"twice", "rest"}, "shape"), "axis", 0);
  EXPECT_TRUE(throws(ErrorKind::data, "node \"flatten\" (\"Reshape\"): ", [&] { read(file); }));
  // Nor does a batch become a part of the values.
  node_named(file, "shape").mutable_input()->SwapElements(0, 1);
  EXPECT_TRUE(throws(ErrorKind::data, "node \"flatten\" (\"Reshape\"): ", [&] { read(file); }));
}

TEST(OnnxSimplify, ConstantsAreComputed) {
  const onnx::ModelProto before = small_file();
  onnx::ModelProto file = before;
  // A weight (in, out), transposed in the graph, cut out of a larger one, and put together.
  onnx::TensorProto& weight = tensor_named(file, "fc2.weight");  // (3, 5)
  const std::vector<float> values = floats_in(weight);
  std::vector<float> wide;
  for (int i = 0; i < 5; ++i) {
    for (int o = 2; o >= -1; --o) {  // the outputs from the last to the first, and one too many
      wide.push_back(o < 0 ? 99 : values[static_cast<std::size_t>(o * 5 + i)] / 4 + 1);
    }
  }
  weight.set_name("gone");
  add_tensor(file, "wide", {20}, wide);
  add_integers(file, "matrix", {5, -1});
  add_node_at_end(file, "Reshape", {"wide", "matrix"}, "m");
  add_integers(file, "starts", {2});
  add_integers(file, "ends", {INT64_MIN});
  add_integers(file, "axes", {-1});
  add_integers(file, "steps", {-1});
  add_node_at_end(file, "Slice", {"m", "starts", "ends", "axes", "steps"}, "cut");
  add_node_at_end(file, "Transpose", {"cut"}, "turned");
  set_real(add_node_at_end(file, "Constant", {}, "one"), "value_float", 1);
  set_numbers(add_node_at_end(file, "Constant", {}, "list"), "value_ints", {4});
  set_number(add_node_at_end(file, "Cast", {"list"}, "four"), "to", onnx::TensorProto::FLOAT);
  add_node_at_end(file, "Sub", {"turned", "one"}, "less");
  add_node_at_end(file, "Mul", {"four", "less"}, "fc2.weight");
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  expect_same(file, before);
}

TEST(OnnxSimplify, WhatDoesNothingIsGone) {
  const onnx::ModelProto before = small_file();
  onnx::ModelProto file = before;
  add_tensor(file, "one", {1, 1, 1, 1}, {1});
  insert_behind(file, "conv1", "Mul").add_input("one");
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  file = before;
  set_number(insert_behind(file, "relu1", "Cast"), "to", onnx::TensorProto::FLOAT);
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  file = before;
  add_integers(file, "pads", {0, 0, 0, 0, 0, 0, 0, 0});
  insert_behind(file, "relu1", "Pad").add_input("pads");
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  file = before;
  add_integers(file, "shape", {-1, 2, 8, 8});
  onnx::NodeProto& shaped = *file.mutable_graph()->add_node();
  shaped.set_op_type("Reshape");
  shaped.add_input("input");
  shaped.add_input("shape");
  shaped.add_output("shaped");
  node_named(file, "conv1").set_input(0, "shaped");
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  file = before;
  insert_behind(file, "relu1", "Clip");  // without bounds
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  file = before;
  node_named(file, "relu1").set_op_type("Clip");
  node_named(file, "relu1").add_input("low");
  add_tensor(file, "low", {}, {0});
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  file = before;
  set_number(node_named(file, "pool1"), "ceil_mode", 1);  // windows of 2 fit into 8
  EXPECT_EQ(definition_in(file), kSmallNetwork);
}

TEST(OnnxSimplify, AColumnOfPlanesIsARow) {
  const std::string definition = "conv 4 3x3\nglobal_avg_pool\nflatten\nlinear classes\n";
  const onnx::ModelProto before = plain_file(definition);
  for (const char* way : {"Squeeze", "two", "Flatten", "Reshape"}) {
    SCOPED_TRACE(way);
    onnx::ModelProto file = before;
    onnx::NodeProto& flatten = node_named(file, "flatten");
    flatten.clear_attribute();
    const bool is_two = std::string(way) == "two";
    flatten.set_op_type(is_two ? "Squeeze" : way);
    if (is_two) {
      flatten.add_input("one axis");
      add_integers(file, "one axis", {-1});
      insert_behind(file, flatten.output(0), "Squeeze").add_input("one axis");
    } else if (flatten.op_type() == "Squeeze") {
      flatten.add_input("axes");
      add_integers(file, "axes", {2, -1});
    } else if (flatten.op_type() == "Flatten") {
      set_number(flatten, "axis", -3);
    } else {
      flatten.add_input("shape");
      add_integers(file, "shape", {1, 4});  // as a file of one image says it
    }
    EXPECT_EQ(definition_in(file), definition);
    expect_same(file, before);
  }
}

// The axes of an image in the order of TensorFlow, in front of a row and in the middle.
TEST(OnnxSimplify, ATransposeMovesIntoTheWeights) {
  const onnx::ModelProto before = plain_file(kConvolution);
  onnx::ModelProto file = before;
  set_numbers(insert_behind(file, "relu1", "Transpose"), "perm", {0, 2, 3, 1});
  onnx::TensorProto& weight = tensor_named(file, "fc1.weight");  // (3, 4 * 8 * 8)
  const std::vector<float> values = floats_in(weight);
  std::vector<float> turned(values.size());
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t c = 0; c < 4; ++c) {
      for (std::size_t p = 0; p < 64; ++p) {
        turned[o * 256 + p * 4 + c] = values[o * 256 + c * 64 + p];
      }
    }
  }
  set_floats(weight, turned);
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, before);
  // An activation and a factor of each channel behind the Transpose.
  add_tensor(file, "factor", {4}, {1, 2, 1, 0.5f});
  onnx::ModelProto scaled = file;
  add_node_at_end(scaled, "Mul", {"conv1", "factors"}, "scaled");
  node_named(scaled, "relu1").set_input(0, "scaled");
  add_tensor(scaled, "factors", {4, 1, 1}, {1, 2, 1, 0.5f});
  const std::vector<double> expected = logits_of(read(scaled).model);
  for (onnx::NodeProto& node : *file.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Relu") node.set_op_type("Identity");
    if (node.op_type() == "Flatten") node.set_input(0, "active");
  }
  add_node_at_end(file, "Mul", {"factor", "new"}, "scaled");
  add_node_at_end(file, "Relu", {"scaled"}, "active");
  const std::vector<double> found = logits_of(read(file).model);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5);
}

TEST(OnnxSimplify, OperatorsOfSetSix) {
  const onnx::ModelProto before = small_file();
  onnx::ModelProto file = before;
  file.mutable_opset_import(0)->set_version(6);
  set_number(node_named(file, "bn1"), "is_test", 1);
  set_number(node_named(file, "fc1"), "broadcast", 1);
  onnx::NodeProto& conv = node_named(file, "conv1");
  conv.mutable_input()->RemoveLast();
  onnx::NodeProto& sum = insert_behind(file, "conv1", "Add");
  sum.add_input("conv1.bias");  // at the axis of the channels
  set_number(sum, "broadcast", 1);
  set_number(sum, "axis", 1);
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(before).model.parameters));
  set_number(node_named(file, "new"), "axis", 4);
  EXPECT_TRUE(throws(ErrorKind::data, "node \"new\" (\"Add\")", [&] { read(file); }));
}

TEST(OnnxSimplify, AClassifierOfScikitLearnIsALinearLayer) {
  const onnx::ModelProto before = plain_file("flatten\nlinear classes\n");
  onnx::ModelProto file = before;
  onnx::NodeProto& node = node_named(file, "fc1");
  node.set_op_type("LinearClassifier");
  node.set_domain("ai.onnx.ml");
  node.clear_attribute();
  for (const auto& [name, tensor] :
       {std::pair{"coefficients", "fc1.weight"}, std::pair{"intercepts", "fc1.bias"}}) {
    onnx::AttributeProto& attribute = attribute_named(node, name);
    attribute.set_type(onnx::AttributeProto::FLOATS);
    for (const float value : floats_in(tensor_named(file, tensor))) attribute.add_floats(value);
  }
  node.mutable_input()->DeleteSubrange(1, 2);
  node.set_output(0, "label");
  node.add_output("scores");
  onnx::NodeProto& names = add_node_at_end(file, "ZipMap", {"scores"}, "logits");
  names.set_domain("ai.onnx.ml");
  set_numbers(names, "classlabels_int64s", {0, 1, 2});
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, before);
  set_numbers(node_named(file, "logits"), "classlabels_int64s", {0, 2, 1});
  EXPECT_TRUE(throws(ErrorKind::data, "expected the labels 0, 1, 2", [&] { read(file); }));
}

TEST(OnnxSimplify, ATransposeThatNoLayerTakesIsRefused) {
  onnx::ModelProto file = plain_file(kConvolution);
  set_numbers(insert_behind(file, "conv1", "Transpose"), "perm", {0, 2, 3, 1});
  node_named(file, "relu1").set_op_type("MaxPool");
  set_numbers(node_named(file, "relu1"), "kernel_shape", {1, 1});
  EXPECT_TRUE(throws(ErrorKind::data, "node \"new\" (\"Transpose\"): ", [&] { read(file); }));
  set_numbers(node_named(file, "new"), "perm", {1, 0, 2, 3});  // across images
  EXPECT_TRUE(throws(ErrorKind::data, "node \"new\" (\"Transpose\"): ", [&] { read(file); }));
}

// The type of a tensor, and of a value that a layer makes.
TEST(OnnxSimplify, ACastLikeIsACast) {
  const onnx::ModelProto before = small_file();
  for (const char* like : {"fc1.weight", "conv1"}) {
    onnx::ModelProto file = before;
    insert_behind(file, "relu1", "CastLike").add_input(like);
    EXPECT_EQ(definition_in(file), definition_in(before)) << like;
    expect_same(file, before);
  }
  onnx::ModelProto file = before;
  add_integers(file, "whole", {1});
  insert_behind(file, "relu1", "CastLike").add_input("whole");
  EXPECT_TRUE(throws(ErrorKind::data, "(\"Cast\")", [&] { read(file); }));
}

}  // namespace
}  // namespace weft::models

#endif

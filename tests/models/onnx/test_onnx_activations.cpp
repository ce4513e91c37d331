// SPDX-License-Identifier: MIT
// Activations in ONNX files: as one operator, and as the several nodes that exporters write.
#ifdef WEFT_WITH_ONNX

#include <algorithm>

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;

constexpr const char* kTail = "conv 4 3x3 pad 1\n";

std::string with_line(const std::string& line) {
  return kTail + line + "\nflatten\nlinear classes\n";
}

// A file whose convolution is followed by `type`, with attributes that the caller adds.
onnx::ModelProto file_with(const std::string& type) {
  onnx::ModelProto file = plain_file(with_line("relu"));
  node_named(file, "relu1").set_op_type(type);
  return file;
}

// The activation of conv1 is made by nodes that the caller has added; `last` is the last of them.
onnx::ModelProto file_ending_in(onnx::ModelProto file, const std::string& last) {
  node_named(file, "flatten").set_input(0, last);
  return file;
}

TEST(OnnxActivations, AreWrittenAndReadBack) {
  for (const char* line :
       {"leaky_relu 0.01", "leaky_relu 0.3", "elu 1", "elu 0.25", "silu", "gelu", "gelu tanh",
        "hard_swish", "hard_sigmoid 0.16666667 0.5", "hard_sigmoid 0.2 0.5", "relu6", "clip -1 2.5",
        "prelu", "prelu shared", "prelu each_value"}) {
    SCOPED_TRACE(line);
    const Model model = random_model(network_file(with_line(line)));
    onnx::ModelProto file = file_of(model);
    file.clear_metadata_props();
    EXPECT_EQ(definition_in(file), with_line(line));
    EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(model.parameters));
  }
}

TEST(OnnxActivations, DefaultsAreThoseOfOnnx) {
  const std::pair<const char*, const char*> kOperators[] = {
      {"LeakyRelu", "leaky_relu 0.01"}, {"Elu", "elu 1"}, {"HardSigmoid", "hard_sigmoid 0.2 0.5"},
      {"HardSwish", "hard_swish"},      {"Gelu", "gelu"}, {"Swish", "silu"},
  };
  for (const auto& [type, line] : kOperators) {
    EXPECT_EQ(definition_in(file_with(type)), with_line(line)) << type;
  }
}

TEST(OnnxActivations, NumbersThatNoLayerHasAreRefused) {
  const auto refuses = [](const char* type, const char* name, float value, const char* message) {
    onnx::ModelProto file = file_with(type);
    set_real(node_named(file, "relu1"), name, value);
    return throws(ErrorKind::data, message, [&] { read(file); });
  };
  EXPECT_TRUE(
      refuses("LeakyRelu", "alpha", -0.5f, "node \"relu1\" (\"LeakyRelu\"): expected alpha"));
  EXPECT_TRUE(refuses("Elu", "alpha", NAN, "expected alpha from 0 to below"));
  EXPECT_TRUE(refuses("HardSigmoid", "alpha", -1, "expected alpha"));
  EXPECT_TRUE(refuses("Swish", "alpha", 1.5f, "expected alpha 1"));
  EXPECT_TRUE(refuses("Clip", "min", 1, "expected two bounds"));
  EXPECT_TRUE(refuses("Elu", "gamma", 1, "Weft does not know its attribute \"gamma\""));
}

// As the ONNX project's functions write them: a branch that Where chooses, and a Sum of two values.
TEST(OnnxActivations, AChoiceByWhereIsRecognised) {
  for (const char* comparison : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    onnx::ModelProto file = plain_file(with_line("relu"));
    file.mutable_graph()->mutable_node()->DeleteSubrange(1, 1);  // the ReLU
    add_tensor(file, "zero", {}, {0});
    add_tensor(file, "slope", {}, {0.125f});
    const bool is_less = comparison[0] == 'L';
    add_node_at_end(file, comparison, {"conv1", "zero"}, "chosen");
    add_node_at_end(file, "Mul", {"slope", "conv1"}, "small");
    add_node_at_end(file, "Where",
                    {"chosen", is_less ? "small" : "conv1", is_less ? "conv1" : "small"}, "made");
    EXPECT_EQ(definition_in(file_ending_in(file, "made")), with_line("leaky_relu 0.125"));
  }
  onnx::ModelProto file = plain_file(with_line("residual {\n  tanh\n}"));
  EXPECT_TRUE(definition_in(file).find("residual") != std::string::npos);
  node_named(file, "add1").set_op_type("Sum");
  EXPECT_EQ(definition_in(file), with_line("residual {\n  tanh\n}"));
}

void scale(onnx::ModelProto& file, const std::string& tensor, float factor) {
  std::vector<float> values = floats_in(tensor_named(file, tensor));
  for (float& value : values) value *= factor;
  set_floats(tensor_named(file, tensor), values);
}

// Neg, Selu and Celu are products around an Elu, which go into the layers beside it.
TEST(OnnxActivations, OperatorsThatOthersCompute) {
  for (const bool is_expanded : {false, true}) {
    onnx::ModelProto expected = plain_file(with_line("elu 1.5")), file = file_with("Selu");
    scale(expected, "fc1.weight", 2);
    set_real(node_named(file, "relu1"), "alpha", 1.5f);
    set_real(node_named(file, "relu1"), "gamma", 2);
    if (is_expanded) {  // as the ONNX project's function has it
      file = plain_file(with_line("relu"));
      file.mutable_graph()->mutable_node()->DeleteSubrange(1, 1);  // the ReLU
      add_tensor(file, "alpha", {}, {1.5f});
      add_tensor(file, "gamma", {}, {2});
      add_tensor(file, "zero", {}, {0});
      add_node_at_end(file, "Exp", {"conv1"}, "exp");
      add_node_at_end(file, "Mul", {"alpha", "exp"}, "part");
      add_node_at_end(file, "Sub", {"part", "alpha"}, "less");
      add_node_at_end(file, "Mul", {"gamma", "less"}, "small");
      add_node_at_end(file, "Mul", {"gamma", "conv1"}, "large");
      add_node_at_end(file, "Less", {"conv1", "zero"}, "chosen");
      add_node_at_end(file, "Where", {"chosen", "small", "large"}, "made");
      file = file_ending_in(file, "made");
    }
    EXPECT_EQ(definition_in(file), with_line("elu 1.5"));
    expect_same(file, expected);
  }
  EXPECT_EQ(definition_in(file_with("Celu")), with_line("elu 1"));
  onnx::ModelProto celu = file_with("Celu"), expected = plain_file(with_line("elu 1"));
  set_real(node_named(celu, "relu1"), "alpha", 0.5f);
  scale(expected, "conv1.weight", 2);
  scale(expected, "conv1.bias", 2);
  scale(expected, "fc1.weight", 0.5f);
  EXPECT_EQ(definition_in(celu), with_line("elu 1"));
  expect_same(celu, expected);
  set_real(node_named(celu, "relu1"), "alpha", 0);
  EXPECT_TRUE(throws(ErrorKind::data, "(\"Celu\"): expected alpha above 0", [&] { read(celu); }));

  onnx::ModelProto turned = plain_file(with_line("relu")), negative = turned;
  add_node_at_end(turned, "Neg", {"conv1"}, "turned");
  node_named(turned, "relu1").set_input(0, "turned");
  scale(negative, "conv1.weight", -1);
  scale(negative, "conv1.bias", -1);
  EXPECT_EQ(definition_in(turned), with_line("relu"));
  expect_same(turned, negative);
}

// Min and Max with numbers, in both orders.
TEST(OnnxActivations, TwoBoundsAreAClip) {
  onnx::ModelProto file = plain_file(with_line("relu"));
  add_tensor(file, "six", {}, {6});
  add_node_at_end(file, "Min", {"six", "relu1"}, "within");
  EXPECT_EQ(definition_in(file_ending_in(file, "within")), with_line("relu6"));
  onnx::ModelProto clip = file_with("Clip");
  add_tensor(clip, "low", {}, {-1});
  add_tensor(clip, "high", {}, {1});
  node_named(clip, "relu1").add_input("low");
  node_named(clip, "relu1").add_input("high");
  EXPECT_EQ(definition_in(clip), with_line("clip -1 1"));
}

// The slopes of an image stand in front of its rows and columns.
TEST(OnnxActivations, SlopesOfOtherExtents) {
  const onnx::ModelProto before = plain_file(with_line("prelu"));
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{4, 1, 1}, {1, 4, 1, 1}}) {
    onnx::ModelProto file = before;
    std::vector<float> slopes = {0.5f, -0.25f, 0.125f, 2};
    add_tensor(file, "slopes", extents, slopes);
    node_named(file, "prelu1").set_input(1, "slopes");
    EXPECT_EQ(definition_in(file), with_line("prelu"));
    const std::vector<float> found = read(file).model.parameters;
    EXPECT_NE(std::search(found.begin(), found.end(), slopes.begin(), slopes.end()), found.end());
  }
  onnx::ModelProto file = before;  // of a batch of two
  add_tensor(file, "slopes", {2, 4, 8, 8}, std::vector<float>(512, 0.5f));
  node_named(file, "prelu1").set_input(1, "slopes");
  EXPECT_TRUE(throws(ErrorKind::data, "(\"PRelu\")", [&] { read(file); }));
}

// A slope for each column or row, or for each value, in the order in which the value is written.
TEST(OnnxActivations, SlopesOfEachValue) {
  const onnx::ModelProto before = plain_file(with_line("prelu each_value"));
  const auto slope = [](int c, int h, int w) {
    return 0.25f * static_cast<float>(1 + c) + 0.125f * static_cast<float>(h * h - w);
  };
  struct Case {
    std::vector<std::int64_t> extents;
    bool c, h, w;  // the axes along which slopes differ
  };
  for (const Case& is : {Case{{8}, false, false, true},
                         {{8, 1}, false, true, false},
                         {{4, 1, 8}, true, false, true},
                         {{1, 4, 8, 8}, true, true, true}}) {
    SCOPED_TRACE(is.extents.size());
    onnx::ModelProto file = before, expected = before;
    std::vector<float> some, all;
    for (int c = 0; c < 4; ++c) {
      for (int h = 0; h < 8; ++h) {
        for (int w = 0; w < 8; ++w) {
          all.push_back(slope(is.c ? c : 0, is.h ? h : 0, is.w ? w : 0));
          if ((is.c || c == 0) && (is.h || h == 0) && (is.w || w == 0)) some.push_back(all.back());
        }
      }
    }
    add_tensor(file, "slopes", is.extents, some);
    node_named(file, "prelu1").set_input(1, "slopes");
    set_floats(tensor_named(expected, "prelu1.weight"), all);
    EXPECT_EQ(definition_in(file), with_line("prelu each_value"));
    EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(expected).model.parameters));
  }
}

// y = 0.5 x (1 + erf(x / sqrt(2))), with its factors in other orders.
TEST(OnnxActivations, AGeluOfSeveralNodes) {
  for (const int order : {0, 1, 2}) {
    SCOPED_TRACE(order);
    onnx::ModelProto file = plain_file(with_line("relu"));
    add_tensor(file, "root", {}, {order == 1 ? 0.70710678f : 1.41421356f});
    add_tensor(file, "one", {}, {1});
    add_tensor(file, "half", {}, {order == 2 ? 2.0f : 0.5f});
    add_node_at_end(file, order == 1 ? "Mul" : "Div", {"conv1", "root"}, "scaled");
    add_node_at_end(file, "Erf", {"scaled"}, "erf");
    add_node_at_end(file, "Add", {"one", "erf"}, "sum");
    if (order == 1) {
      add_node_at_end(file, "Mul", {"half", "conv1"}, "part");
      add_node_at_end(file, "Mul", {"part", "sum"}, "gelu");
    } else {
      add_node_at_end(file, "Mul", {"conv1", "sum"}, "part");
      add_node_at_end(file, order == 2 ? "Div" : "Mul", {"part", "half"}, "gelu");
    }
    EXPECT_EQ(definition_in(file_ending_in(file, "gelu")), with_line("gelu"));
    // Another number makes another function, which is refused by name.
    set_floats(tensor_named(file, "one"), {1.001f});
    EXPECT_TRUE(throws(ErrorKind::data, "(\"Erf\")", [&] { read(file_ending_in(file, "gelu")); }));
  }
}

TEST(OnnxActivations, SwishesOfSeveralNodes) {
  onnx::ModelProto file = plain_file(with_line("relu"));
  add_node_at_end(file, "Sigmoid", {"conv1"}, "share");
  add_node_at_end(file, "Mul", {"share", "conv1"}, "silu");
  EXPECT_EQ(definition_in(file_ending_in(file, "silu")), with_line("silu"));

  onnx::ModelProto hard = plain_file(with_line("relu"));  // x relu6(x + 3) / 6
  add_tensor(hard, "three", {}, {3});
  add_tensor(hard, "six", {}, {6});
  add_tensor(hard, "zero", {}, {0});
  add_node_at_end(hard, "Add", {"conv1", "three"}, "moved");
  add_node_at_end(hard, "Clip", {"moved", "zero", "six"}, "within");
  onnx::ModelProto gate = hard;
  add_node_at_end(gate, "Div", {"within", "six"}, "gate");
  EXPECT_EQ(definition_in(file_ending_in(gate, "gate")), with_line("hard_sigmoid 0.16666667 0.5"));
  add_node_at_end(hard, "Mul", {"conv1", "within"}, "product");
  add_node_at_end(hard, "Div", {"product", "six"}, "swish");
  EXPECT_EQ(definition_in(file_ending_in(hard, "swish")), with_line("hard_swish"));
}

// Several values, or several numbers, are no function of one.
TEST(OnnxActivations, WhatIsNoFunctionOfOneNumberStays) {
  onnx::ModelProto file = plain_file(kTail + std::string("sigmoid\nflatten\nlinear classes\n"));
  add_tensor(file, "numbers", {4, 1, 1}, {1, 2, 3, 4});
  add_node_at_end(file, "Mul", {"conv1", "numbers"}, "scaled");
  add_node_at_end(file, "Mul", {"scaled", "sigmoid1"}, "product");
  EXPECT_TRUE(throws(ErrorKind::data, "(\"Mul\")", [&] { read(file_ending_in(file, "product")); }));
}

}  // namespace
}  // namespace weft::models

#endif

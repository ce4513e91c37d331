// SPDX-License-Identifier: MIT
// Neighbours in an ONNX graph that are one layer: padding, windows, factors and biases.
#ifdef WEFT_WITH_ONNX

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;

void set_text(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  onnx::AttributeProto& attribute = attribute_named(node, name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

TEST(OnnxFuse, APadByZerosIsPaddingOfItsLayer) {
  const onnx::ModelProto before =
      plain_file("conv 4 3x3 pad 1\nrelu\nmax_pool 3 stride 2 pad 1\nflatten\nlinear classes\n");
  for (const char* layer : {"conv1", "pool1"}) {
    SCOPED_TRACE(layer);
    onnx::ModelProto file = before;
    onnx::NodeProto& node = node_named(file, layer);
    set_numbers(node, "pads", {0, 0, 0, 0});
    add_integers(file, "pads", {0, 0, 1, 1, 0, 0, 1, 1});
    add_node_at_end(file, "Pad", {node.input(0), "pads"}, "padded");
    node_named(file, layer).set_input(0, "padded");
    EXPECT_EQ(definition_in(file), definition_in(before));
    expect_same(file, before);
    // Other values than zeros, and zeros that are larger than what they surround.
    add_tensor(file, "one", {}, {1});
    node_named(file, "padded").add_input("one");
    EXPECT_TRUE(throws(ErrorKind::data, "node \"padded\" (\"Pad\")", [&] { read(file); }));
  }
  onnx::ModelProto file = before;
  add_integers(file, "pads", {0, 0, 1, 1, 0, 0, 1, 1});
  add_node_at_end(file, "Pad", {"relu1", "pads"}, "padded");
  node_named(file, "pool1").set_input(0, "padded");
  set_numbers(node_named(file, "pool1"), "pads", {0, 0, 0, 0});
  expect_same(file, before);
  node_named(file, "relu1").set_op_type("Tanh");  // a zero may be the largest of its values
  EXPECT_EQ(definition_in(file),
            "conv 4 3x3 pad 1\ntanh\npad 1\nmax_pool 3 stride 2\nflatten\nlinear classes\n");
}

// The kernel of an odd padding is one of more zeros, with the same padding on both sides.
TEST(OnnxFuse, PaddingOfOneSideBecomesZerosOfTheKernelAndDilationStays) {
  const onnx::ModelProto before = plain_file("conv 4 3x3 pad 1\nrelu\nflatten\nlinear classes\n");
  const auto weight =
      floats_in(tensor_named(const_cast<onnx::ModelProto&>(before), "conv1.weight"));
  for (const bool at_end : {false, true}) {
    onnx::ModelProto file = before;  // a kernel of 2 x 2 with zeros around it
    std::vector<float> small, wide;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const std::size_t row = i % 9 / 3, column = i % 3;
      const bool is_inside = at_end ? row < 2 && column < 2 : row > 0 && column > 0;
      wide.push_back(is_inside ? weight[i] : 0);
      if (is_inside) small.push_back(weight[i]);
    }
    onnx::ModelProto zeros = before;
    set_floats(tensor_named(zeros, "conv1.weight"), wide);
    set_floats(tensor_named(file, "conv1.weight"), small);
    for (const int axis : {2, 3}) tensor_named(file, "conv1.weight").set_dims(axis, 2);
    set_numbers(node_named(file, "conv1"), "kernel_shape", {2, 2});
    const std::int64_t first = at_end ? 1 : 0;
    set_numbers(node_named(file, "conv1"), "pads", {first, first, 1 - first, 1 - first});
    expect_same(file, zeros);
    set_text(node_named(file, "conv1"), "auto_pad", at_end ? "SAME_LOWER" : "SAME_UPPER");
    for (auto& node : *file.mutable_graph()->mutable_node()) {
      auto& all = *node.mutable_attribute();
      for (int i = all.size(); i-- > 0;) {
        if (all[i].name() == "pads") all.DeleteSubrange(i, 1);
      }
    }
    expect_same(file, zeros);
  }
  onnx::ModelProto file = before,
                   zeros = plain_file("conv 4 5x5 pad 2\nrelu\nflatten\nlinear classes\n");
  for (auto& tensor : *zeros.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != "conv1.weight") tensor = tensor_named(file, tensor.name());
  }
  std::vector<float> wide(weight.size() / 9 * 25);
  for (std::size_t i = 0; i < weight.size(); ++i) {
    wide[i / 9 * 25 + i % 9 / 3 * 10 + i % 3 * 2] = weight[i];
  }
  set_floats(tensor_named(zeros, "conv1.weight"), wide);
  set_numbers(node_named(file, "conv1"), "dilations", {2, 2});
  set_numbers(node_named(file, "conv1"), "pads", {2, 2, 2, 2});
  expect_same(file, zeros);
  EXPECT_TRUE(definition_in(file).starts_with("conv 4 3x3 pad 2 dilation 2\n"));
}

TEST(OnnxFuse, PoolingAndNormalisationOfRowsAreReadAndWritten) {
  for (const char* line :
       {"max_pool 3 stride 2 ceil", "max_pool 3 stride 2 pad 1 ceil", "max_pool 3 stride 2 pad 0 1",
        "avg_pool 3 stride 2 pad 1 ceil", "avg_pool 3 stride 2 pad 1 ceil exclude_pad",
        "avg_pool 3 stride 1 pad 1 exclude_pad", "avg_pool 3 stride 2 pad 0 1x0"}) {
    SCOPED_TRACE(line);
    const std::string text =
        std::string(line) + "\nflatten\nlinear 6\nbatch_norm\ntanh\nlinear classes\n";
    const Model model = random_model(network_file(text));
    onnx::ModelProto file = file_of(model);
    file.clear_metadata_props();
    EXPECT_EQ(definition_in(file), text);
    EXPECT_EQ(logits_of(read(file).model), logits_of(model));
  }
}

TEST(OnnxFuse, NormalisationsOfEachInputAreReadAndWritten) {
  for (const char* line : {"group_norm 2", "group_norm each", "group_norm 4 eps 0.001",
                           "layer_norm", "layer_norm eps 1e-06"}) {
    SCOPED_TRACE(line);
    const std::string text = "conv 8 3x3\n" + std::string(line) +
                             "\nrelu\nflatten\nlinear 6\nlayer_norm\nrelu\nlinear classes\n";
    const Model model = random_model(network_file(text));
    onnx::ModelProto file = file_of(model);
    file.clear_metadata_props();
    EXPECT_EQ(definition_in(file), text);
    EXPECT_EQ(logits_of(read(file).model), logits_of(model));
    set_real(node_named(file, "ln1"), "epsilon", 0);
    EXPECT_TRUE(throws(ErrorKind::data, "expected an epsilon above 0", [&] { read(file); }));
  }
}

TEST(OnnxFuse, GroupsAreReadAndWritten) {
  for (const char* line : {"conv 4 3x3 pad 1 groups 2", "conv 6 3x2 stride 2 dilation 2x3 groups 2",
                           "conv 4 3x3 dilation 2 no_bias"}) {
    SCOPED_TRACE(line);
    const std::string text = std::string(line) + "\nrelu\nflatten\nlinear classes\n";
    const Model model = random_model(network_file(text));
    onnx::ModelProto file = file_of(model);
    file.clear_metadata_props();
    EXPECT_EQ(definition_in(file), text);
    EXPECT_EQ(logits_of(read(file).model), logits_of(model));
  }
}

TEST(OnnxFuse, AutomaticPaddingThatIsTheSameOnBothSides) {
  const onnx::ModelProto before =
      plain_file("conv 4 5x5 pad 2\nrelu\nmax_pool 2 stride 2\nflatten\nlinear classes\n");
  onnx::ModelProto file = before;
  for (const char* layer : {"conv1", "pool1"}) {
    set_text(node_named(file, layer), "auto_pad", "SAME_UPPER");
    auto& all = *node_named(file, layer).mutable_attribute();
    for (int i = all.size(); i-- > 0;) {
      if (all[i].name() == "pads") all.DeleteSubrange(i, 1);
    }
  }
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, before);
  set_numbers(node_named(file, "pool1"), "kernel_shape", {3, 3});  // one more row behind
  EXPECT_TRUE(definition_in(file).find("max_pool 3 stride 2 pad 0 1\n") != std::string::npos);
}

TEST(OnnxFuse, FactorsAndSumsBecomeAPartOfTheirLayer) {
  const onnx::ModelProto before = small_file();
  onnx::ModelProto file = before;  // conv1(x) is (0.5 * conv1(x) - 1 + 1) / 0.5, and fc1(x) so too
  add_tensor(file, "half", {1}, {0.5f});
  add_tensor(file, "ones", {4, 1, 1}, {1, 1, 1, 1});
  add_tensor(file, "halves", {1, 4, 1, 1}, {0.5f, 0.5f, 0.5f, 0.5f});
  add_node_at_end(file, "Mul", {"half", "conv1"}, "c1");
  add_node_at_end(file, "Sub", {"c1", "ones"}, "c2");
  add_node_at_end(file, "Add", {"ones", "c2"}, "c3");
  add_node_at_end(file, "Div", {"c3", "halves"}, "c4");
  node_named(file, "bn1").set_input(0, "c4");
  add_tensor(file, "row", {1, 5}, {1, 2, 3, 4, 5});
  add_node_at_end(file, "Sub", {"row", "fc1"}, "f1");
  add_node_at_end(file, "Sub", {"row", "f1"}, "f2");
  for (auto& node : *file.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Sigmoid") node.set_input(0, "f2");
  }
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  expect_same(file, before);
  EXPECT_TRUE(throws(ErrorKind::data, "only in front of the first layer", [&] {
    file = before;
    add_tensor(file, "plane", {8, 8}, std::vector<float>(64, 0.5f));
    insert_behind(file, "conv1", "Mul").add_input("plane");
    read(file);
  }));
}

// What stands in front of a linear layer goes into it, and a value that others read stays.
TEST(OnnxFuse, AScaleBehindAnActivationGoesIntoTheLayerBehindIt) {
  const onnx::ModelProto before = plain_file("flatten\nlinear 5\ntanh\nlinear classes\n");
  onnx::ModelProto file = before;
  add_tensor(file, "gain", {5}, {1, 2, 4, -1, 0.5f});
  add_tensor(file, "shift", {1}, {3});
  add_node_at_end(file, "Div", {"tanh1", "gain"}, "t1");
  add_node_at_end(file, "Add", {"t1", "shift"}, "t2");
  node_named(file, "fc2").set_input(0, "t2");
  onnx::TensorProto& weight = tensor_named(file, "fc2.weight");
  std::vector<float> values = floats_in(weight), bias = floats_in(tensor_named(file, "fc2.bias"));
  const float gain[] = {1, 2, 4, -1, 0.5f};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= gain[i % 5];
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t i = 0; i < 5; ++i) bias[o] -= 3 * values[o * 5 + i];
  }
  set_floats(weight, values);
  set_floats(tensor_named(file, "fc2.bias"), bias);
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, before);
}

// Numbers for each value of an image go into the linear layer behind its row.
TEST(OnnxFuse, AScaleOfEachValueOfAnImageGoesIntoTheLayerBehindIt) {
  const onnx::ModelProto before = plain_file("tanh\nflatten\nlinear classes\n");
  onnx::ModelProto file = before;
  std::vector<float> gain(64);
  for (std::size_t i = 0; i < gain.size(); ++i) gain[i] = static_cast<float>(i % 7) - 3;
  add_tensor(file, "gain", {1, 8, 8}, gain);
  add_tensor(file, "shift", {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  add_node_at_end(file, "Mul", {"gain", "tanh1"}, "t1");
  add_node_at_end(file, "Sub", {"t1", "shift"}, "t2");
  node_named(file, "flatten").set_input(0, "t2");
  onnx::ModelProto expected = before;
  std::vector<float> weight = floats_in(tensor_named(expected, "fc1.weight")),
                     bias = floats_in(tensor_named(expected, "fc1.bias"));
  for (std::size_t i = 0; i < weight.size(); ++i) {
    bias[i / 128] -= weight[i] * static_cast<float>(i % 8 + 1);
    weight[i] *= gain[i % 64];
  }
  set_floats(tensor_named(expected, "fc1.weight"), weight);
  set_floats(tensor_named(expected, "fc1.bias"), bias);
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, expected);
}

TEST(OnnxFuse, ANormalisationOfRowsIsALayer) {
  const onnx::ModelProto before = plain_file("flatten\nlinear 5\nrelu\nlinear classes\n");
  for (const bool has_axes : {false, true}) {
    onnx::ModelProto file = before, scaled = before;
    add_tensor(file, "scale", {5}, {1, 2, -3, 4, 0});
    add_tensor(file, "bias", {5}, {0, 0.5f, 1, 0.25f, 2});
    add_tensor(file, "mean", {5}, {0.5f, 0, -1, 2, 3});
    add_tensor(file, "variance", {5}, {1, 4, 0.25f, 0.01f, 9});
    std::string value = "fc1";
    if (has_axes) set_numbers(add_node_at_end(file, "Unsqueeze", {value}, "u"), "axes", {2});
    set_real(add_node_at_end(file, "BatchNormalization",
                             {has_axes ? "u" : "fc1", "scale", "bias", "mean", "variance"}, "n"),
             "epsilon", 1e-3f);
    if (has_axes) set_numbers(add_node_at_end(file, "Squeeze", {"n"}, "s"), "axes", {2});
    node_named(file, "relu1").set_input(0, has_axes ? "s" : "n");
    std::vector<float> weight = floats_in(tensor_named(scaled, "fc1.weight"));
    std::vector<float> bias = floats_in(tensor_named(scaled, "fc1.bias"));
    const double scale[] = {1, 2, -3, 4, 0}, mean[] = {0.5, 0, -1, 2, 3};
    const double more[] = {0, 0.5, 1, 0.25, 2}, variance[] = {1, 4, 0.25, 0.01, 9};
    for (std::size_t o = 0; o < 5; ++o) {
      const double factor = scale[o] / std::sqrt(variance[o] + 1e-3);
      bias[o] = static_cast<float>((bias[o] - mean[o]) * factor + more[o]);
      for (std::size_t i = 0; i < weight.size() / 5; ++i) {
        float& at = weight[o * (weight.size() / 5) + i];
        at = static_cast<float>(at * factor);
      }
    }
    set_floats(tensor_named(scaled, "fc1.weight"), weight);
    set_floats(tensor_named(scaled, "fc1.bias"), bias);
    EXPECT_EQ(definition_in(file), "flatten\nlinear 5\nbatch_norm\nrelu\nlinear classes\n");
    expect_same(file, scaled);
    set_floats(tensor_named(file, "variance"), {1, 4, -1, 1, 9});
    EXPECT_TRUE(throws(ErrorKind::data, "channel 2 has a variance of -1", [&] { read(file); }));
  }
}

TEST(OnnxFuse, FactorsOfAGemmAndABiasOfOtherShapes) {
  const onnx::ModelProto before = small_file();
  onnx::ModelProto file = before;
  onnx::NodeProto& gemm = node_named(file, "fc1");
  set_real(gemm, "alpha", 0.5f);
  set_real(gemm, "beta", 4);
  onnx::TensorProto &weight = tensor_named(file, "fc1.weight"),
                    &bias = tensor_named(file, "fc1.bias");
  std::vector<float> values = floats_in(weight), sums = floats_in(bias);
  for (float& value : values) value *= 2;
  for (float& value : sums) value /= 4;
  set_floats(weight, values);
  set_floats(bias, sums);
  bias.clear_dims();
  bias.add_dims(1);
  bias.add_dims(5);
  EXPECT_EQ(definition_in(file), kSmallNetwork);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(before).model.parameters));
}

}  // namespace
}  // namespace weft::models

#endif

// SPDX-License-Identifier: MIT
// Normalisations that exporters write as several nodes, and those that no layer is.
#ifdef WEFT_WITH_ONNX

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;
using Names = std::vector<std::string>;

std::string with_norm(const std::string& line) {
  return "conv 4 3x3 pad 1\n" + line + "\nrelu\nflatten\nlinear classes\n";
}

// Takes the normalisation out of a file, and adds its tensors as "weight" and "bias" of `extents`.
onnx::ModelProto without_norm(onnx::ModelProto file, const std::string& type,
                              const std::vector<std::int64_t>& extents) {
  auto& nodes = *file.mutable_graph()->mutable_node();
  for (int i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op_type() != type) continue;
    const std::string weight = nodes[i].input(1), bias = nodes[i].input(2);
    add_tensor(file, "weight", extents, floats_in(tensor_named(file, weight)));
    add_tensor(file, "bias", extents, floats_in(tensor_named(file, bias)));
    nodes.DeleteSubrange(i, 1);
    return file;
  }
  throw std::runtime_error("no node of type " + type);
}

void read_norm_from(onnx::ModelProto& file, const std::string& reader, const std::string& value) {
  node_named(file, reader).set_input(0, value);
}

TEST(OnnxNorms, AGroupNormOfReshapesAndAnInstanceNorm) {
  for (const int groups : {1, 2, 4}) {
    for (const std::vector<std::int64_t>& extents :
         {std::vector<std::int64_t>{4, 1, 1}, {1, 4, 1, 1}}) {
      SCOPED_TRACE(groups);
      const std::string line = groups == 4 ? "group_norm each" : str("group_norm ", groups);
      const onnx::ModelProto before = plain_file(with_norm(line));
      onnx::ModelProto file = without_norm(
          before, groups == 4 ? "InstanceNormalization" : "GroupNormalization", extents);
      const auto count = static_cast<std::size_t>(groups);
      add_integers(file, "groups", {0, groups, -1});
      add_integers(file, "image", {-1, 4, 8, 8});
      // A number for each group, too, which the factors of the channels follow.
      add_tensor(file, "ones", {groups}, std::vector<float>(count, 2));
      add_tensor(file, "zeros", {groups}, std::vector<float>(count, 1));
      add_tensor(file, "two", {}, {2});
      add_tensor(file, "one", {}, {1});
      add_node_at_end(file, "Reshape", {"conv1", "groups"}, "split");
      add_node_at_end(file, "InstanceNormalization", {"split", "ones", "zeros"}, "instance");
      add_node_at_end(file, "Reshape", {"instance", "image"}, "whole");
      add_node_at_end(file, "Sub", {"whole", "one"}, "less");
      add_node_at_end(file, "Div", {"less", "two"}, "halved");
      add_node_at_end(file, "Mul", {"weight", "halved"}, "scaled");
      add_node_at_end(file, "Add", {"scaled", "bias"}, "shifted");
      read_norm_from(file, "relu1", "shifted");
      EXPECT_EQ(definition_in(file), definition_in(before));
      expect_same(file, before);
      // Groups that do not divide the channels.
      node_named(file, "split").set_input(1, "other");
      add_integers(file, "other", {0, 8, -1});
      for (const char* name : {"ones", "zeros"}) {
        tensor_named(file, name).set_dims(0, 8);
        set_floats(tensor_named(file, name), std::vector<float>(8, 1));
      }
      EXPECT_TRUE(throws(ErrorKind::data, "node ", [&] { read(file); }));
    }
  }
}

// The nodes of (x - mean) / sqrt(variance + epsilon), in one of the ways that exporters write it.
void add_layer_norm(onnx::ModelProto& file, const std::string& x, int way,
                    const std::vector<std::int64_t>& axes) {
  add_tensor(file, "epsilon", {}, {1e-5f});
  add_tensor(file, "exponent", {}, {2});
  add_tensor(file, "half", {}, {way == 2 ? -0.5f : 0.5f});
  set_numbers(add_node_at_end(file, "ReduceMean", {x}, "mean"), "axes", axes);
  add_node_at_end(file, "Sub", {x, "mean"}, "centred");
  add_node_at_end(file, "Sub", {x, "mean"}, "again");
  if (way == 0) {
    add_node_at_end(file, "Pow", {"centred", "exponent"}, "square");
  } else if (way == 3) {  // the mean of the squares less the square of the mean
    add_node_at_end(file, "Mul", {x, x}, "square");
  } else {
    add_node_at_end(file, "Mul", {"centred", "again"}, "square");
  }
  const char* mean = way == 3 ? "squares" : "variance";
  set_numbers(add_node_at_end(file, "ReduceMean", {"square"}, mean), "axes", axes);
  if (way == 3) {
    add_node_at_end(file, "Pow", {"mean", "exponent"}, "of_mean");
    add_node_at_end(file, "Sub", {"squares", "of_mean"}, "variance");
  }
  add_node_at_end(file, "Add",
                  way == 1 ? Names{"epsilon", "variance"} : Names{"variance", "epsilon"}, "sum");
  if (way == 0 || way == 3) {
    add_node_at_end(file, "Sqrt", {"sum"}, "root");
    add_node_at_end(file, "Div", {"again", "root"}, "normalised");
  } else if (way == 1) {
    add_node_at_end(file, "Pow", {"sum", "half"}, "root");
    add_node_at_end(file, "Reciprocal", {"root"}, "inverse");
    add_node_at_end(file, "Mul", {"inverse", "centred"}, "normalised");
  } else {
    add_node_at_end(file, "Pow", {"sum", "half"}, "inverse");
    add_node_at_end(file, "Mul", {"centred", "inverse"}, "normalised");
  }
}

TEST(OnnxNorms, ALayerNormOfSingleOperators) {
  for (const int way : {0, 1, 2, 3}) {
    SCOPED_TRACE(way);
    const onnx::ModelProto before = plain_file(with_norm("layer_norm"));
    onnx::ModelProto file = without_norm(before, "LayerNormalization", {4, 8, 8});
    add_layer_norm(file, "conv1", way, {1, -2, 3});
    add_node_at_end(file, "Mul", {"normalised", "weight"}, "scaled");
    add_node_at_end(file, "Add", {"bias", "scaled"}, "shifted");
    read_norm_from(file, "relu1", "shifted");
    EXPECT_EQ(definition_in(file), definition_in(before));
    expect_same(file, before);
  }
}

TEST(OnnxNorms, ALayerNormOfRows) {
  const std::string lines = "flatten\nlinear 5\nlayer_norm eps 0.001\nrelu\nlinear classes\n";
  const onnx::ModelProto before = plain_file(lines);
  onnx::ModelProto file = without_norm(before, "LayerNormalization", {5});
  add_layer_norm(file, "fc1", 0, {-1});
  set_floats(tensor_named(file, "epsilon"), {0.001f});
  add_node_at_end(file, "Mul", {"normalised", "weight"}, "scaled");
  add_node_at_end(file, "Add", {"scaled", "bias"}, "shifted");
  read_norm_from(file, "relu1", "shifted");
  EXPECT_EQ(definition_in(file), lines);
  expect_same(file, before);
  // Without the factors its scale is 1, and its bias 0.
  onnx::ModelProto plain = file, ones = before;
  read_norm_from(plain, "relu1", "normalised");
  for (onnx::TensorProto& tensor : *ones.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "ln1.weight") set_floats(tensor, std::vector<float>(5, 1));
    if (tensor.name() == "ln1.bias") set_floats(tensor, std::vector<float>(5, 0));
  }
  expect_same(plain, ones);
}

// As the ONNX project's function has it: the image is a row meanwhile, and so are the factors.
TEST(OnnxNorms, ALayerNormOfAnImageThatIsARowMeanwhile) {
  const onnx::ModelProto before = plain_file(with_norm("layer_norm"));
  onnx::ModelProto file = without_norm(before, "LayerNormalization", {1, 4 * 8 * 8});
  add_integers(file, "image", {-1, 4, 8, 8});
  add_node_at_end(file, "Flatten", {"conv1"}, "row");
  add_layer_norm(file, "row", 3, {1});
  add_node_at_end(file, "Mul", {"normalised", "weight"}, "scaled");
  add_node_at_end(file, "Add", {"scaled", "bias"}, "shifted");
  add_node_at_end(file, "Reshape", {"shifted", "image"}, "whole");
  read_norm_from(file, "relu1", "whole");
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, before);
  // The mean of other squares makes no variance.
  node_named(file, "square").set_input(1, "mean");
  EXPECT_TRUE(throws(ErrorKind::data, "reads several values", [&] { read(file); }));
}

// A grey image has no extent for its channel, and an axis may be counted from the end.
TEST(OnnxNorms, ALayerNormOfAGreyImage) {
  models::NetworkOptions network = network_file("layer_norm\nrelu\nflatten\nlinear classes\n");
  network.channels = 1;
  const Model model = random_model(network);
  onnx::ModelProto before = file_of(model), file = before;
  before.clear_metadata_props();
  file.clear_metadata_props();
  for (const char* name : {"ln1.weight", "ln1.bias"}) {
    onnx::TensorProto& tensor = tensor_named(file, name);
    tensor.clear_dims();
    tensor.add_dims(8);
    tensor.add_dims(8);
  }
  onnx::TensorShapeProto& shape = *file.mutable_graph()
                                       ->mutable_input(0)
                                       ->mutable_type()
                                       ->mutable_tensor_type()
                                       ->mutable_shape();
  shape.mutable_dim()->DeleteSubrange(1, 1);
  for (const std::int64_t axis : {1, -2}) {
    set_number(node_named(file, "ln1"), "axis", axis);
    EXPECT_EQ(definition_in(file), network.definition);
    expect_same(file, before);
  }
  set_number(node_named(file, "ln1"), "axis", 2);  // each row
  EXPECT_TRUE(throws(ErrorKind::data, "(\"LayerNormalization\")", [&] { read(file); }));
}

TEST(OnnxNorms, ANormOfOtherAxesIsRefused) {
  const onnx::ModelProto before = plain_file(with_norm("layer_norm"));
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{1}, {3}, {1, 2}}) {
    onnx::ModelProto file = without_norm(before, "LayerNormalization", {4, 8, 8});
    add_layer_norm(file, "conv1", 0, axes);
    read_norm_from(file, "relu1", "normalised");
    EXPECT_TRUE(throws(ErrorKind::data,
                       "node \"normalised\" (\"Div\"): it normalises over the axes",
                       [&] { read(file); }));
  }
  // A variance around another mean is none.
  onnx::ModelProto file = without_norm(before, "LayerNormalization", {4, 8, 8});
  add_layer_norm(file, "conv1", 0, {1, 2, 3});
  node_named(file, "centred").set_input(0, "again");
  read_norm_from(file, "relu1", "normalised");
  EXPECT_TRUE(throws(ErrorKind::data, "(\"Sub\"): reads several values", [&] { read(file); }));
}

// One of rows and columns is an instance norm.
TEST(OnnxNorms, AMeanVarianceNormalization) {
  const onnx::ModelProto before = plain_file(with_norm("group_norm each eps 1e-18"));
  onnx::ModelProto file = without_norm(before, "InstanceNormalization", {4, 1, 1});
  set_numbers(add_node_at_end(file, "MeanVarianceNormalization", {"conv1"}, "normalised"), "axes",
              {2, 3});
  add_node_at_end(file, "Mul", {"normalised", "weight"}, "scaled");
  add_node_at_end(file, "Add", {"scaled", "bias"}, "shifted");
  read_norm_from(file, "relu1", "shifted");
  EXPECT_EQ(definition_in(file), definition_in(before));
  expect_same(file, before);
  node_named(file, "normalised").clear_attribute();
  EXPECT_TRUE(
      throws(ErrorKind::data, "it normalises over the images of a batch", [&] { read(file); }));
}

// Before set 21 a GroupNormalization had a scale for each group.
TEST(OnnxNorms, AGroupNormOfSet18) {
  onnx::ModelProto file = plain_file(with_norm("group_norm 2")), wide = file;
  file.mutable_opset_import(0)->set_version(18);
  add_tensor(file, "scale", {2}, {0.5f, 2});
  add_tensor(file, "shift", {2}, {1, -1});
  add_tensor(wide, "scale", {4}, {0.5f, 0.5f, 2, 2});
  add_tensor(wide, "shift", {4}, {1, 1, -1, -1});
  for (onnx::ModelProto* each : {&file, &wide}) {
    onnx::NodeProto& norm = node_named(*each, "gn1");
    norm.set_input(1, "scale");
    norm.set_input(2, "shift");
  }
  expect_same(file, wide);
}

TEST(OnnxNorms, ALayerNormWithoutABias) {
  onnx::ModelProto file = plain_file(with_norm("layer_norm")), zeros = file;
  node_named(file, "ln1").mutable_input()->RemoveLast();
  set_floats(tensor_named(zeros, node_named(zeros, "ln1").input(2)),
             std::vector<float>(4 * 8 * 8, 0));
  expect_same(file, zeros);
}

TEST(OnnxNorms, AVarianceThatEpsilonDoesNotLiftIsRefused) {
  for (const float variance : {-1e-5f, -1.0f}) {
    onnx::ModelProto file = small_file();
    onnx::TensorProto& tensor = tensor_named(file, node_named(file, "bn1").input(4));
    std::vector<float> values = floats_in(tensor);
    values[1] = variance;
    set_floats(tensor, values);
    EXPECT_TRUE(throws(ErrorKind::data, "channel 1 has a variance of -", [&] { read(file); }));
  }
}

TEST(OnnxNorms, OnlyTwoCeilModesAreThere) {
  for (const int mode : {2, -1}) {
    onnx::ModelProto file = small_file();
    set_number(node_named(file, "pool1"), "ceil_mode", mode);
    EXPECT_TRUE(throws(ErrorKind::data, "expected ceil_mode 0 or 1", [&] { read(file); }));
  }
}

}  // namespace
}  // namespace weft::models

#endif

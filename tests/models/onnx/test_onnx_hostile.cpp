// SPDX-License-Identifier: MIT
// ONNX files that are damaged, or no network of ours: one line of error, in memory that the size of
// the file bounds.
#ifdef WEFT_WITH_ONNX

#include "tests/models/onnx/onnx_files.h"

namespace weft::models {
namespace {

using namespace weft::test;

struct Case {
  std::string expected;  // a part of the message
  std::function<void(onnx::ModelProto&)> change;
};

onnx::NodeProto& add_node(onnx::ModelProto& file, const std::string& type,
                          const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& node = *file.mutable_graph()->add_node();
  node.set_op_type(type);
  node.set_name(output);
  node.add_output(output);
  for (const std::string& input : inputs) node.add_input(input);
  return node;
}

// All of these are refused, so that reading one of them as a model is a failure.
void expect_refused(const std::vector<Case>& cases) {
  for (const Case& hostile : cases) {
    SCOPED_TRACE(hostile.expected);
    onnx::ModelProto file = small_file();
    hostile.change(file);
    EXPECT_TRUE(throws(ErrorKind::data, hostile.expected, [&] { read(file); }));
  }
}

TEST(OnnxHostile, GraphsThatAreNone) {
  expect_refused({
      {"holds no graph", [](auto& file) { file.clear_graph(); }},
      {"which set of ONNX operators", [](auto& file) { file.clear_opset_import(); }},
      {"7 or later, found 5", [](auto& file) { file.mutable_opset_import(0)->set_version(5); }},
      {"node \"bn1\" (\"BatchNormalization\"): expected is_test 1",
       [](auto& file) { file.mutable_opset_import(0)->set_version(6); }},
      {"one input, found none", [](auto& file) { file.mutable_graph()->clear_input(); }},
      {"one input, found \"input\" and \"mask\"",
       [](auto& file) {
         onnx::ValueInfoProto input = file.graph().input(0);
         input.set_name("mask");
         *file.mutable_graph()->add_input() = input;
         node_named(file, "conv2").set_input(0, "mask");
       }},
      {"input \"input\" to be of FLOAT or UINT8",
       [](auto& file) {
         file.mutable_graph()
             ->mutable_input(0)
             ->mutable_type()
             ->mutable_tensor_type()
             ->set_elem_type(onnx::TensorProto::INT32);
       }},
      {"an output, found none", [](auto& file) { file.mutable_graph()->clear_output(); }},
      {"no node makes the output \"nothing\"",
       [](auto& file) { file.mutable_graph()->mutable_output(0)->set_name("nothing"); }},
      {"its output is its input",
       [](auto& file) { file.mutable_graph()->mutable_output(0)->set_name("input"); }},
      {"no node makes the output",
       [](auto& file) { file.mutable_graph()->mutable_output(0)->set_name("fc1.weight"); }},
      {"sparse tensors", [](auto& file) { file.mutable_graph()->add_sparse_initializer(); }},
      {"at most 16384 nodes",
       [](auto& file) {
         for (int i = 0; i < 17000; ++i) add_node(file, "Relu", {"input"}, std::to_string(i));
       }},
  });
}

TEST(OnnxHostile, NodesThatReadWhatIsNotThere) {
  expect_refused({
      // A cycle: a node reads what comes of its own output.
      {"node \"conv1\" (\"Conv\"): is part of a circle",
       [](auto& file) { node_named(file, "conv1").set_input(0, "add1"); }},
      {"node \"relu1\" (\"Relu\"): is part of a circle",
       [](auto& file) { node_named(file, "relu1").set_input(0, "relu1"); }},
      {"node \"fc1\" (\"Gemm\"): reads \"gone\"",
       [](auto& file) {
         tensor_named(file, "fc1.weight").set_name("gone!"),
             node_named(file, "fc1").set_input(1, "gone");
       }},
      {"its output \"conv1\" is there already",
       [](auto& file) { node_named(file, "bn1").set_output(0, "conv1"); }},
      {"its output \"input\" is there already",
       [](auto& file) { node_named(file, "bn1").set_output(0, "input"); }},
      {"two initializers are named \"fc1.bias\"",
       [](auto& file) {
         *file.mutable_graph()->add_initializer() = tensor_named(file, "fc1.bias");
       }},
      {"has no output", [](auto& file) { node_named(file, "relu1").clear_output(); }},
      {"first input to depend on the input",
       [](auto& file) { node_named(file, "fc2").mutable_input()->SwapElements(0, 1); }},
      {"does not depend on the input",
       [](auto& file) { node_named(file, "conv1").mutable_input()->DeleteSubrange(0, 1); }},
      {"a tensor of the file as its input 1",
       [](auto& file) { node_named(file, "conv1").mutable_input()->DeleteSubrange(1, 2); }},
      {"reads several values that depend on the input",
       [](auto& file) { node_named(file, "fc2").set_input(1, "relu1"); }},
  });
}

TEST(OnnxHostile, OperatorsThatWeftHasNot) {
  expect_refused({
      {"node \"relu1\" (\"Softsign\"): Weft has no layer",
       [](auto& file) { node_named(file, "relu1").set_op_type("Softsign"); }},
      {"(\"Relu\" of \"com.example\"): Weft has no layer",
       [](auto& file) { node_named(file, "relu1").set_domain("com.example"); }},
      {"node \"conv1\" (\"FusedConv\" of \"com.microsoft\"): Weft has no layer for this operator, "
       "which "
       "onnxruntime makes of others",
       [](auto& file) {
         node_named(file, "conv1").set_op_type("FusedConv");
         node_named(file, "conv1").set_domain("com.microsoft");
       }},
      {"(\"\\x1b[2J\\n\")", [](auto& file) { node_named(file, "relu1").set_op_type("\x1b[2J\n"); }},
      {"expected the tensor \"conv1.weight\" to be (4, 1, 3, 3), found (4, 2, 3, 3)",
       [](auto& file) { set_number(node_named(file, "conv1"), "group", 2); }},
      {"expected groups from 1 to 1048576, found \"0\"",
       [](auto& file) { set_number(node_named(file, "conv1"), "group", 0); }},
      {"Conv2d expects groups that divide its channels, found 4 groups of 2 in, 4 out",
       [](auto& file) { set_number(node_named(file, "conv1"), "group", 4); }},
      {"auto_pad \"SAME\"",
       [](auto& file) {
         onnx::AttributeProto& pad = attribute_named(node_named(file, "conv1"), "auto_pad");
         pad.set_type(onnx::AttributeProto::STRING);
         pad.set_s("SAME");
       }},
      {"node \"pool1\" (\"MaxPool\"): pool1: expects padding of at most half the window",
       [](auto& file) {
         set_numbers(node_named(file, "pool1"), "pads", {2, 0, 2, 0});
       }},
      {"its kernel_shape is 3x2, that of its weight 3x3",
       [](auto& file) {
         set_numbers(node_named(file, "conv1"), "kernel_shape", {3, 2});
       }},
      {"its kernel_shape is 2x3, that of its weight 3x3",
       [](auto& file) {
         set_numbers(node_named(file, "conv1"), "kernel_shape", {2, 3});
       }},
      {"expected 4 numbers as pads, found 5",
       [](auto& file) {
         set_numbers(node_named(file, "conv1"), "pads", {0, 0, 1, 1, 0});
       }},
      {"a stride such as 3x3",
       [](auto& file) {
         set_numbers(node_named(file, "conv1"), "strides", {0, 0});
       }},
      {"a padding such as 3x3",
       [](auto& file) {
         set_numbers(node_named(file, "conv1"), "pads", {-1, -1, -1, -1});
       }},
      {"its kernel_shape is 5x5",
       [](auto& file) {
         set_numbers(node_named(file, "conv1"), "kernel_shape", {5, 5});
       }},
      {"node \"pool1\" (\"MaxPool\"): expected a window",
       [](auto& file) {
         set_numbers(node_named(file, "pool1"), "kernel_shape", {INT64_MAX, 2});
       }},
      {"node \"pool1\" (\"MaxPool\"): pool1",
       [](auto& file) {
         set_numbers(node_named(file, "pool1"), "kernel_shape", {99, 99});
       }},
      {"expected ceil_mode 0, or 1 with the same padding on both sides",
       [](auto& file) {
         set_numbers(node_named(file, "pool1"), "pads", {0, 0, 1, 1});
         set_number(node_named(file, "pool1"), "ceil_mode", 1);
       }},
      {"expected training_mode 0",
       [](auto& file) { set_number(node_named(file, "bn1"), "training_mode", 1); }},
      {"an epsilon from 0 to 1",
       [](auto& file) { set_real(node_named(file, "bn1"), "epsilon", NAN); }},
      {"expected transA 0", [](auto& file) { set_number(node_named(file, "fc1"), "transA", 1); }},
      {"attribute transB to be of INT",
       [](auto& file) { set_real(node_named(file, "fc1"), "transB", 1); }},
      {"does not know its attribute \"strange\"",
       [](auto& file) { set_number(node_named(file, "relu1"), "strange", 1); }},
      {"expected it to make one value of each image",
       [](auto& file) { set_number(node_named(file, "flatten"), "axis", 2); }},
      {"node \"new\" (\"Softmax\"): expected this operator to be the last",
       [](auto& file) { insert_behind(file, "fc1", "Softmax"); }},
      {"expected this operator to be the last",
       [](auto& file) { insert_behind(file, "fc1", "LogSoftmax"); }},
      {"expected this operator to be the last",
       [](auto& file) { insert_behind(file, "logits", "Log"); }},
      {"only in front of the first layer",
       [](auto& file) { insert_behind(file, "conv1", "Mul").add_input("fc1.weight"); }},
      {"a share from 0 to less than 1",
       [](auto& file) { set_real(insert_behind(file, "relu1", "Dropout"), "ratio", NAN); }},
      {"expected numbers as its value",
       [](auto& file) {
         add_node(file, "Constant", {}, "c");
         auto& nodes = *file.mutable_graph()->mutable_node();
         nodes.SwapElements(0, nodes.size() - 1);
         node_named(file, "fc2").set_input(2, "c");
       }},
      {"no block of Weft's",
       [](auto& file) {
         // The sum of relu1 and conv2 is read by two ways that share conv2's.
         insert_behind(file, "add1", "Add").add_input("conv2");
       }},
      {"adds a value to itself",
       [](auto& file) { insert_behind(file, "relu1", "Add").add_input("relu1"); }},
      {"to a depth of 16",
       [](auto& file) {
         // Each sum is a part of one of the next one's ways.
         std::string sum = "relu1";
         for (int i = 0; i < 20; ++i) {
           const std::string number = std::to_string(i);
           add_node(file, "Relu", {sum}, "way" + number);
           add_node(file, "Add", {"way" + number, "relu1"}, sum = "sum" + number);
         }
         file.mutable_graph()->mutable_output(0)->set_name(sum);
       }},
  });
}

// A tensor of whole numbers in the file.
void add_numbers(onnx::ModelProto& file, const std::string& name,
                 const std::vector<std::int64_t>& numbers) {
  onnx::TensorProto& tensor = *file.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(std::ssize(numbers));
  for (const std::int64_t number : numbers) tensor.add_int64_data(number);
}

TEST(OnnxHostile, ShapesThatAreNoRowForEachImage) {
  const auto reshaped = [](const std::vector<std::int64_t>& shape, std::int64_t allowzero = 0) {
    return [=](onnx::ModelProto& file) {
      onnx::NodeProto& node = node_named(file, "flatten");
      node.clear_attribute();
      node.set_op_type("Reshape");
      node.add_input("shape");
      if (allowzero != 0) set_number(node, "allowzero", allowzero);
      add_numbers(file, "shape", shape);
    };
  };
  const std::string message = "expected one row for each image";
  expect_refused({{message, reshaped({0, -1, 1})},
                  {message, reshaped({0, 0})},
                  {message, reshaped({0, -2})},
                  {message, reshaped({0, -1}, 1)},
                  {message, reshaped({-1, -1})},
                  {message, reshaped({3, 64})}});
}

TEST(OnnxHostile, MeansSharesAndAxesOfOtherThings) {
  const auto with_numbers = [](const char* type, const std::vector<std::int64_t>& numbers,
                               std::int64_t keepdims = 1) {
    return [=](onnx::ModelProto& file) {
      onnx::NodeProto& node = insert_behind(file, "relu1", type);
      add_numbers(file, "numbers", numbers);
      node.add_input("numbers");
      if (keepdims != 1) set_number(node, "keepdims", keepdims);
    };
  };
  expect_refused({
      {"a mean over the rows and columns", with_numbers("ReduceMean", {1, 2})},
      {"a mean over the rows and columns", with_numbers("ReduceMean", {-1, -2, -3})},
      {"a mean over the rows and columns", with_numbers("ReduceMean", {2, 3}, 2)},
      {"\"numbers\" is of INT64; Weft takes FLOAT", with_numbers("Dropout", {1, 2})},
      {"expected one ratio, found 4",
       [](auto& file) { insert_behind(file, "relu1", "Dropout").add_input("bn1.bias"); }},
      {"expected axis 1 or -1, found 0",
       [](auto& file) { set_number(insert_behind(file, "logits", "Softmax"), "axis", 0); }},
      {"an epsilon from 0 to 1",
       [](auto& file) { set_real(node_named(file, "bn1"), "epsilon", 1.5f); }},
  });
}

TEST(OnnxHostile, TensorsThatAreNone) {
  const auto weight = [](auto& file) -> onnx::TensorProto& {
    return tensor_named(file, "fc1.weight");
  };
  expect_refused({
      {"\"fc1.weight\" is of INT8; Weft takes FLOAT",
       [&](auto& file) { weight(file).set_data_type(onnx::TensorProto::INT8); }},
      {"is of DOUBLE", [&](auto& file) { weight(file).set_data_type(onnx::TensorProto::DOUBLE); }},
      {"is of type 99", [&](auto& file) { weight(file).set_data_type(99); }},
      {"keeps its values in \"\", expected a file in the folder",
       [&](auto& file) { weight(file).set_data_location(onnx::TensorProto::EXTERNAL); }},
      {"in another file, but not as ONNX does",
       [&](auto& file) {
         onnx::StringStringEntryProto& entry = *weight(file).add_external_data();
         entry.set_key("location");
         entry.set_value("/etc/passwd");
       }},
      {"one part of a tensor", [&](auto& file) { weight(file).mutable_segment()->set_begin(0); }},
      {"which does not fit its", [&](auto& file) { weight(file).mutable_raw_data()->pop_back(); }},
      {"which does not fit its", [&](auto& file) { weight(file).clear_raw_data(); }},
      {"which does not fit its 1280 bytes",
       [&](auto& file) {
         weight(file).set_dims(0, INT64_MAX), weight(file).set_dims(1, INT64_MAX);
       }},
      {"which does not fit its",
       [&](auto& file) {
         weight(file).set_dims(0, std::int64_t{1} << 62), weight(file).set_dims(1, 4);
       }},
      {"which does not fit its",
       [&](auto& file) { weight(file).set_dims(0, -5), weight(file).set_dims(1, -64); }},
      {"has 1002 dimensions, more than 8",
       [&](auto& file) {
         for (int i = 0; i < 1000; ++i) weight(file).add_dims(1);
       }},
      {"at most 8 numbers as its input 1, found 320",
       [](auto& file) { insert_behind(file, "relu1", "Dropout").add_input("fc1.weight"); }},
      {"to have 2 dimensions, found 3", [&](auto& file) { weight(file).add_dims(1); }},
      {"node \"fc1\" (\"Gemm\"): expected the tensor \"fc1.weight\" to be (10, 64), found (10, 32)",
       [&](auto& file) { weight(file).set_dims(0, 10), weight(file).set_dims(1, 32); }},
      {"expected the tensor \"bn1.bias\" to be (4,)",
       [](auto& file) {
         node_named(file, "bn1").set_input(2, "fc1.bias"),
             tensor_named(file, "fc1.bias").set_name("bn1.bias"),
             tensor_named(file, "bn1.bias").set_name("old"),
             node_named(file, "fc1").set_input(2, "old"),
             node_named(file, "bn1").set_input(2, "bn1.bias");
       }},
      {"fc1.weight holds a value that is not finite",
       [&](auto& file) {
         const float nan = NAN;
         weight(file).mutable_raw_data()->replace(0, sizeof(nan),
                                                  reinterpret_cast<const char*>(&nan), sizeof(nan));
       }},
      // A tensor of no values.
      {"node \"conv1\" (\"Conv\")",
       [](auto& file) {
         onnx::TensorProto& none = tensor_named(file, "conv1.weight");
         none.set_dims(0, 0);
         none.clear_raw_data();
       }},
  });
}

TEST(OnnxHostile, ALayerThatIsUsedToOutgrowTheFile) {
  // Every node reads the same weight of 64 x 64 numbers.
  onnx::ModelProto file =
      file_of(random_model(network_file("linear 64\nlinear 64\nlinear classes")));
  file.clear_metadata_props();
  std::string last = "fc2";
  for (int i = 0; i < 200; ++i) {
    onnx::NodeProto& node = insert_behind(file, last, "Gemm");
    last = "more" + std::to_string(i);
    node.set_name(last);
    node.set_output(0, last);
    node.add_input("fc2.weight");
    set_number(node, "transB", 1);
    for (onnx::NodeProto& reader : *file.mutable_graph()->mutable_node()) {
      for (std::string& input : *reader.mutable_input()) {
        if (input == "new") input = last;
      }
    }
  }
  EXPECT_TRUE(throws(ErrorKind::data, "numbers in a file of", [&] { read(file); }));
}

TEST(OnnxHostile, ExtentsOfTheImage) {
  const auto with_height = [](std::int64_t height) {
    onnx::ModelProto file = small_file();
    file.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(2)
        ->set_dim_value(height);
    return file;
  };
  EXPECT_TRUE(throws(ErrorKind::data, "1x1 to 1024x1024",
                     [&] { read(with_height(std::int64_t{1} << 40)); }));
  EXPECT_TRUE(throws(ErrorKind::usage, "--input", [&] { read(with_height(-8)); }));
}

TEST(OnnxHostile, MetadataThatLies) {
  onnx::ModelProto file = file_of(random_model(network_file(kSmallNetwork)));
  file.mutable_metadata_props(0)->set_value("{}");
  EXPECT_TRUE(throws(ErrorKind::data, "metadata weft", [&] { read(file); }));
  file.mutable_metadata_props(0)->set_value("{\"schema_version\":");
  EXPECT_TRUE(throws(ErrorKind::data, "metadata weft", [&] { read(file); }));
}

TEST(OnnxHostile, BytesThatAreNoFile) {
  for (const std::string& bytes :
       {std::string(), std::string("PK\3\4"), std::string(4096, '\xff'), std::string(4096, '\0'),
        std::string("\x3a\xff\xff\xff\xff\x0f")}) {
    EXPECT_TRUE(throws(ErrorKind::data, "is no ONNX file", [&] { read_bytes(bytes); }));
  }
  EXPECT_TRUE(throws(ErrorKind::data, "nowhere", [] { read_onnx("/nowhere/m.onnx"); }));
}

TEST(OnnxHostile, FewBytesThatStandForMuchMemory) {
  // A graph (7) of a million nodes (1) of no bytes.
  std::string nodes;
  for (int i = 0; i < 1'000'000; ++i) nodes += std::string("\x0a\x00", 2);
  std::string size;
  for (std::size_t rest = nodes.size(); rest > 0; rest >>= 7) {
    size += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  }
  EXPECT_TRUE(
      throws(ErrorKind::data, "bytes of memory", [&] { read_bytes("\x3a" + size + nodes); }));
  // Messages in messages: an attribute (5) of a node (1) of a graph (6) of an attribute ...
  std::string deep;
  for (int i = 0; i < 400; ++i) {
    const auto wrap = [&](char tag) {
      std::string length;
      for (std::size_t rest = deep.size();; rest >>= 7) {
        length += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        if (rest <= 0x7f) break;
      }
      deep = tag + length + deep;
    };
    wrap('\x32');
    wrap('\x2a');
    wrap('\x0a');
  }
  EXPECT_TRUE(throws(ErrorKind::data, "is no ONNX file", [&] {
    std::string length;
    for (std::size_t rest = deep.size(); rest > 0; rest >>= 7) {
      length += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
    }
    read_bytes("\x3a" + length + deep);
  }));
}

// Is what comes of damaged bytes either a model or one line of error?
void expect_no_surprise(const TemporaryFolder& folder, const std::string& bytes, int& models) {
  try {
    write_text(folder / "m.onnx", bytes);
    read_onnx(folder / "m.onnx");
    ++models;
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::data || error.kind() == ErrorKind::usage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST(OnnxHostile, FilesThatAreCutOff) {
  const TemporaryFolder folder;
  const std::string bytes = small_file().SerializeAsString();
  int models = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 256) {
    expect_no_surprise(folder, bytes.substr(0, size), models);
  }
  EXPECT_EQ(models, 0);
}

TEST(OnnxHostile, FilesWithAChangedByte) {
  const TemporaryFolder folder;
  const std::string bytes = small_file().SerializeAsString();
  int models = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 1 + at / 256) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ "\x01\x80\xff"[at % 3]);
    expect_no_surprise(folder, changed, models);
  }
  EXPECT_GT(models, 0);  // most of the bytes are parameters
}

}  // namespace
}  // namespace weft::models

#endif

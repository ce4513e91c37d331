// SPDX-License-Identifier: MIT
// Graphs that ask the simplification for more than a file can hold, or for what is not there.
#ifdef WEFT_WITH_ONNX

#include <functional>

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;

using Numbers = std::vector<std::int64_t>;

// The second linear layer of small_file() reads its bias (3,) of this value.
onnx::ModelProto with_bias(const std::string& value) {
  onnx::ModelProto file = small_file();
  node_named(file, "fc2").set_input(2, value);
  return file;
}

// Refuses in one line, in memory that the file bounds.
void expect_refused_bias(const std::string& expected,
                         const std::function<void(onnx::ModelProto&)>& change) {
  SCOPED_TRACE(expected);
  onnx::ModelProto file = with_bias("made");
  change(file);
  EXPECT_TRUE(throws(ErrorKind::data, expected, [&] { read(file); }));
}

TEST(OnnxSimplifyHostile, ConstantsThatGrow) {
  // Each is twice as long as the one before.
  expect_refused_bias("to compute its constants would take more than", [](auto& file) {
    std::string last = "fc2.bias";
    for (int i = 0; i < 62; ++i) {
      const std::string next = i == 61 ? "made" : "c" + std::to_string(i);
      set_number(add_node_at_end(file, "Concat", {last, last}, next), "axis", 0);
      last = next;
    }
  });
  for (const Numbers& shape :
       {Numbers{1 << 30}, Numbers{INT64_MAX, INT64_MAX}, Numbers{-1}, Numbers(9, 1)}) {
    expect_refused_bias("node \"made\" (\"ConstantOfShape\")", [&](auto& file) {
      add_integers(file, "shape", shape);
      add_node_at_end(file, "ConstantOfShape", {"shape"}, "made");
    });
    expect_refused_bias("node \"made\" (\"Expand\")", [&](auto& file) {
      add_integers(file, "shape", shape);
      add_node_at_end(file, "Expand", {"fc2.bias", "shape"}, "made");
    });
  }
}

// Every node makes another copy of a weight of 160 x 160 numbers.
TEST(OnnxSimplifyHostile, CopiesOfOneConstant) {
  onnx::ModelProto file = plain_file("linear 160\nlinear 160\nlinear classes\n");
  std::string last = "fc2.weight";
  for (int i = 0; i < 2000; ++i) {
    const std::string next = "t" + std::to_string(i);
    add_node_at_end(file, "Transpose", {last}, next);
    last = next;
  }
  node_named(file, "fc2").set_input(1, last);
  EXPECT_TRUE(throws(ErrorKind::data, "to compute its constants would take more than",
                     [&] { read(file); }));
}

TEST(OnnxSimplifyHostile, PlacesThatAreNotThere) {
  const auto bias_by = [](const std::string& type, const Numbers& first,
                          const Numbers& second = {}) {
    return [=](onnx::ModelProto& file) {
      onnx::NodeProto& node = add_node_at_end(file, type, {"fc2.bias", "first"}, "made");
      add_integers(file, "first", first);
      if (second.empty()) return;
      node.add_input("second");
      add_integers(file, "second", second);
    };
  };
  const std::vector<std::pair<std::string, std::function<void(onnx::ModelProto&)>>> cases = {
      {"Gather", bias_by("Gather", {3})},
      {"Gather", bias_by("Gather", {-4})},
      {"Gather", bias_by("Gather", {INT64_MIN})},
      {"Reshape", bias_by("Reshape", {INT64_MAX, INT64_MAX})},
      {"Reshape", bias_by("Reshape", {-1, -1})},
      {"Reshape", bias_by("Reshape", {-1, 0})},
      {"Reshape", bias_by("Reshape", {2, -1})},
      {"Reshape", bias_by("Reshape", {0, -5})},
      {"Unsqueeze", bias_by("Unsqueeze", {0, 0})},
      {"Unsqueeze", bias_by("Unsqueeze", {7})},
      {"Unsqueeze", bias_by("Unsqueeze", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})},
      {"Squeeze", bias_by("Squeeze", {0})},
      {"Squeeze", bias_by("Squeeze", {INT64_MIN})},
      {"Slice", bias_by("Slice", {0, 0}, {3, 3})},
      {"Slice", bias_by("Slice", {0}, {3, 3})},
  };
  for (const auto& [type, change] : cases) {
    expect_refused_bias("node \"made\" (\"" + type + "\")", change);
  }
  // A slice of nothing is a bias of no numbers.
  expect_refused_bias("fc2", bias_by("Slice", {INT64_MAX}, {INT64_MIN}));
  expect_refused_bias("node \"made\" (\"Transpose\")", [](auto& file) {
    set_numbers(add_node_at_end(file, "Transpose", {"fc2.weight"}, "made"), "perm", {0, 0});
  });
  expect_refused_bias("attribute perm to be of INTS", [](auto& file) {
    set_number(add_node_at_end(file, "Transpose", {"fc1"}, "made"), "perm", 1);
  });
}

TEST(OnnxSimplifyHostile, WindowsAndPadsOfAnySize) {
  for (const std::int64_t number : {INT64_MAX, std::int64_t{1} << 40, std::int64_t{1} << 21}) {
    onnx::ModelProto file = small_file();
    set_numbers(node_named(file, "conv1"), "dilations", {number, 1});
    EXPECT_TRUE(throws(ErrorKind::data, "node \"conv1\" (\"Conv\")", [&] { read(file); }));
    file = small_file();
    set_numbers(node_named(file, "conv1"), "pads", {0, number, 0, 1});
    EXPECT_TRUE(throws(ErrorKind::data, "node \"conv1\" (\"Conv\")", [&] { read(file); }));
    for (const std::int64_t pad : {number, -number}) {
      file = small_file();
      add_integers(file, "pads", {0, 0, pad, 0, 0, 0, 0, 0});
      add_node_at_end(file, "Pad", {"input", "pads"}, "padded");
      node_named(file, "conv1").set_input(0, "padded");
      EXPECT_TRUE(throws(ErrorKind::data, "node \"", [&] { read(file); }));
    }
  }
  onnx::ModelProto file = small_file();  // a wide kernel of many channels would be large
  set_numbers(node_named(file, "conv1"), "dilations", {40, 40});
  EXPECT_TRUE(throws(ErrorKind::data, "node \"conv1\" (\"Conv\")", [&] { read(file); }));
}

TEST(OnnxSimplifyHostile, NodesWithoutInputs) {
  for (const char* type : {"Add",
                           "BatchNormalization",
                           "Cast",
                           "Clip",
                           "Concat",
                           "Conv",
                           "Dropout",
                           "Flatten",
                           "Gather",
                           "Gemm",
                           "GlobalAveragePool",
                           "Identity",
                           "MatMul",
                           "Max",
                           "MaxPool",
                           "Pad",
                           "ReduceMean",
                           "Relu",
                           "Reshape",
                           "Shape",
                           "Slice",
                           "Softmax",
                           "Squeeze",
                           "Transpose",
                           "Unsqueeze"}) {
    SCOPED_TRACE(type);
    onnx::ModelProto file = small_file();
    add_node_at_end(file, type, {}, "none");
    for (const char* reader : {"relu1", "fc1", "fc2"}) {
      onnx::ModelProto changed = file;
      node_named(changed, reader).set_input(0, "none");
      EXPECT_TRUE(throws(ErrorKind::data, "m.onnx: ", [&] { read(changed); }));
    }
    file = with_bias("none");
    add_node_at_end(file, type, {}, "none");
    EXPECT_TRUE(throws(ErrorKind::data, "m.onnx: ", [&] { read(file); }));
  }
}

// Gives every node of the small files another form, by `change`, until it says that there is none.
// Each file becomes a model, or is refused in its own name.
void read_with_each_node(const std::function<bool(onnx::NodeProto&)>& change) {
  for (const auto& entry :
       std::filesystem::directory_iterator(WEFT_SOURCE_DIR "/tests/fuzz/onnx")) {
    SCOPED_TRACE(entry.path());
    onnx::ModelProto file;
    if (!file.ParseFromString(read_text(entry.path()))) continue;
    for (int node = 0; node < file.graph().node_size(); ++node) {
      onnx::ModelProto changed = file;
      while (change(*changed.mutable_graph()->mutable_node(node))) {
        try {
          read(changed);
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find("m.onnx: "), std::string::npos) << error.what();
        }
      }
    }
  }
}

// Such nodes are no part of a pattern.
TEST(OnnxSimplifyHostile, NodesThatLostInputs) {
  read_with_each_node([](onnx::NodeProto& node) {
    if (node.input().empty()) return false;
    node.mutable_input()->RemoveLast();
    return true;
  });
}

TEST(OnnxSimplifyHostile, NodesWithAnOutputInFront) {
  read_with_each_node([](onnx::NodeProto& node) {
    if (node.output_size() != 1) return false;
    node.add_output(node.output(0));
    node.set_output(0, "spare");
    return true;
  });
}

TEST(OnnxSimplifyHostile, OfVeryManyOutputsTheFirstAreTried) {
  onnx::ModelProto file = small_file();
  const onnx::ValueInfoProto logits = file.graph().output(0);
  file.mutable_graph()->clear_output();
  for (int i = 0; i < 40; ++i) {  // images, which the file says are rows
    onnx::ValueInfoProto& output = *file.mutable_graph()->add_output();
    output = logits;
    output.set_name("relu of " + std::to_string(i));
    add_node_at_end(file, "Relu", {"conv1"}, output.name());
  }
  *file.mutable_graph()->add_output() = logits;
  EXPECT_TRUE(throws(ErrorKind::data, "\"relu of 15\"", [&] { read(file); }));
  EXPECT_EQ(read(file, {.output = logits.name()}).model.info.network.definition, kSmallNetwork);
}

TEST(OnnxSimplifyHostile, AValueThatOthersReadStays) {
  // What a factor is folded into must have no other reader: conv1's value is read by two nodes.
  onnx::ModelProto file = plain_file("conv 4 3x3 pad 1\nrelu\nflatten\nlinear classes\n");
  add_tensor(file, "two", {}, {2});
  add_node_at_end(file, "Mul", {"conv1", "two"}, "twice");
  add_node_at_end(file, "Add", {"twice", "conv1"}, "sum");
  node_named(file, "relu1").set_input(0, "sum");
  onnx::ModelProto expected = plain_file("conv 4 3x3 pad 1\nrelu\nflatten\nlinear classes\n");
  for (const char* name : {"conv1.weight", "conv1.bias"}) {
    std::vector<float> values = floats_in(tensor_named(expected, name));
    for (float& value : values) value *= 3;
    set_floats(tensor_named(expected, name), values);
  }
  expect_same(file, expected);
}

}  // namespace
}  // namespace weft::models

#endif

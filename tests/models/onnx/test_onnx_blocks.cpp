// SPDX-License-Identifier: MIT
// Concat of branches and Pad in ONNX files, as Weft and others write them.
#ifdef WEFT_WITH_ONNX

#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;
using namespace std::string_literals;

constexpr const char* kBranches =
    "conv 4 3x3 pad 1\n"
    "relu\n"
    "concat {\n"
    "  conv 2 1x1\n"
    "  relu\n"
    "} and {\n"
    "} and {\n"
    "  max_pool 3 stride 1 pad 1\n"
    "  conv 3 1x1\n"
    "}\n"
    "flatten\n"
    "linear classes\n";

TEST(OnnxBlocks, ConcatAndPadAreReadAndWritten) {
  for (const std::string& text :
       {std::string(kBranches), "pad 1x2 3x4 reflect\nconv 2 3x3\nflatten\nlinear classes\n"s,
        "pad 2 edge\nrelu\npad 1x0\nflatten\nlinear classes\n"s,
        "flatten\nconcat {\n  linear 4\n} and {\n  linear 5\n  tanh\n}\nlinear classes\n"s,
        "concat {\n  conv 2 3x3 pad 1\n  concat {\n    tanh\n  } and {\n  }\n} and {\n"
        "  residual {\n    relu\n  }\n}\nflatten\nlinear classes\n"s}) {
    SCOPED_TRACE(text);
    const Model model = random_model(network_file(text));
    onnx::ModelProto file = file_of(model);
    file.clear_metadata_props();
    EXPECT_EQ(definition_in(file), text);
    EXPECT_EQ(logits_of(read(file).model), logits_of(model));
  }
}

// Others have one Concat of any number of values.
TEST(OnnxBlocks, AConcatOfThreeValuesHasThreeBranches) {
  const onnx::ModelProto before = plain_file(kBranches);
  onnx::ModelProto file = before;
  onnx::NodeProto &inner = node_named(file, "concat1"), &outer = node_named(file, "concat2");
  const std::string first = outer.input(0);
  outer.clear_input();
  for (const std::string& part : {first, inner.input(0), inner.input(1)}) outer.add_input(part);
  EXPECT_EQ(definition_in(file), kBranches);
  expect_same(file, before);
  // An axis from behind; and one value alone, of which a Concat makes nothing.
  attribute_named(node_named(file, "concat2"), "axis").set_i(-3);
  EXPECT_EQ(definition_in(file), kBranches);
  onnx::NodeProto& alone = add_node_at_end(file, "Concat", {"relu1"}, "alone");
  attribute_named(alone, "axis").set_i(1);
  attribute_named(alone, "axis").set_type(onnx::AttributeProto::INT);
  node_named(file, "conv2").set_input(0, "alone");
  EXPECT_EQ(definition_in(file), kBranches);
  attribute_named(node_named(file, "concat2"), "axis").set_i(2);
  EXPECT_TRUE(throws(ErrorKind::data, "node \"concat2\" (\"Concat\"): expected axis 1",
                     [&] { read(file); }));
  attribute_named(node_named(file, "concat2"), "axis").set_i(1);
  add_tensor(file, "constant", {1, 2, 8, 8}, std::vector<float>(128));
  node_named(file, "concat2").add_input("constant");
  EXPECT_TRUE(throws(ErrorKind::data, "expected values that depend on the input, found a tensor",
                     [&] { read(file); }));
}

// Each layer of a DenseNet reads the outputs of all layers before it.
TEST(OnnxBlocks, DenseBlocksAreBlocksBehindEachOther) {
  const std::string text =
      "conv 4 3x3 pad 1\nconcat {\n} and {\n  conv 2 3x3 pad 1\n}\nconcat {\n} and {\n"
      "  conv 3 3x3 pad 1\n}\nconcat {\n} and {\n  conv 1 1x1\n}\nflatten\nlinear classes\n";
  const onnx::ModelProto before = plain_file(text);
  onnx::ModelProto file = before;
  const auto reads = [&](const char* node, const std::vector<std::string>& values) {
    onnx::NodeProto& concat = node_named(file, node);
    concat.clear_input();
    for (const std::string& value : values) concat.add_input(value);
  };
  reads("concat2", {"conv1", "conv2", "conv3"});
  reads("concat3", {"conv1", "conv2", "conv3", "conv4"});
  EXPECT_EQ(definition_in(file), text);
  expect_same(file, before);
}

TEST(OnnxBlocks, PadNamesItsAxesAndOtherPadsAreRefused) {
  const std::string text = "tanh\npad 1x0 2x3\nmax_pool 2 stride 2\nflatten\nlinear classes\n";
  const onnx::ModelProto before = plain_file(text);
  onnx::ModelProto file = before;
  add_integers(file, "pads", {0, 1, 3, 2});
  add_integers(file, "axes", {-1, 2});
  onnx::NodeProto& pad = node_named(file, "pad1");
  pad.set_input(1, "pads");
  pad.add_input("");
  pad.add_input("axes");
  EXPECT_EQ(definition_in(file), text);
  expect_same(file, before);
  const auto refused = [&](const char* message, const auto& change) {
    onnx::ModelProto wrong = before;
    change(wrong, node_named(wrong, "pad1"));
    EXPECT_TRUE(throws(ErrorKind::data, message, [&] { read(wrong); })) << message;
  };
  refused("expected a mode of constant, reflect or edge, found wrap",
          [](auto&, auto& node) { attribute_named(node, "mode").set_s("wrap"); });
  refused("expected a padding of zeros, found 2", [](auto& wrong, auto& node) {
    add_tensor(wrong, "two", {}, {2});
    node.add_input("two");
  });
  refused("expected pads of rows and columns alone", [](auto& wrong, auto& node) {
    add_integers(wrong, "pads", {0, 1, 0, 0, 0, 0, 0, 0});
    node.set_input(1, "pads");
  });
  refused("expected pads from 0 on, found -1", [](auto& wrong, auto& node) {
    add_integers(wrong, "pads", {0, 0, -1, 0, 0, 0, 0, 0});
    node.set_input(1, "pads");
  });
  refused("larger than its padding", [](auto& wrong, auto& node) {
    add_integers(wrong, "pads", {0, 0, 8, 0, 0, 0, 0, 0});
    node.set_input(1, "pads");
    attribute_named(node, "mode").set_s("reflect");
  });
}

// Pooling in Weft pads by at most half a window.
TEST(OnnxBlocks, WidePaddingOfAnAverageIsAPad) {
  const std::string text = "tanh\npad 2x1\navg_pool 3 stride 2\nflatten\nlinear classes\n";
  const onnx::ModelProto before = plain_file(text);
  onnx::ModelProto file = before;
  onnx::NodeProto& pool = node_named(file, "pool1");
  pool.set_input(0, "tanh1");
  set_numbers(pool, "pads", {2, 1, 2, 1});
  EXPECT_EQ(definition_in(file), text);
  expect_same(file, before);
  attribute_named(pool, "count_include_pad").set_i(0);
  EXPECT_TRUE(throws(ErrorKind::data, "padding of at most half the window", [&] { read(file); }));
}

// A window that reaches over the edge has the numbers there in it, whatever their signs.
TEST(OnnxBlocks, WidePaddingOfAMaximumIsAPadOfTheEdge) {
  const std::string text = "tanh\npad 2x1 edge\nmax_pool 3 stride 2\nflatten\nlinear classes\n";
  const onnx::ModelProto before = plain_file(text);
  onnx::ModelProto file = before;
  onnx::NodeProto& pool = node_named(file, "pool1");
  pool.set_input(0, "tanh1");
  set_numbers(pool, "pads", {2, 1, 2, 1});
  set_number(pool, "storage_order", 1);  // of an output that nobody reads
  EXPECT_EQ(definition_in(file), text);
  expect_same(file, before);
  set_numbers(pool, "pads", {3, 1, 2, 1});  // a window of padding alone
  EXPECT_TRUE(throws(ErrorKind::data, "(\"MaxPool\")", [&] { read(file); }));
}

}  // namespace
}  // namespace weft::models

#endif

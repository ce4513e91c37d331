// SPDX-License-Identifier: MIT
// Files whose tensors and values are levels between QuantizeLinear and DequantizeLinear, and those
// in 16-bit floats. tests/interop/onnx_interop.py holds such files against onnxruntime.
#ifdef WEFT_WITH_ONNX

#include "data/arrays/half.h"
#include "tests/models/onnx/onnx_logits.h"

namespace weft::models {
namespace {

using namespace weft::test;
using onnx::TensorProto;

constexpr const char* kNetwork =
    "conv 4 3x3 pad 1\nrelu\nmax_pool 2 stride 2\nflatten\nlinear classes\n";

TensorProto& add_levels(onnx::ModelProto& file, const std::string& name, int type,
                        const std::vector<std::int64_t>& shape, const std::vector<int>& levels) {
  TensorProto& tensor = *file.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t extent : shape) tensor.add_dims(extent);
  for (const int level : levels) tensor.add_int32_data(level);
  return tensor;
}

// `name`, which a node of the file reads, becomes what a DequantizeLinear makes of levels.
void add_dequantize(onnx::ModelProto& file, const std::string& name, int type,
                    const std::vector<std::int64_t>& shape, const std::vector<int>& levels,
                    const std::vector<float>& scale, const std::vector<int>& zero, int axis) {
  tensor_named(file, name).set_name(name + "/gone");
  const auto count = std::ssize(scale);
  const std::vector<std::int64_t> each =
      count == 1 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{count};
  add_levels(file, name + "/levels", type, shape, levels);
  add_tensor(file, name + "/scale", each, scale);
  std::vector<std::string> inputs = {name + "/levels", name + "/scale"};
  if (!zero.empty()) {
    add_levels(file, name + "/zero", type, each, zero);
    inputs.push_back(name + "/zero");
  }
  onnx::NodeProto& node = add_node_at_end(file, "DequantizeLinear", inputs, name);
  if (axis >= 0) set_number(node, "axis", axis);
}

// The value behind a QuantizeLinear and a DequantizeLinear, for all that read it.
void quantize(onnx::ModelProto& file, std::string value, float scale, int zero, int type) {
  onnx::NodeProto& back = insert_behind(file, value, "DequantizeLinear");
  back.set_name(value + "/back");
  for (onnx::NodeProto& node : *file.mutable_graph()->mutable_node()) {
    for (std::string& name : *node.mutable_input()) {
      if (name == "new") name = value + "/back";
    }
  }
  back.set_output(0, value + "/back");
  back.set_input(0, value + "/levels");
  add_tensor(file, value + "/scale", {}, {scale});
  add_levels(file, value + "/zero", type, {}, {zero});
  back.add_input(value + "/scale");
  back.add_input(value + "/zero");
  add_node_at_end(file, "QuantizeLinear", {value, value + "/scale", value + "/zero"},
                  value + "/levels");
}

TEST(OnnxQuantized, TensorsAreTheNumbersOfTheirLevels) {
  const onnx::ModelProto before = plain_file(kNetwork);
  const std::vector<float> scale = {0.5f, 0.25f, 0.3f};
  std::vector<int> levels;
  for (int i = 0; i < 3 * 64; ++i) levels.push_back(i * 37 % 200 - 100);
  struct Case {
    int type;
    std::vector<int> zero;
    int shift;  // that the levels of a type without a sign have
  };
  for (const Case& c : {Case{TensorProto::INT8, {0, 0, 0}, 0},
                        {TensorProto::INT8, {}, 0},
                        {TensorProto::UINT8, {128, 3, 100}, 100},
                        {TensorProto::INT16, {-5, 0, 9}, 0},
                        {TensorProto::UINT16, {128, 3, 1000}, 100},
                        {TensorProto::INT32, {}, 0}}) {
    SCOPED_TRACE(c.type);
    std::vector<int> shifted;
    std::vector<float> reals;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      shifted.push_back(levels[i] + c.shift);
      const int zero = c.zero.empty() ? 0 : c.zero[i / 64];
      reals.push_back(static_cast<float>(shifted[i] - zero) * scale[i / 64]);
    }
    onnx::ModelProto file = before, expected = before;
    add_dequantize(file, "fc1.weight", c.type, {3, 64}, shifted, scale, c.zero, 0);
    set_floats(tensor_named(expected, "fc1.weight"), reals);
    EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(expected).model.parameters));
    // As bytes, and with the axis counted from the last.
    TensorProto& tensor = tensor_named(file, "fc1.weight/levels");
    if (c.type == TensorProto::INT8) {
      tensor.clear_int32_data();
      tensor.set_raw_data(std::string(shifted.begin(), shifted.end()));
    }
    set_number(node_named(file, "fc1.weight"), "axis", -2);
    EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(expected).model.parameters));
  }
}

// As files of quantisation-aware training have their weights.
TEST(OnnxQuantized, ATensorOfFloatsIsRoundedToItsLevels) {
  onnx::ModelProto file = plain_file(kNetwork), expected = file;
  const TensorProto* bias = &tensor_named(file, "fc1.bias");
  ASSERT_EQ(bias->dims(0), 3);
  set_floats(tensor_named(file, "fc1.bias"), {0.75f, -100, 1.25f});  // levels 1.5, -200, 2.5
  quantize(file, "fc1.bias", 0.5f, 0, TensorProto::INT8);
  set_floats(tensor_named(expected, "fc1.bias"), {1, -64, 1});
  EXPECT_EQ(definition_in(file), kNetwork);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(read(expected).model.parameters));
}

// Rounding is left out. Clipping is not, but where nothing can reach the bounds.
TEST(OnnxQuantized, ValuesAreClippedToTheirLevels) {
  const auto definition_with = [](const std::string& network, const std::string& value, float scale,
                                  int zero, int type) {
    onnx::ModelProto file = plain_file(network);
    quantize(file, value, scale, zero, type);
    return definition_in(file);
  };
  const std::string conv = "conv 4 3x3 pad 1\n", tail = "flatten\nlinear classes\n";
  EXPECT_EQ(definition_with(kNetwork, "relu1", 0.5f, 0, TensorProto::UINT8),
            conv + "clip 0 127.5\nmax_pool 2 stride 2\n" + tail);
  EXPECT_EQ(definition_with(conv + tail, "conv1", 0.5f, -28, TensorProto::INT8),
            conv + "clip -50 77.5\n" + tail);
  EXPECT_EQ(definition_with(conv + tail, "conv1", 0.25f, 0, TensorProto::INT16),
            conv + "clip -8192 8191.75\n" + tail);
  EXPECT_EQ(definition_with(conv + tail, "conv1", 0.5f, -128, TensorProto::INT8),  // a ReLU in it
            conv + "clip 0 127.5\n" + tail);
  EXPECT_EQ(definition_with(conv + tail, "input", 0.5f, 100, TensorProto::UINT8),
            "clip -50 77.5\n" + conv + tail);
  const float byte = 1.0f / 255;
  EXPECT_EQ(definition_with(conv + "sigmoid\n" + tail, "sigmoid1", byte, 0, TensorProto::UINT8),
            conv + "sigmoid\n" + tail);
  EXPECT_EQ(definition_with(conv + "sigmoid\n" + tail, "sigmoid1", byte / 2, 0, TensorProto::UINT8),
            conv + "sigmoid\nclip 0 0.5\n" + tail);
  EXPECT_EQ(definition_with(conv + "tanh\n" + tail, "tanh1", 2 * byte, 127, TensorProto::UINT8),
            conv + "tanh\n" + tail);
}

TEST(OnnxQuantized, ValuesThatAreClippedAlreadyAreNotAgain) {
  onnx::ModelProto file = plain_file(kNetwork);
  quantize(file, "relu1", 0.5f, 0, TensorProto::UINT8);
  quantize(file, "pool1", 0.5f, 0, TensorProto::UINT8);
  quantize(file, "flatten", 0.5f, 0, TensorProto::UINT8);
  EXPECT_EQ(definition_in(file),
            "conv 4 3x3 pad 1\nclip 0 127.5\nmax_pool 2 stride 2\nflatten\nlinear classes\n");
  // A file's SiLU: the sigmoid of what is clipped is clipped already.
  onnx::ModelProto gate = plain_file("conv 4 3x3 pad 1\nsilu\nflatten\nlinear classes\n");
  quantize(gate, "conv1", 0.01f, 100, TensorProto::UINT8);  // to 1.55
  ASSERT_EQ(node_named(gate, "silu1").op_type(), "Mul");
  quantize(gate, node_named(gate, "silu1").input(1), 0.0033f, 0, TensorProto::UINT8);  // to 0.8415
  EXPECT_EQ(definition_in(gate), "conv 4 3x3 pad 1\nclip -1 1.55\nsilu\nflatten\nlinear classes\n");
  onnx::ModelProto means = plain_file("conv 4 3x3\nclip 1 2\navg_pool 3 pad 1\nlinear classes\n");
  quantize(means, "pool1", 1.0f / 120, 0, TensorProto::UINT8);
  EXPECT_EQ(definition_in(means),
            "conv 4 3x3\nclip 1 2\navg_pool 3 stride 3 pad 1\nflatten\nlinear classes\n");
}

TEST(OnnxQuantized, OthersAreRefusedByName) {
  const auto refuses = [](const std::string& message, const auto& change) {
    onnx::ModelProto file = plain_file(kNetwork);
    quantize(file, "relu1", 0.5f, 0, TensorProto::UINT8);
    change(file);
    return throws(ErrorKind::data, message, [&] { read(file); });
  };
  const std::string back = "node \"relu1/back\" (\"DequantizeLinear\"): ",
                    there = "node \"relu1/levels\" (\"QuantizeLinear\"): ";
  EXPECT_TRUE(refuses(back + "expected the scale and the zero point of its QuantizeLinear",
                      [](onnx::ModelProto& file) {
                        add_tensor(file, "other", {}, {0.25f});
                        node_named(file, "relu1/back").set_input(1, "other");
                      }));
  EXPECT_TRUE(refuses(there + "expected one scale, for it", [](onnx::ModelProto& file) {
    for (auto* tensor : {&tensor_named(file, "relu1/scale"), &tensor_named(file, "relu1/zero")}) {
      tensor->add_dims(4);
    }
    set_floats(tensor_named(file, "relu1/scale"), {1, 1, 1, 1});
    for (int i = 0; i < 3; ++i) tensor_named(file, "relu1/zero").add_int32_data(0);
  }));
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY}) {
    EXPECT_TRUE(refuses(there + "expected scales above 0", [=](onnx::ModelProto& file) {
      set_floats(tensor_named(file, "relu1/scale"), {scale});
    }));
  }
  EXPECT_TRUE(refuses(there + "expected a zero point for each scale, of whole numbers",
                      [](onnx::ModelProto& file) {
                        tensor_named(file, "relu1/zero").set_data_type(TensorProto::FLOAT16);
                      }));
  EXPECT_TRUE(refuses("node \"relu1/levels\" (\"QuantizeLinear\"): ", [](onnx::ModelProto& file) {
    set_number(node_named(file, "relu1/levels"), "block_size", 2);
  }));
  EXPECT_TRUE(refuses(
      "node \"pool1\" (\"MaxPool\"): expected a DequantizeLinear in front of it",
      [](onnx::ModelProto& file) { node_named(file, "pool1").set_input(0, "relu1/levels"); }));
  EXPECT_TRUE(refuses("expected a DequantizeLinear in front of it", [](onnx::ModelProto& file) {
    file.mutable_graph()->mutable_output(0)->set_name("relu1/levels");
  }));
  EXPECT_TRUE(refuses("(\"DequantizeLinear\"): expected whole numbers", [](onnx::ModelProto& file) {
    node_named(file, "relu1/back").set_input(0, "fc1.weight");
  }));
  EXPECT_TRUE(refuses("(\"QLinearConv\"): Weft has no layer", [](onnx::ModelProto& file) {
    node_named(file, "conv1").set_op_type("QLinearConv");
  }));
}

// 16-bit floats of both kinds, in initializers, in a Constant and between Casts.
TEST(OnnxQuantized, HalvesAreFloats) {
  const TemporaryFolder folder;
  const Model model = random_model(network_file(kNetwork));
  write_onnx(folder / "m.onnx", model, {.precision = OnnxPrecision::fp16});
  std::vector<float> expected;
  for (const float value : model.parameters) {
    expected.push_back(data::from_half(data::to_half(value)));
  }
  EXPECT_TRUE(bits_of(read_onnx(folder / "m.onnx").model.parameters) == bits_of(expected));
  onnx::ModelProto file;
  ASSERT_TRUE(file.ParseFromString(read_text(folder / "m.onnx")));
  file.clear_metadata_props();
  EXPECT_EQ(definition_in(file), kNetwork);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(expected));
  // A file that is in halves from its input to its output, one of its tensors in a Constant.
  onnx::GraphProto& graph = *file.mutable_graph();
  graph.mutable_node()->DeleteSubrange(0, 1);
  graph.mutable_node()->RemoveLast();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    if (node.input(0) == "input/half") node.set_input(0, "input");
    if (node.output(0) == "logits/half") node.set_output(0, "logits");
  }
  for (auto* value : {graph.mutable_input(0), graph.mutable_output(0)}) {
    value->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::FLOAT16);
  }
  TensorProto& bias = tensor_named(file, "conv1.bias");
  onnx::NodeProto& constant = add_node_at_end(file, "Constant", {}, "conv1.bias");
  onnx::AttributeProto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = bias;
  bias.set_name("gone");
  EXPECT_EQ(definition_in(file), kNetwork);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(expected));
  // The upper halves of floats, as numbers of a list.
  TensorProto& weight = tensor_named(file, "fc1.bias");
  weight.clear_raw_data();
  weight.set_data_type(TensorProto::BFLOAT16);
  for (const int bits : {0x3f80, 0xc040, 0x0001}) weight.add_int32_data(bits);
  const std::vector<float> found = read(file).model.parameters;
  EXPECT_TRUE(bits_of({found.end() - 3, found.end()}) ==
              bits_of({1.0f, -3.0f, std::bit_cast<float>(0x00010000u)}));
  weight.add_int32_data(0);
  EXPECT_TRUE(throws(ErrorKind::data, "fc1.bias", [&] { read(file); }));
}

// Their constants are rounded, so that the function of a GELU of several nodes is no exact one.
TEST(OnnxQuantized, ActivationsOfSeveralNodesInHalves) {
  const TemporaryFolder folder;
  for (const char* line : {"gelu", "gelu tanh", "silu"}) {
    const std::string network = str("conv 4 3x3 pad 1\n", line, "\nflatten\nlinear classes\n");
    write_onnx(folder / "m.onnx", random_model(network_file(network)),
               {.precision = OnnxPrecision::fp16});
    onnx::ModelProto file;
    ASSERT_TRUE(file.ParseFromString(read_text(folder / "m.onnx")));
    file.clear_metadata_props();
    EXPECT_EQ(definition_in(file), network);
  }
}

}  // namespace
}  // namespace weft::models

#endif

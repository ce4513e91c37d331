// SPDX-License-Identifier: MIT
// Models to ONNX files and back. tests/interop/onnx_interop.py runs such files in onnxruntime.
#include "models/onnx/onnx.h"

#include "models/training/runs/run_state.h"
#include "tests/support/folder.h"

#ifdef WEFT_WITH_ONNX

#include "tests/models/onnx/onnx_files.h"

namespace weft::models {
namespace {

using namespace weft::test;

// A built-in network, and texts with each word and blocks in each other.
std::vector<NetworkOptions> all_networks() {
  std::vector<NetworkOptions> all;
  for (const NetworkInfo& network : networks()) {
    all.push_back({});
    all.back().name = network.name;
  }
  all.push_back(network_file(kSmallNetwork));
  all.push_back(network_file(
      "conv 4 3x5 stride 2x1 pad 1x2 no_bias # comment\ntanh\ndropout 0.25\n"
      "residual {\n residual {\n conv 4 1\n } shortcut {\n conv 4 3 pad 1\n relu\n }\n "
      "batch_norm\n}\n"
      "residual {\n conv 6 1\n residual {\n conv 6 1\n }\n }\n shortcut { \n conv 6 1\n }\n"
      "avg_pool 3 stride 2 pad 1\nglobal_avg_pool\nlinear 4\n residual {\n linear 4 no_bias\n}\n"
      "linear classes no_bias\n"));
  all.push_back(network_file("conv 3 3x3\nglobal_max_pool\nflatten\ndropout 0.5\n"));
  return all;
}

TEST(Onnx, RoundTripKeepsEveryBitAndTheMetadata) {
  for (const NetworkOptions& network : all_networks()) {
    SCOPED_TRACE(network.name + ": " + network.definition);
    Model model = random_model(network);
    model.info.mean.assign(static_cast<std::size_t>(network.channels), 0.25f);
    model.info.stddev.assign(static_cast<std::size_t>(network.channels), 0.5f);
    model.info.calibration = {1.5, 2, 100};
    const OnnxModel found = read(file_of(model));
    EXPECT_TRUE(bits_of(found.model.parameters) == bits_of(model.parameters));
    EXPECT_TRUE(bits_of(found.model.buffers) == bits_of(model.buffers));
    EXPECT_EQ(to_json(found.model.info), to_json(model.info));
    EXPECT_FALSE(found.softmax_dropped);
  }
}

TEST(Onnx, TheGraphAloneGivesTheNetworkToo) {
  for (const NetworkOptions& network : all_networks()) {
    SCOPED_TRACE(network.name + ": " + network.definition);
    const Model model = random_model(network);
    onnx::ModelProto file = file_of(model);
    file.clear_metadata_props();
    const Model found = read(file).model;
    std::vector<std::string> layers, expected;
    for (const auto& layer : found.net->layers()) layers.push_back(layer->describe());
    for (const auto& layer : model.net->layers()) {
      if (!layer->traits().identity_in_inference) expected.push_back(layer->describe());
    }
    EXPECT_EQ(layers, expected);
    EXPECT_EQ(found.net->sample_shape(), model.net->sample_shape());
    EXPECT_TRUE(bits_of(found.parameters) == bits_of(model.parameters));
    EXPECT_TRUE(bits_of(found.buffers) == bits_of(model.buffers));
    EXPECT_EQ(found.info.network.name, "m.net");
    EXPECT_EQ(found.info.class_names.front(), "0");
  }
  EXPECT_EQ(read(small_file()).model.info.network.definition, kSmallNetwork);
}

TEST(Onnx, AFileThatWasChangedIsReadAsItIs) {
  onnx::ModelProto file = file_of(random_model(network_file(kSmallNetwork)));
  for (onnx::NodeProto& node : *file.mutable_graph()->mutable_node()) {
    if (node.op_type() == "Sigmoid") node.set_op_type("Tanh");
  }
  const Model found = read(file).model;
  EXPECT_NE(found.info.network.definition.find("tanh"), std::string::npos);
  EXPECT_EQ(found.info.class_names.front(), "class 0");  // still says this
}

TEST(Onnx, AnotherSetOfOperatorsIsWrittenWhereItHasThem) {
  const TemporaryFolder folder;
  const auto written = [&](const char* definition, std::int64_t opset) {
    write_onnx(folder / "m.onnx", random_model(network_file(definition)), {.opset = opset});
    onnx::ModelProto file;
    EXPECT_TRUE(file.ParseFromString(read_text(folder / "m.onnx")));
    return std::pair(file.opset_import(0).version(), file.ir_version());
  };
  using Versions = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(written(kSmallNetwork, 11), Versions(11, 6));
  EXPECT_EQ(written(kSmallNetwork, 0), Versions(17, 8));
  EXPECT_EQ(written(kSmallNetwork, 22), Versions(22, 10));
  EXPECT_EQ(written("group_norm 1\nlinear classes\n", 0), Versions(21, 10));
  const auto refuses = [&](const char* definition, std::int64_t opset, const char* message) {
    return throws(ErrorKind::usage, message, [&] { written(definition, opset); });
  };
  EXPECT_TRUE(refuses("hard_swish\nlinear classes\n", 13,
                      "--opset 13 has no HardSwish, which hard_swish1 is: expected 14 or later"));
  EXPECT_TRUE(refuses("layer_norm\nlinear classes\n", 16, "expected 17 or later"));
  EXPECT_TRUE(refuses("group_norm 1\nlinear classes\n", 20, "expected 21 or later"));
  EXPECT_TRUE(refuses(kSmallNetwork, 10, "expected a set of operators from 11 to 22, found 10"));
}

TEST(Onnx, ExportSaysWhatOtherProgramsNeed) {
  onnx::ModelProto file = file_of(random_model(network_file(kSmallNetwork)));
  EXPECT_EQ(file.opset_import(0).version(), kOnnxOpset);
  EXPECT_EQ(file.producer_name(), "weft");
  EXPECT_FALSE(file.producer_version().empty());
  const auto& input = file.graph().input(0);
  EXPECT_EQ(input.name(), "input");
  EXPECT_EQ(input.type().tensor_type().shape().dim(0).dim_param(), "batch");
  EXPECT_EQ(input.type().tensor_type().shape().dim(1).dim_value(), 2);
  EXPECT_EQ(file.graph().output(0).name(), "logits");
  EXPECT_EQ(tensor_named(file, "bn1.running_var").dims(0), 4);
  EXPECT_EQ(file.metadata_props(0).key(), "weft");
  EXPECT_EQ(file.metadata_props(1).key(), "definition");
  EXPECT_EQ(file.metadata_props(1).value(), kSmallNetwork);
}

TEST(Onnx, ImportTakesAProductWithASumAsALinearLayer) {
  onnx::ModelProto file = small_file();
  const OnnxModel before = read(file);
  onnx::NodeProto& product = node_named(file, "fc1");
  onnx::TensorProto& weight = tensor_named(file, "fc1.weight");  // (out, in) becomes (in, out)
  const std::int64_t out = weight.dims(0), in = weight.dims(1);
  std::vector<float> values(static_cast<std::size_t>(out * in));
  std::memcpy(values.data(), weight.raw_data().data(), weight.raw_data().size());
  weight.clear_raw_data();
  weight.set_dims(0, in);
  weight.set_dims(1, out);
  for (std::int64_t i = 0; i < in; ++i) {
    for (std::int64_t o = 0; o < out; ++o)
      weight.add_float_data(values[static_cast<std::size_t>(o * in + i)]);
  }
  set_number(product, "transB", 0);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(before.model.parameters));
  product.clear_attribute();
  product.set_op_type("MatMul");
  product.mutable_input()->RemoveLast();
  insert_behind(file, "fc1", "Add").add_input("fc1.bias");
  const OnnxModel after = read(file);
  EXPECT_EQ(after.model.info.network.definition, before.model.info.network.definition);
  EXPECT_TRUE(bits_of(after.model.parameters) == bits_of(before.model.parameters));
  // The tensor may come first.
  onnx::NodeProto& sum = node_named(file, "new");
  sum.mutable_input()->SwapElements(0, 1);
  EXPECT_TRUE(bits_of(read(file).model.parameters) == bits_of(before.model.parameters));
}

TEST(Onnx, ImportLeavesOutWhatDoesNothing) {
  onnx::ModelProto file = small_file();
  insert_behind(file, "logits", "Softmax");
  OnnxModel found = read(file);
  EXPECT_TRUE(found.softmax_dropped);
  EXPECT_EQ(found.model.info.network.definition, kSmallNetwork);
  // Constants instead of initializers, and names for tensors that have one.
  file = small_file();
  onnx::NodeProto& node = *file.mutable_graph()->add_node();
  node.set_op_type("Constant");
  node.add_output("constant");
  onnx::AttributeProto& value = attribute_named(node, "value");
  value.set_type(onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor_named(file, "fc2.bias");
  onnx::NodeProto& other = *file.mutable_graph()->add_node();
  other.set_op_type("Identity");
  other.add_input("constant");
  other.add_output("the same");
  for (int i = file.graph().node_size() - 1; i > 1; --i) {
    file.mutable_graph()->mutable_node()->SwapElements(i, i - 2);
  }
  const auto& nodes = file.graph().node();
  ASSERT_EQ(nodes[0].op_type() + nodes[1].op_type(), "ConstantIdentity");
  node_named(file, "fc2").set_input(2, "the same");
  insert_behind(file, "relu1", "Identity");
  EXPECT_EQ(read(file).model.info.network.definition, kSmallNetwork);
}

TEST(Onnx, ImportKnowsDropoutAndReshape) {
  onnx::ModelProto file = small_file();
  insert_behind(file, "relu1", "Dropout").add_input("rate");
  add_tensor(file, "rate", {}, {0.25f});
  onnx::NodeProto& flatten = node_named(file, "flatten");
  flatten.set_op_type("Reshape");
  flatten.clear_attribute();
  flatten.add_input("rows");
  onnx::TensorProto& rows = *file.mutable_graph()->add_initializer();
  rows.set_name("rows");
  rows.set_data_type(onnx::TensorProto::INT64);
  rows.add_dims(2);
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{0, -1}, {-1, 64}, {0, 64}}) {
    rows.clear_int64_data();
    for (const std::int64_t extent : shape) rows.add_int64_data(extent);
    const std::string definition = read(file).model.info.network.definition;
    EXPECT_NE(definition.find("relu\ndropout 0.25\n"), std::string::npos) << definition;
    EXPECT_NE(definition.find("flatten\nlinear 5\n"), std::string::npos) << definition;
  }
  rows.clear_int64_data();
  rows.add_int64_data(-1);
  rows.add_int64_data(32);  // half an image in each row
  EXPECT_TRUE(throws(ErrorKind::data, "\"fc1.weight\" to be (5, 64)", [&] {
    onnx::TensorProto& weight = tensor_named(file, "fc1.weight");
    weight.set_dims(1, 32);
    weight.mutable_raw_data()->resize(5 * 32 * sizeof(float));
    read(file);
  }));
}

TEST(Onnx, ImportTakesAMeanOfThePlaneAsGlobalPooling) {
  const Model model =
      random_model(network_file("conv 4 3x3\nglobal_avg_pool\nflatten\nlinear classes\n"));
  onnx::ModelProto file = file_of(model);
  file.clear_metadata_props();
  onnx::NodeProto& node = node_named(file, "pool1");
  node.set_op_type("ReduceMean");
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{2, 3}, {-1, -2}}) {
    set_numbers(node, "axes", axes);
    EXPECT_EQ(read(file).model.info.network.definition, definition_of(model.info.network));
  }
  set_numbers(node, "axes", {1, 2});
  EXPECT_TRUE(throws(ErrorKind::data, "axes 2 and 3", [&] { read(file); }));
}

// The values of a tensor of a model, by its name.
std::vector<float> values_of(const Model& model, const std::string& name) {
  for (const NamedTensor& tensor : model_content(model).tensors) {
    if (tensor.name == name) return tensor.values;
  }
  throw std::runtime_error("no tensor " + name);
}

// The sum of a variance and epsilon may be as small as 1e-12, which no float can add to 1e-5.
TEST(Onnx, ImportFoldsEpsilonIntoTheWeight) {
  for (const float epsilon : {1e-3f, 1e-7f, 1e-12f}) {
    SCOPED_TRACE(epsilon);
    onnx::ModelProto file = small_file();
    set_floats(tensor_named(file, "bn1.running_var"), {0, 1e-9f, 1e-5f, 2});
    set_floats(tensor_named(file, "bn1.weight"), {0.001f, -0.002f, 3, 0});
    set_real(node_named(file, "bn1"), "epsilon", epsilon);
    const Model found = read(file).model;
    const std::vector<float> weight = values_of(found, "bn1.weight");
    const std::vector<float> variance = values_of(found, "bn1.running_var");
    const std::vector<float> written = {0.001f, -0.002f, 3, 0}, spread = {0, 1e-9f, 1e-5f, 2};
    for (std::size_t i = 0; i < 4; ++i) {
      const double expected = double{written[i]} / std::sqrt(double{spread[i]} + double{epsilon});
      const double scale = double{weight[i]} / std::sqrt(double{variance[i]} + double{1e-5f});
      EXPECT_NEAR(scale, expected, 3e-7 * std::fabs(expected)) << i;
    }
  }
  onnx::ModelProto file = small_file();
  set_floats(tensor_named(file, "bn1.running_var"), {0, 1, 1, 1});
  set_real(node_named(file, "bn1"), "epsilon", 0);
  EXPECT_TRUE(throws(ErrorKind::data, "channel 0 has a variance of 0", [&] { read(file); }));
}

TEST(Onnx, ImportTakesTheImageAndItsMeaningFromOptions) {
  onnx::ModelProto file = small_file();
  OnnxImport options;
  options.mean = {0.5};
  options.stddev = {0.25};
  options.class_names = {"a", "b", "c"};
  const ModelInfo info = read(file, options).model.info;
  const auto channels = static_cast<std::size_t>(info.network.channels);
  EXPECT_EQ(info.mean, std::vector(channels, 0.5f));
  EXPECT_EQ(info.stddev, std::vector(channels, 0.25f));
  OnnxImport too_many = options;
  too_many.mean.assign(channels + 1, 0.5);
  EXPECT_TRUE(throws(ErrorKind::usage, "numbers to normalise", [&] { read(file, too_many); }));
  EXPECT_EQ(info.class_names, options.class_names);
  options.class_names.pop_back();
  EXPECT_TRUE(throws(ErrorKind::usage, "3 classes", [&] { read(file, options); }));

  // The rows and columns may be open.
  auto& shape = *file.mutable_graph()
                     ->mutable_input(0)
                     ->mutable_type()
                     ->mutable_tensor_type()
                     ->mutable_shape();
  shape.mutable_dim(2)->set_dim_param("height");
  EXPECT_TRUE(throws(ErrorKind::usage, "--input CxHxW", [&] { read(file); }));
  EXPECT_TRUE(throws(ErrorKind::usage, "(2, ?, 8)", [&] { read(file, {.input = {{2, 8, 9}}}); }));
  EXPECT_EQ(read(file, {.input = {{2, 8, 8}}}).model.net->sample_shape(), (Shape{2, 8, 8}));

  // Or an image is a row.
  onnx::ModelProto rows = file_of(random_model(network_file("linear 4\nrelu\nlinear classes\n")));
  rows.clear_metadata_props();
  auto& row = *rows.mutable_graph()
                   ->mutable_input(0)
                   ->mutable_type()
                   ->mutable_tensor_type()
                   ->mutable_shape();
  row.mutable_dim()->RemoveLast();
  row.mutable_dim()->RemoveLast();
  row.mutable_dim(1)->set_dim_value(128);
  EXPECT_TRUE(throws(ErrorKind::usage, "--input CxHxW", [&] { read(rows); }));
  EXPECT_TRUE(throws(ErrorKind::usage, "2x8x9", [&] { read(rows, {.input = {{2, 8, 9}}}); }));
  EXPECT_EQ(read(rows, {.input = {{2, 8, 8}}}).model.net->sample_shape(), (Shape{2, 8, 8}));
}

TEST(Onnx, WritingLeavesNothingBehindWhenItFails) {
  const TemporaryFolder folder;
  const Model model = random_model(network_file(kSmallNetwork));
  EXPECT_TRUE(throws(ErrorKind::data, "nowhere",
                     [&] { write_onnx(folder / "nowhere" / "m.onnx", model); }));
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace weft::models

#else

namespace weft::models {
namespace {

TEST(Onnx, ABuildWithoutItSaysHowToGetIt) {
  const test::TemporaryFolder folder;
  EXPECT_FALSE(knows_onnx());
  EXPECT_TRUE(
      test::throws(ErrorKind::usage, "libonnx-dev", [&] { write_onnx(folder / "m.onnx", {}); }));
  EXPECT_TRUE(test::throws(ErrorKind::usage, "libonnx-dev", [&] { read_onnx(folder / "m.onnx"); }));
}

}  // namespace
}  // namespace weft::models

#endif
